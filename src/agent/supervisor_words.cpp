// src/agent/supervisor_words.cpp - see supervisor_words.h.
#include "agent/supervisor_words.h"

#include <utility>

namespace millrace {

std::optional<SupervisorWords> hear_supervisor(FrameReader& reader, AttemptName name, std::string_view bytes) {
  reader.feed(bytes);
  SupervisorWords out;
  for (;;) {
    const auto message = reader.next();
    if (!message) return std::nullopt;
    if (!*message) return out;
    wire::FromStep from;
    if (!from.ParseFromArray((*message)->data(), static_cast<int>((*message)->size()))) return std::nullopt;
    if (from.has_log()) out.lines.push_back(std::move(*from.mutable_log()));
    if (from.has_step()) out.steps.push_back(std::move(*from.mutable_step()));
    if (from.has_sample() && name_of(from.sample()) == name) out.samples.push_back(std::move(*from.mutable_sample()));
    if (from.has_status() && name_of(from.status()) == name) out.status = std::move(*from.mutable_status());
  }
}

}  // namespace millrace
