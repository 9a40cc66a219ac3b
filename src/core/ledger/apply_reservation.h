// src/core/ledger/apply_reservation.h - the part of apply about reservations.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void set_reservation(State& state, const ReservationSet& e);
void remove_reservation(State& state, const ReservationRemoved& e);
// When something is to be decided about it: its start, its end, or that nobody used it.
Time reservation_due(const Reservation& reservation);

}  // namespace millrace
