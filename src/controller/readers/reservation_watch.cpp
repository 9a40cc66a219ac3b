// src/controller/readers/reservation_watch.cpp - see reservation_watch.h.
#include "controller/readers/reservation_watch.h"

#include "controller/views/views.h"

namespace millrace {

std::vector<ReservationTurn> ReservationWatch::look(const State& state, Time at) {
  std::vector<ReservationTurn> ended, begun;
  SharedMap<ReservationId, SharedValue<Reservation>>::compare(
      last_, state.reservations,
      [&](ReservationId id, const SharedValue<Reservation>*, const SharedValue<Reservation>* now) {
        // Its start is awaited until it has come, and again for its next turn.
        const bool runs = now && !(*now)->start_awaited && !(*now)->has(reserve_time_float) && (*now)->start <= at;
        const auto known = begun_.find(id);
        if (known != begun_.end() && !runs) {
          ended.push_back({known->second.name, known->second.nodes, false});
          begun_.erase(known);
        } else if (known == begun_.end() && runs) {
          begun_[id] = {(*now)->name, hostlist_of(state, (*now)->nodes), (*now)->start};
          begun.push_back({(*now)->name, begun_[id].nodes, true});
        }
      });
  last_ = state.reservations;
  ended.insert(ended.end(), begun.begin(), begun.end());
  return ended;
}

}  // namespace millrace
