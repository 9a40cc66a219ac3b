// src/sim/lublin_test.cpp - made workloads look like the one its authors' program made (lublin_256: 256 processors,
// 10,000 jobs).
#include "sim/lublin.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace {
namespace {

TEST(Lublin, sizes_run_times_and_arrivals_are_in_the_published_ranges) {
  double size = 0, run = 0, area = 0, gaps = 0, serial = 0, power = 0, day = 0, night = 0;
  std::vector<std::int64_t> runs, between;
  constexpr std::size_t count = 10'000, seeds = 8;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::vector<SwfJob> jobs = lublin_jobs(count, 256, seed);
    ASSERT_EQ(jobs.size(), count);
    std::int64_t before = 0;
    for (const SwfJob& job : jobs) {
      ASSERT_GE(job.submit, before);
      ASSERT_GE(job.run, 1);
      ASSERT_LE(job.run, 162'755);
      ASSERT_GE(job.allocated, 1);
      ASSERT_LE(job.allocated, 256);
      between.push_back(job.submit - before);
      before = job.submit;
      runs.push_back(job.run);
      size += static_cast<double>(job.allocated);
      run += static_cast<double>(job.run);
      area += static_cast<double>(job.run * job.allocated);
      serial += job.allocated == 1 ? 1 : 0;
      power += (job.allocated & (job.allocated - 1)) == 0 ? 1 : 0;
      const std::int64_t hour = job.submit / 3600 % 24;
      if (hour >= 11 && hour < 17) day += 1;
      if (hour >= 2 && hour < 8) night += 1;
    }
    gaps += static_cast<double>(before);
  }
  const double all = count * seeds;
  std::ranges::sort(runs);
  std::ranges::sort(between);
  // In brackets: lublin_256 itself, one draw of 10,000.
  EXPECT_NEAR(size / all, 22.5, 1.5);                                     // [22.1]
  EXPECT_NEAR(serial / all, 0.244, 0.01);                                 // [0.249]
  EXPECT_NEAR(power / all, 0.86, 0.01);                                   // [0.861], 1 is a power too
  EXPECT_NEAR(run / all, 4'900, 250);                                     // [4863]
  EXPECT_NEAR(static_cast<double>(runs[runs.size() / 2]), 142, 10);       // [137]
  EXPECT_NEAR(gaps / all, 860, 90);                                       // [771]
  EXPECT_NEAR(static_cast<double>(between[between.size() / 2]), 117, 6);  // [116]
  EXPECT_NEAR(area / 256 / gaps, 0.95, 0.13);                             // [1.06], the offered load
  EXPECT_NEAR(day / night, 4.4, 1);                                       // [4.5], the daily cycle
}

TEST(Lublin, the_same_numbers_give_the_same_workload) {
  EXPECT_EQ(lublin_jobs(100, 64, 7), lublin_jobs(100, 64, 7));
  EXPECT_NE(lublin_jobs(100, 64, 7), lublin_jobs(100, 64, 8));
  for (const SwfJob& job : lublin_jobs(200, 1, 1)) EXPECT_EQ(job.allocated, 1);
  for (const SwfJob& job : lublin_jobs(200, 3, 1)) EXPECT_LE(job.allocated, 3);
}

TEST(Lublin, is_read_back_as_written) {
  const auto trace = parse_swf(lublin_swf(50, 32, 1), "made");
  ASSERT_TRUE(trace) << trace.error().story;
  EXPECT_EQ(trace->jobs, lublin_jobs(50, 32, 1));
  EXPECT_EQ(trace->header_number("MaxProcs"), 32);
}

}  // namespace
}  // namespace millrace
