// src/sim/metrics.cpp - see metrics.h.
#include "sim/metrics.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/text.h"

namespace millrace {
namespace {

std::int64_t nearest_rank(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  if (sorted.empty()) return 0;
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

std::string number(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string row(std::string_view name, const std::string& value, const std::string& more = {}) {
  std::string line{name};
  line.resize(20, ' ');
  line += std::string(value.size() < 14 ? 14 - value.size() : 0, ' ') + value;
  if (!more.empty()) line += "   " + more;
  return line + '\n';
}

}  // namespace

Metrics measure(std::span<const ReplayedJob> jobs, std::int64_t processors, Until until) {
  Metrics out;
  std::vector<std::int64_t> waits;
  long double slowdowns = 0, wait_sum = 0, used = 0;
  std::int64_t first = INT64_MAX, last_end = 0, last_start = 0;
  for (const ReplayedJob& job : jobs) {
    first = std::min(first, job.submit);
    if (job.start < 0) continue;
    const std::int64_t wait = job.start - job.submit, run = job.end - job.start;
    waits.push_back(wait);
    wait_sum += static_cast<long double>(wait);
    slowdowns += std::max(
        1.0L, static_cast<long double>(wait + run) / static_cast<long double>(std::max<std::int64_t>(run, 10)));
    used += static_cast<long double>(run) * static_cast<long double>(job.processors);
    last_end = std::max(last_end, job.end);
    last_start = std::max(last_start, job.start);
  }
  out.jobs = waits.size();
  if (waits.empty()) return out;
  std::ranges::sort(waits);
  const auto count = static_cast<long double>(waits.size());
  out.bounded_slowdown = static_cast<double>(slowdowns / count);
  out.mean_wait = static_cast<double>(wait_sum / count);
  out.p95_wait = nearest_rank(waits, 95);
  out.p99_wait = nearest_rank(waits, 99);
  out.max_wait = waits.back();
  out.makespan = last_end - first;
  const std::int64_t span = (until == Until::last_end ? last_end : last_start) - first;
  if (span > 0)
    out.utilisation =
        static_cast<double>(used / (static_cast<long double>(span) * static_cast<long double>(processors)));
  return out;
}

Metrics mean_of(std::span<const Metrics> runs) {
  Metrics out;
  if (runs.empty()) return out;
  const auto count = static_cast<double>(runs.size());
  const auto mean = [&](auto Metrics::* member) {
    double sum = 0;
    for (const Metrics& run : runs) sum += static_cast<double>(run.*member);
    return sum / count;
  };
  const auto whole = [&](auto Metrics::* member) { return static_cast<std::int64_t>(mean(member) + 0.5); };
  for (const Metrics& run : runs) out.jobs += run.jobs;
  out.bounded_slowdown = mean(&Metrics::bounded_slowdown);
  out.mean_wait = mean(&Metrics::mean_wait);
  out.p95_wait = whole(&Metrics::p95_wait);
  out.p99_wait = whole(&Metrics::p99_wait);
  out.max_wait = whole(&Metrics::max_wait);
  out.utilisation = mean(&Metrics::utilisation);
  out.makespan = whole(&Metrics::makespan);
  return out;
}

std::string metrics_json(const Metrics& m) {
  return "{\"jobs\": " + std::to_string(m.jobs) + ", \"bounded_slowdown\": " + number("%.4f", m.bounded_slowdown) +
         ", \"mean_wait\": " + number("%.2f", m.mean_wait) + ", \"p95_wait\": " + std::to_string(m.p95_wait) +
         ", \"p99_wait\": " + std::to_string(m.p99_wait) + ", \"max_wait\": " + std::to_string(m.max_wait) +
         ", \"utilisation\": " + number("%.4f", m.utilisation) + ", \"makespan\": " + std::to_string(m.makespan) +
         "}\n";
}

std::string metrics_table(const Metrics& m) {
  const auto seconds = [](std::string_view name, std::int64_t value) {
    return row(name, std::to_string(value) + " s", format_duration(value));
  };
  return row("jobs", std::to_string(m.jobs)) + row("bounded slowdown", number("%.2f", m.bounded_slowdown), "mean") +
         row("mean wait", number("%.1f s", m.mean_wait),
             format_duration(static_cast<std::int64_t>(m.mean_wait + 0.5))) +
         seconds("95 % wait at most", m.p95_wait) + seconds("99 % wait at most", m.p99_wait) +
         seconds("longest wait", m.max_wait) + row("utilisation", number("%.2f %%", m.utilisation * 100)) +
         seconds("makespan", m.makespan);
}

}  // namespace millrace
