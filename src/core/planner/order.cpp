// src/core/planner/order.cpp - see order.h.
#include "core/planner/order.h"

#include <algorithm>

#include "core/model/fit.h"

namespace millrace {
namespace {

constexpr std::int64_t year_seconds = 365LL * 24 * 60 * 60;

struct Measures {
  Fixed r, n, s;
  Fixed waits_per_estimate;  // w / r
};

Measures measure(const Job& job, const PlannerSettings& settings, Time now) {
  const std::int64_t estimate = estimated_seconds(job, settings);
  const Duration age = job.submitted_at - settings.score_origin;
  const Duration wait = (settings.waits_until.is_set() ? settings.waits_until : now) - job.submitted_at;
  const Fixed one = Fixed::from_integer(1);
  return {Fixed::from_integer(estimate),
          Fixed::from_integer(std::max<std::int64_t>(requested_cpus(*job.spec).value, 1)),
          std::max(Fixed::from_ratio(age.value, 1'000'000), one), Fixed::from_ratio(wait.value, 1'000'000 * estimate)};
}

Fixed unicep(const Measures& m) {
  constexpr std::int64_t one_by_log_of_one = 624'331'476'816'536;
  const Fixed one = Fixed::from_integer(1);
  if (m.n == one) return -multiply(m.waits_per_estimate, Fixed::from_integer(one_by_log_of_one));
  return -divide(m.waits_per_estimate, log2(m.n));
}

// A short job before a long one, but a long one is put back by hours only; and an express lane for what is sure to be
// gone soon and makes nobody clear much of the machine. Limits decide who may use it, because they are enforced and a
// guess is not.
Fixed guarded(const Job& job, const PlannerSettings& settings, std::int64_t partition_cpus) {
  using Rules = GuardedRules;
  const std::int64_t late =
      std::min(Rules::lateness_per_estimate * estimated_seconds(job, settings), Rules::lateness_max_seconds);
  const bool narrow = partition_cpus == 0 || requested_cpus(*job.spec).value * Rules::express_part <= partition_cpus;
  const bool express = narrow && job.time_limit_minutes <= Rules::express_limit_minutes;
  const Duration since = waits_since(job) - settings.score_origin;
  return Fixed::from_ratio(since.value, 1'000'000) +
         Fixed::from_integer(late - (express ? Rules::express_lead_seconds : 0));
}

Fixed value_of(const Job& job, const PlannerSettings& settings, Time now, std::int64_t partition_cpus) {
  if (settings.order == OrderPolicy::guarded) return guarded(job, settings, partition_cpus);
  if (settings.order == OrderPolicy::priority) return Fixed::from_integer(-static_cast<std::int64_t>(job.priority));
  const Measures m = measure(job, settings, now);
  const auto age = [&](std::int64_t weight) { return multiply(Fixed::from_integer(weight), log10(m.s)); };
  switch (settings.order) {
    case OrderPolicy::priority:
    case OrderPolicy::guarded:
    case OrderPolicy::fcfs:
      break;  // what breaks ties is the whole order
    case OrderPolicy::sjf:
      return m.r;
    case OrderPolicy::f1:
      return multiply(log10(m.r), m.n) + age(870);
    case OrderPolicy::f2:
      return multiply(sqrt(m.r), m.n) + age(25'600);
    case OrderPolicy::f3:
      return multiply(m.r, m.n) + age(6'860'000);
    case OrderPolicy::f4:
      return multiply(m.r, sqrt(m.n)) + age(530'000);
    case OrderPolicy::wfp3:
      return -multiply(multiply(m.waits_per_estimate, multiply(m.waits_per_estimate, m.waits_per_estimate)), m.n);
    case OrderPolicy::unicep:
      return unicep(m);
  }
  return {};
}

}  // namespace

std::int64_t estimated_seconds(const Job& job, const PlannerSettings& settings) {
  if (settings.use_expected && job.expected_seconds > 0) return job.expected_seconds;
  if (job.time_limit_minutes == unlimited) return year_seconds;
  return std::max<std::int64_t>(job.time_limit_minutes, 1) * 60;
}

Time waits_since(const Job& job) { return std::max(job.submitted_at, job.eligible_at); }

Score score_of(const Job& job, const PlannerSettings& settings, Time now, std::int64_t partition_cpus) {
  return {value_of(job, settings, now, partition_cpus), job.submitted_at, job.key};
}

}  // namespace millrace
