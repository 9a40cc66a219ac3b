// src/controller/readers/reservation_watch.h - which reservations began and ended since they were last looked at. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct ReservationTurn {
  std::string name, nodes;
  bool begins = false;
};

// What has begun when it first looks is old news: a controller that starts runs nothing for it, so that a program is
// run at most once, and not at all where the controller dies between the fact and the program.
class ReservationWatch {
 public:
  void remember(const State& state, Time now) { (void)look(state, now); }
  std::vector<ReservationTurn> look(const State& state, Time now);

 private:
  struct Seen {
    std::string name, nodes;
    Time start;
  };
  std::map<ReservationId, Seen> begun_;  // by start: a turn of its own
  SharedMap<ReservationId, SharedValue<Reservation>> last_;
};

}  // namespace millrace
