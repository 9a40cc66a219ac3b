// src/core/model/reservation_test.cpp - when reservations come again.
#include "core/model/reservation.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

// An older log may have one: who asks for its next turn gets an answer.
TEST(Reservation, that_recurs_and_never_ends_has_one_turn) {
  for (const ReservationFlag flag : {reserve_hourly, reserve_daily, reserve_weekly, reserve_weekday, reserve_weekend}) {
    Reservation one;
    one.flags = flag;
    one.start = Time{1'700'000'000'000'000};
    one.end = never;
    EXPECT_EQ(next_turn(one, one.start).end, never);
    EXPECT_EQ(one.ends(one.start + seconds(1)), never);
  }
}

}  // namespace
}  // namespace millrace
