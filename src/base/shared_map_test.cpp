// src/base/shared_map_test.cpp - the map against std::map, and snapshots that do not change.
#include "base/shared_map.h"

#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"
#include "base/quantity.h"

namespace millrace {
namespace {

TEST(SharedMap, equals_an_ordinary_map_after_any_changes_and_keeps_its_snapshots) {
  Prng random(7);
  SharedMap<JobKey, int> map;
  std::map<JobKey, int> model;
  std::vector<std::pair<SharedMap<JobKey, int>, std::map<JobKey, int>>> snapshots;
  for (int step = 0; step < 5000; ++step) {
    const JobKey key{random.below(300)};
    switch (random.below(4)) {
      case 0:
      case 1: {
        const int value = static_cast<int>(random.below(1000));
        EXPECT_EQ(map.set(key, value), !model.contains(key));
        model[key] = value;
        break;
      }
      case 2:
        EXPECT_EQ(map.erase(key), model.erase(key) == 1);
        break;
      default:
        if (int* value = map.edit(key)) {
          model[key] = *value = *value + 1;
        } else {
          EXPECT_FALSE(model.contains(key));
        }
    }
    if (step % 500 == 0) snapshots.emplace_back(map, model);
  }
  snapshots.emplace_back(map, model);
  for (const auto& [shared, expected] : snapshots) {
    EXPECT_EQ(shared.size(), expected.size());
    auto it = expected.begin();
    for (const auto& [key, value] : shared) {
      ASSERT_NE(it, expected.end());
      EXPECT_EQ(key, it->first);
      EXPECT_EQ(value, it->second);
      ++it;
    }
    for (std::uint64_t from = 0; from < 310; from += 7) {
      const auto ours = shared.lower_bound(JobKey{from});
      const auto theirs = expected.lower_bound(JobKey{from});
      ASSERT_EQ(ours == shared.end(), theirs == expected.end());
      if (theirs != expected.end()) {
        EXPECT_EQ((*ours).first, theirs->first);
      }
    }
  }
}

TEST(SharedMap, built_from_sorted_pairs_is_the_map_built_one_by_one) {
  for (const std::uint64_t count : {0u, 1u, 2u, 3u, 100u, 1000u}) {
    std::vector<std::pair<JobKey, int>> pairs;
    SharedMap<JobKey, int> one_by_one;
    for (std::uint64_t i = 0; i < count; ++i) {
      pairs.emplace_back(JobKey{i * 3}, static_cast<int>(i));
      one_by_one.set(JobKey{i * 3}, static_cast<int>(i));
    }
    auto at_once = SharedMap<JobKey, int>::from_sorted(pairs);
    EXPECT_EQ(at_once.size(), count);
    for (const auto& [key, value] : pairs) EXPECT_EQ(at_once.at(key), value);
    auto it = at_once.begin();
    for (const auto& [key, value] : one_by_one) {
      EXPECT_EQ((*it).first, key);
      ++it;
    }
    EXPECT_EQ(it, at_once.end());
    at_once.set(JobKey{1}, 7);  // and it goes on as any other
    EXPECT_EQ(at_once.at(JobKey{1}), 7);
  }
}

TEST(SharedMap, comparing_two_versions_finds_every_difference_and_little_else) {
  Prng random(11);
  SharedMap<JobKey, int> map;
  for (int i = 0; i < 20'000; ++i) map.set(JobKey{random.below(40'000)}, i);
  for (int round = 0; round < 50; ++round) {
    const SharedMap<JobKey, int> before = map;
    std::map<JobKey, bool> touched;
    for (std::uint64_t i = random.below(6); i > 0; --i) {
      const JobKey key{random.below(40'000)};
      touched[key] = true;
      if (random.chance(1, 3))
        map.erase(key);
      else
        map.set(key, -round);
    }
    int visited = 0;
    SharedMap<JobKey, int>::compare(before, map, [&](JobKey key, const int* old_value, const int* new_value) {
      ++visited;
      EXPECT_EQ(old_value == nullptr, !before.contains(key));
      EXPECT_EQ(new_value == nullptr, !map.contains(key));
      EXPECT_EQ(old_value ? *old_value : 0, before.contains(key) ? before.at(key) : 0);
      EXPECT_EQ(new_value ? *new_value : 0, map.contains(key) ? map.at(key) : 0);
      touched.erase(key);
    });
    for (const auto& [key, nothing] : touched) EXPECT_FALSE(before.contains(key) || map.contains(key));
    EXPECT_LT(visited, 600);
  }
  int all = 0;
  SharedMap<JobKey, int>::compare({}, map,
                                  [&](JobKey, const int* old_value, const int*) { all += old_value == nullptr; });
  EXPECT_EQ(static_cast<std::size_t>(all), map.size());
}

}  // namespace
}  // namespace millrace
