// src/core/ledger/event.cpp - see event.h.
#include "core/ledger/event.h"

namespace millrace {

Event::Event() = default;
Event::Event(const Event&) = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(const Event&) = default;
Event& Event::operator=(Event&&) noexcept = default;
Event::~Event() = default;

}  // namespace millrace
