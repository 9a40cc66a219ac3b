// src/core/planner/profile_test.cpp - much at once is the same as one after the other.
#include "core/planner/profile.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/planner/suggest.h"

namespace millrace {
namespace {

TEST(Profile, taking_all_at_once_is_taking_one_after_the_other) {
  Prng random(5);
  for (int round = 0; round < 500; ++round) {
    Profile one_by_one({40, 1000, {}}), at_once = one_by_one;
    for (int i = 0; i < 3; ++i) {
      const Time until{random.between(50, 100)};
      one_by_one.take(Time{INT64_MIN}, until, {5, 10, {}});
      at_once.take(Time{INT64_MIN}, until, {5, 10, {}});
    }
    std::vector<Profile::Step> changes;
    bool enough = true;
    for (std::int64_t i = random.between(1, 8); i > 0; --i) {
      const Amounts amounts{random.between(1, 12), random.between(0, 50), {}};
      const Time from{random.between(40, 120)}, until{from.value + random.between(1, 60)};
      Amounts back;
      back -= amounts;
      changes.push_back({from, amounts});
      changes.push_back({until, back});
      one_by_one.take(from, until, amounts);
    }
    for (const Profile::Step& step : one_by_one.steps()) enough = enough && covers(step.free, {});
    EXPECT_EQ(at_once.take_all(changes), enough);
    ASSERT_EQ(at_once.steps().size(), one_by_one.steps().size()) << "round " << round;
    for (std::size_t i = 0; i < at_once.steps().size(); ++i) {
      EXPECT_EQ(at_once.steps()[i].at, one_by_one.steps()[i].at);
      EXPECT_EQ(at_once.steps()[i].free, one_by_one.steps()[i].free);
    }
  }
}

TEST(Profile, Ends_without_end_also_where_the_clock_stands_before_1970) {
  for (const std::int64_t now : {-1'000'000'000'000LL, 0LL, 1'000'000'000'000LL})
    EXPECT_EQ(plus(Time{now}, Duration{INT64_MAX}), now < 0 ? Time{INT64_MAX + now} : never);
  EXPECT_EQ(plus(Time{-5}, minutes(1)), Time{minutes(1).value - 5});
  EXPECT_EQ(plus(never, minutes(1)), never);
}

TEST(Profile, The_longest_span_has_words) { EXPECT_TRUE(span_words(Duration{INT64_MAX}).contains(" days ")); }

}  // namespace
}  // namespace millrace
