// src/core/ledger/apply_reservation.cpp - see apply_reservation.h.
#include "core/ledger/apply_reservation.h"

#include <algorithm>

#include "core/ledger/rebuild.h"

namespace millrace {
namespace {

constexpr std::size_t past_max = 1000;

// A turn that had begun is over.
void keep_past(State& state, const Reservation& reservation, Time at) {
  if (reservation.has(reserve_time_float) || reservation.start >= at) return;
  std::vector<PastReservation>& past = state.past_reservations.edit();
  if (past.size() >= past_max) past.erase(past.begin());
  past.push_back({reservation, std::min(reservation.end, at)});
}

void clear_reservation(State& state, ReservationId id) {
  const auto* old = state.reservations.find(id);
  if (old) state.deadlines.erase({reservation_due(**old), JobKey{id.value}, DeadlineKind::reservation});
}

}  // namespace

Time reservation_due(const Reservation& reservation) {
  if (reservation.has(reserve_time_float)) return never;
  if (reservation.start_awaited) return std::min(reservation.start, reservation.end);
  if (reservation.purge_after_idle_seconds == 0 || !reservation.idle_since.is_set()) return reservation.end;
  return std::min(reservation.end, reservation.idle_since + seconds(reservation.purge_after_idle_seconds));
}

void add_deadline(State& state, const Reservation& reservation) {
  if (const Time due = reservation_due(reservation); due != never)
    state.deadlines.set({due, JobKey{reservation.id.value}, DeadlineKind::reservation}, {});
}

void set_reservation(State& state, const ReservationSet& e) {
  clear_reservation(state, e.reservation.id);
  if (const auto* old = state.reservations.find(e.reservation.id);
      old && (*old)->recurs() && (*old)->start != e.reservation.start && (*old)->end <= e.at)
    keep_past(state, **old, e.at);
  state.next_reservation = ReservationId{std::max(state.next_reservation.value, e.reservation.id.value + 1)};
  state.reservations.set(e.reservation.id, SharedValue(e.reservation));
  add_deadline(state, e.reservation);
}

void remove_reservation(State& state, const ReservationRemoved& e) {
  clear_reservation(state, e.id);
  if (const auto* old = state.reservations.find(e.id)) keep_past(state, **old, e.at);
  state.reservations.erase(e.id);
}

}  // namespace millrace
