// src/sim/lublin.cpp - see lublin.h.
#include "sim/lublin.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/prng.h"

namespace millrace {
namespace {

constexpr std::size_t buckets = 48;  // half hours of a day
constexpr double bucket_seconds = 1800;
constexpr std::size_t day_begins = 11;  // the bucket of the quietest time: the cycle runs from there around the clock

class Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : random_(seed) {}

  double uniform() { return (static_cast<double>(random_.next() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)

  double normal() {  // Marsaglia's polar method; the second of the pair is left lying
    for (;;) {
      const double x = 2 * uniform() - 1, y = 2 * uniform() - 1, s = x * x + y * y;
      if (s > 0 && s < 1) return x * std::sqrt(-2 * std::log(s) / s);
    }
  }

  // Marsaglia and Tsang (2000), for a shape of at least 1.
  double gamma(double shape, double scale) {
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), t = 1 + c * x, v = t * t * t;
      if (t <= 0) continue;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
    }
  }

 private:
  Prng random_;
};

// The part of gamma(shape, scale) that lies below x: the series of the incomplete gamma function, which converges for
// all x.
double gamma_below(double x, double shape, double scale) {
  if (x <= 0) return 0;
  const double z = x / scale;
  double term = 1 / shape, sum = term;
  for (int n = 1; n < 1000 && term > sum * 1e-15; ++n) {
    term *= z / (shape + n);
    sum += term;
  }
  return sum * std::exp(-z + shape * std::log(z) - std::lgamma(shape));
}

// How busy each half hour is, 1 in the mean.
std::array<double, buckets> daily_cycle() {
  std::array<double, buckets> weights{};
  double sum = 0;
  for (std::size_t i = day_begins; i < day_begins + buckets; ++i) {
    const auto middle = static_cast<double>(i);
    // Two half hours earlier than the fit's own clock: so it is in the workload that the authors published
    // (lublin_256).
    sum += weights[(i - 2) % buckets] =
        gamma_below(middle + 0.5, 8.1737, 3.9631) - gamma_below(middle - 0.5, 8.1737, 3.9631);
  }
  for (double& weight : weights) weight *= buckets / sum;
  return weights;
}

std::int64_t draw_size(Sampler& sampler, std::int64_t processors) {
  const double kind = sampler.uniform();
  if (kind < 0.244 || processors == 1) return 1;
  const double low = 0.8, high = std::log2(static_cast<double>(processors));
  const double middle = std::max(low, high - 2.5);
  const bool first = sampler.uniform() < 0.86;
  const double from = first ? low : middle, to = first ? middle : std::max(high, middle);
  double exponent = from + sampler.uniform() * (to - from);
  if (kind < 0.244 + 0.576) exponent = std::floor(exponent + 0.5);
  return std::clamp<std::int64_t>(std::llround(std::exp2(exponent)), 1, processors);
}

std::int64_t draw_run(Sampler& sampler, std::int64_t size) {
  const double short_part = std::clamp(0.78 - 0.0054 * static_cast<double>(size), 0.0, 1.0);
  for (;;) {
    const bool is_short = sampler.uniform() < short_part;
    const double log = is_short ? sampler.gamma(4.2, 0.94) : sampler.gamma(312, 0.03);
    if (log <= 12) return std::max<std::int64_t>(std::llround(std::exp(log)), 1);
  }
}

// A walk through the half hours: a busy one has more room for arrivals than it has seconds, a quiet one less.
class Arrivals {
 public:
  std::int64_t next(Sampler& sampler) {
    double log = 13;
    while (log >= 13) log = sampler.gamma(10.2303 * 1.0225, 0.4871);
    points_ += std::exp(log) / bucket_seconds;
    while (points_ > weights_[bucket_ % buckets]) points_ -= weights_[bucket_++ % buckets];
    return std::llround((static_cast<double>(bucket_) + points_ / weights_[bucket_ % buckets]) * bucket_seconds);
  }

 private:
  std::array<double, buckets> weights_ = daily_cycle();
  std::size_t bucket_ = 0;  // since midnight of the first day
  double points_ = 0;       // spent of this bucket
};

}  // namespace

std::vector<SwfJob> lublin_jobs(std::size_t count, std::int64_t processors, std::uint64_t seed) {
  Sampler sampler(seed);
  Arrivals arrivals;
  std::vector<SwfJob> jobs;
  jobs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    SwfJob job;
    job.number = static_cast<std::int64_t>(i + 1);
    job.submit = arrivals.next(sampler);
    job.allocated = job.requested_processors = draw_size(sampler, processors);
    job.run = draw_run(sampler, job.allocated);
    job.status = 1;
    jobs.push_back(job);
  }
  return jobs;
}

std::string lublin_swf(std::size_t count, std::int64_t processors, std::uint64_t seed) {
  std::string out =
      "; Version: 2.2\n; Computer: none, made by a model\n; Note: Lublin-Feitelson model, `millrace sim workload "
      "lublin --jobs " +
      std::to_string(count) + " --processors " + std::to_string(processors) + " --seed " + std::to_string(seed) +
      "`\n; MaxJobs: " + std::to_string(count) + "\n; MaxRecords: " + std::to_string(count) +
      "\n; MaxProcs: " + std::to_string(processors) + "\n";
  for (const SwfJob& job : lublin_jobs(count, processors, seed)) out += format_swf(job) + '\n';
  return out;
}

}  // namespace millrace
