// src/controller/readers/reservation_watch_test.cpp - what is told of reservations that begin and end, each once.
#include "controller/readers/reservation_watch.h"

#include <gtest/gtest.h>

#include "core/admission/expire.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

Time at(std::int64_t second) { return Time{1'000'000'000 + second * 1'000'000}; }

std::string words(const std::vector<ReservationTurn>& turns) {
  std::string out;
  for (const ReservationTurn& turn : turns)
    out += (out.empty() ? "" : " ") + std::string{turn.begins ? "+" : "-"} + turn.name;
  return out;
}

void expire(State& state, Time now) {
  for (auto events = decide_expired(state, now); !events.empty(); events = decide_expired(state, now))
    for (const Event& event : events) apply(state, event);
}

TEST(ReservationWatch, Tells_of_each_turn_once) {
  State state;
  Reservation hourly;
  hourly.id = ReservationId{1};
  hourly.name = "h";
  hourly.start = at(10);
  hourly.end = at(20);
  hourly.flags = reserve_hourly;
  hourly.start_awaited = true;
  apply(state, ReservationSet{hourly, at(0)});
  ReservationWatch watch;
  watch.remember(state, at(0));
  EXPECT_EQ(words(watch.look(state, at(1))), "");
  expire(state, at(10));
  EXPECT_EQ(words(watch.look(state, at(10))), "+h");
  EXPECT_EQ(words(watch.look(state, at(11))), "");
  expire(state, at(20));
  EXPECT_EQ(words(watch.look(state, at(20))), "-h");
  ASSERT_EQ(state.past_reservations->size(), 1u);
  EXPECT_EQ(state.past_reservations->front().ended_at, at(20));
  expire(state, at(3610));
  EXPECT_EQ(words(watch.look(state, at(3610))), "+h");
  ReservationWatch fresh;
  fresh.remember(state, at(3611));
  EXPECT_EQ(words(fresh.look(state, at(3612))), "") << "a controller that starts runs nothing for what has begun";
  apply(state, ReservationRemoved{ReservationId{1}, at(3620)});
  EXPECT_EQ(words(fresh.look(state, at(3620))), "-h");
}

}  // namespace
}  // namespace millrace
