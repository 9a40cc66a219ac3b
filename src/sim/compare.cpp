// src/sim/compare.cpp - see compare.h.
#include "sim/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace millrace {
namespace {

constexpr ComparedPolicy policies[] = {
    {"easy", Backfill::easy, OrderPolicy::fcfs, Estimates::requested,
     "first come first served; who does not delay the first blocked job may overtake"},
    {"sjbf", Backfill::shortest_first, OrderPolicy::fcfs, Estimates::requested,
     "easy, and the shortest request overtakes first"},
    {"guarded", Backfill::guarded, OrderPolicy::guarded, Estimates::predicted,
     "ours: short jobs first within bounds, the oldest have promised starts"},
    {"conservative", Backfill::conservative, OrderPolicy::fcfs, Estimates::requested,
     "every waiting job has a promised start"},
    {"easy_predicted", Backfill::easy, OrderPolicy::fcfs, Estimates::predicted,
     "easy, with run times predicted from the user's last two"},
    {"sjbf_predicted", Backfill::shortest_first, OrderPolicy::fcfs, Estimates::predicted,
     "sjbf, with run times predicted from the user's last two"},
};

std::string number(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string cell(const std::string& text, std::size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

std::string with_spread(const Spread& spread, const char* form) {
  return number(form, spread.mean) + " +- " + number(form, spread.deviation);
}

std::vector<double> numbers_of(std::span<const Metrics> runs, auto Metrics::* member) {
  std::vector<double> out;
  for (const Metrics& run : runs) out.push_back(static_cast<double>(run.*member));
  return out;
}

std::vector<double> ratios(const std::vector<double>& values, const std::vector<double>& bases) {
  std::vector<double> out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out.push_back(bases[i] > 0 ? values[i] / bases[i] : values[i] > 0 ? INFINITY : 1.0);
  return out;
}

ComparedRow row_of(const ComparedPolicy& policy, std::span<const Metrics> runs, std::span<const Metrics> easy) {
  ComparedRow row{policy, {}, {}, {}, {}, {}, {}};
  const auto p99 = numbers_of(runs, &Metrics::p99_wait), longest = numbers_of(runs, &Metrics::max_wait);
  row.slowdown = spread_of(numbers_of(runs, &Metrics::bounded_slowdown));
  row.mean_wait = spread_of(numbers_of(runs, &Metrics::mean_wait));
  row.p99_wait = spread_of(p99);
  row.max_wait = spread_of(longest);
  row.p99_to_easy = spread_of(ratios(p99, numbers_of(easy, &Metrics::p99_wait)));
  row.max_to_easy = spread_of(ratios(longest, numbers_of(easy, &Metrics::max_wait)));
  return row;
}

std::string json_of(const Spread& spread, const char* form) {
  return "{\"mean\": " + number(form, spread.mean) + ", \"deviation\": " + number(form, spread.deviation) +
         ", \"worst\": " + number(form, spread.worst) + "}";
}

}  // namespace

std::span<const ComparedPolicy> compared_policies() { return policies; }

Result<std::vector<ComparedPolicy>> find_policies(std::string_view names) {
  std::vector<ComparedPolicy> out;
  std::string known;
  for (const ComparedPolicy& policy : policies) known += (known.empty() ? "" : ", ") + std::string{policy.name};
  for (const std::string_view name : split(names, ',')) {
    const auto found = std::ranges::find(policies, trim(name), &ComparedPolicy::name);
    if (found == std::end(policies))
      return fail(Errc::invalid, "--policies '" + std::string{trim(name)} + "' is not known; each is one of " + known);
    out.push_back(*found);
  }
  return out;
}

ReplaySettings settings_of(const ComparedPolicy& policy) {
  ReplaySettings settings;
  settings.planner.backfill = policy.backfill;
  settings.planner.order = policy.order;
  settings.planner.depth = UINT32_MAX;
  settings.planner.use_expected = true;
  settings.planner.score_origin = trace_time(0);
  settings.estimates = policy.estimates;
  return settings;
}

Spread spread_of(std::span<const double> values) {
  Spread out;
  if (values.empty()) return out;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  out.worst = *std::ranges::max_element(values);
  return out;
}

Comparison compare(const Workload& workload, const CompareSettings& settings) {
  Workload half = workload;
  keep_half(half, settings.half);
  const ClusterConfigured machine = one_machine(settings.processors);
  const std::size_t shakes = std::max(settings.shakes, 1u);
  std::vector<ComparedPolicy> asked{policies[0]};
  asked.insert(asked.end(), settings.policies.begin(), settings.policies.end());
  std::vector<std::vector<Metrics>> runs(asked.size());
  std::size_t done = 0;
  const bool easy_asked =
      std::ranges::find(settings.policies, policies[0].name, &ComparedPolicy::name) != settings.policies.end();
  const std::size_t all = half.jobs.size() * shakes * (asked.size() - (easy_asked ? 1 : 0));
  for (std::size_t shaken = 1; shaken <= shakes; ++shaken) {
    Workload jobs = half;
    if (settings.shakes > 0) shake(jobs, shaken);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (i > 0 && asked[i].name == asked[0].name) {
        runs[i].push_back(runs[0].back());
        continue;
      }
      ReplaySettings one = settings_of(asked[i]);
      if (settings.progress)
        one.progress = [&](std::size_t ended, std::size_t) { settings.progress(std::min(done + ended, all - 1), all); };
      runs[i].push_back(measure(replay(jobs, machine, one).jobs, settings.processors));
      done += half.jobs.size();
    }
  }
  if (settings.progress) settings.progress(all, all);
  Comparison out{{}, half.jobs.size(), settings.shakes, {}};
  for (std::size_t i = 1; i < asked.size(); ++i) out.rows.push_back(row_of(asked[i], runs[i], runs[0]));
  return out;
}

std::string comparison_table(const Comparison& comparison) {
  std::string out =
      comparison.trace + ", " + std::to_string(comparison.jobs) + " jobs" +
      (comparison.shakes > 0 ? ", shaken " + std::to_string(comparison.shakes) + " times: mean +- standard deviation"
                             : ", as it is") +
      "\n\n";
  out += "policy        " + cell("bounded slowdown", 18) + cell("mean wait, s", 17) + cell("99 % wait, s", 23) +
         cell("longest wait, s", 26) + cell("99 % to easy's", 23) + cell("longest to easy's", 19) + '\n';
  for (const ComparedRow& row : comparison.rows) {
    std::string name{row.policy.name};
    name.resize(std::max<std::size_t>(name.size(), 14), ' ');
    out += name + cell(with_spread(row.slowdown, "%.2f"), 18) + cell(with_spread(row.mean_wait, "%.0f"), 17) +
           cell(with_spread(row.p99_wait, "%.0f"), 23) + cell(with_spread(row.max_wait, "%.0f"), 26) +
           cell(number("%.2f", row.p99_to_easy.mean) + " (worst " + number("%.2f", row.p99_to_easy.worst) + ")", 23) +
           cell(number("%.2f", row.max_to_easy.mean) + " (worst " + number("%.2f", row.max_to_easy.worst) + ")", 19) +
           '\n';
  }
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  std::string out = "{\"trace\": \"" + comparison.trace + "\", \"jobs\": " + std::to_string(comparison.jobs) +
                    ", \"shakes\": " + std::to_string(comparison.shakes) + ", \"policies\": [";
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    out += std::string{i > 0 ? ", " : ""} + "{\"policy\": \"" + std::string{row.policy.name} +
           "\", \"bounded_slowdown\": " + json_of(row.slowdown, "%.4f") +
           ", \"mean_wait\": " + json_of(row.mean_wait, "%.2f") + ", \"p99_wait\": " + json_of(row.p99_wait, "%.1f") +
           ", \"max_wait\": " + json_of(row.max_wait, "%.1f") +
           ", \"p99_to_easy\": " + json_of(row.p99_to_easy, "%.4f") +
           ", \"max_to_easy\": " + json_of(row.max_to_easy, "%.4f") + "}";
  }
  return out + "]}";
}

}  // namespace millrace
