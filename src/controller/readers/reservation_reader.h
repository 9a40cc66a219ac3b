// src/controller/readers/reservation_reader.h - what follows when reservations begin and end, and when their nodes
// fail.
#pragma once

#include "controller/readers/reader.h"
#include "controller/readers/reservation_watch.h"

namespace millrace {

class ReservationReader final : public Reader {
 public:
  explicit ReservationReader(const Context& context) : c_(context) {}
  void recovered(const State& state) override { watch_.remember(state, c_.loop.now()); }
  // Other nodes for those that are out of order; the site's programs for what began and ended.
  void advanced(const Advance& step) override;

 private:
  const Context& c_;
  ReservationWatch watch_;
};

}  // namespace millrace
