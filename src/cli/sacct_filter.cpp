// src/cli/sacct_filter.cpp - see sacct_filter.h.
#include "cli/sacct_filter.h"

#include <grp.h>

#include <algorithm>
#include <ctime>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/text.h"
#include "cli/console.h"
#include "cli/options/job_values.h"
#include "cli/step_names.h"

namespace millrace {
namespace {

using Text = std::string_view;

std::int64_t midnight(std::int64_t now) {
  const time_t at = now;
  tm local{};
  localtime_r(&at, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return static_cast<std::int64_t>(mktime(&local));
}

// A time without a date is that of today, also when it is over.
Result<std::int64_t> time_of(const std::string& text, std::int64_t now) {
  const bool relative = text.size() >= 3 && equals_ignoring_case(Text{text}.substr(0, 3), "now");
  const auto when = parse_time_of_day(text, relative ? now : midnight(now));
  if (!when) return fail(Errc::not_found, "Invalid time specification (pos=0): " + text);
  return *when * 1'000'000;
}

std::optional<std::uint32_t> parse_group(const std::string& text) {
  if (const auto number = parse_integer(text); number && *number >= 0 && *number <= UINT32_MAX)
    return static_cast<std::uint32_t>(*number);
  const group* known = getgrnam(text.c_str());
  return known == nullptr ? std::nullopt : std::optional{static_cast<std::uint32_t>(known->gr_gid)};
}

bool is_one_of(const std::set<std::string, std::less<>>& words, Text value) {
  return words.empty() || words.contains(value);
}

bool was_on(const std::set<std::string, std::less<>>& nodes, const std::string& allocated) {
  if (nodes.empty()) return true;
  const auto names = expand_hostlist(allocated);
  return names && std::ranges::any_of(*names, [&](const std::string& name) { return nodes.contains(name); });
}

}  // namespace

SacctFilter::Words SacctFilter::words_of(Text text) {
  Words out;
  for (const Text word : split(text, ','))
    if (!trim(word).empty()) out.emplace(trim(word));
  return out;
}

Result<SacctFilter::Range> SacctFilter::read_range(const std::string& text, const char* of_what) {
  const std::size_t dash = text.find('-');
  const auto least = parse_integer(text.substr(0, dash)),
             most = dash == std::string::npos ? least : parse_integer(text.substr(dash + 1));
  if (!least || !most || *least < 0 || *most < 0)
    return fail(Errc::refused, "Invalid numeric value \"" + text + "\" for requested " + of_what + " range.");
  return Range{static_cast<std::uint64_t>(*least), static_cast<std::uint64_t>(*most)};
}

// Since midnight; with states alone as of now; of jobs that are named since ever.
Result<void> SacctFilter::read_times(const SacctDraft& draft, std::int64_t now) {
  if (draft.start) {
    MR_TRY(from_us_, time_of(*draft.start, now));
  } else if (draft.jobs.empty()) {
    from_us_ = (draft.states.empty() ? midnight(now) : now) * 1'000'000;
  }
  if (!draft.end) {
    if (!draft.states.empty() && !draft.start && draft.jobs.empty()) until_us_ = (now + 1) * 1'000'000;
    return {};
  }
  MR_TRY(until_us_, time_of(*draft.end, now));
  if (from_us_ > until_us_)
    return fail(Errc::refused, "Start time (" + format_time(from_us_, "Unknown") + ") requested is after end time (" +
                                   format_time(until_us_, "Unknown") + ").");
  return {};
}

Result<void> SacctFilter::read_owners(const SacctDraft& draft, std::uint32_t own_uid) {
  for (const std::string& word : words_of(draft.users)) {
    const auto uid = parse_user(word);
    if (!uid) return fail(Errc::refused, "Invalid user id: " + word);
    uids_.insert(*uid);
  }
  const bool everybody = draft.all_users || !draft.jobs.empty() || !draft.clusters.empty() || own_uid == 0;
  if (uids_.empty() && !everybody) uids_.insert(own_uid);
  for (const std::string& word : words_of(draft.groups)) {
    const auto gid = parse_group(word);
    if (!gid) return fail(Errc::refused, "Invalid group id: " + word);
    gids_.insert(*gid);
  }
  return {};
}

Result<void> SacctFilter::read_counts(const SacctDraft& draft) {
  if (draft.node_range) {
    MR_TRY(node_count_, read_range(*draft.node_range, "node"));
  }
  if (draft.cpu_range) {
    MR_TRY(cpu_count_, read_range(*draft.cpu_range, "cpu"));
  }
  for (const bool most : {false, true}) {
    const auto& text = most ? draft.limit_most : draft.limit_least;
    if (!text) continue;
    const auto minutes = parse_limit_minutes(*text);
    if (!minutes) return fail(Errc::refused, "Invalid time limit specification");
    (most ? limit_.most : limit_.least) = *minutes;
  }
  if (draft.limit_least && !draft.limit_most) limit_.most = limit_.least;
  return {};
}

Result<SacctFilter> SacctFilter::read(const SacctDraft& draft, std::int64_t now_us, std::uint32_t own_uid) {
  SacctFilter out;
  for (const Text word : split_outside_brackets(draft.jobs)) {
    if (trim(word).empty()) continue;
    const auto name = parse_step_name(trim(word));
    if (!name) return fail(Errc::refused, told(name.error(), "Bad job/step specified: " + std::string{word}));
    out.jobs_.push_back(*name);
  }
  MR_TRY_VOID(out.read_times(draft, now_us / 1'000'000));
  MR_TRY_VOID(out.read_owners(draft, own_uid));
  MR_TRY_VOID(out.read_counts(draft));
  for (const std::string& word : words_of(draft.states)) {
    if (equals_ignoring_case(word, "REQUEUED") || equals_ignoring_case(word, "RQ")) {
      out.requeued_too_ = true;
      continue;
    }
    const auto state = parse_state(word);
    if (!state)
      return fail(Errc::refused,
                  "unrecognized job state value '" + word + "'; " + known_states() + ",REQUEUED are known");
    out.states_.push_back(*state);
  }
  for (const std::string& word : words_of(draft.flags)) {
    if (!equals_ignoring_case(word, "SchedMain") && !equals_ignoring_case(word, "SchedBackfill") &&
        !equals_ignoring_case(word, "SchedSubmit"))
      return fail(Errc::refused, "Invalid job flag " + word + "; SchedMain and SchedBackfill are known");
    out.flags_.insert(upper_case(word));
  }
  out.accounts_ = words_of(draft.accounts);
  out.partitions_ = words_of(draft.partitions);
  out.names_ = words_of(draft.names);
  out.qos_ = words_of(draft.qos);
  out.features_ = words_of(draft.constraints);
  out.reasons_ = words_of(draft.reasons);
  out.associations_ = words_of(draft.associations);
  out.wckeys_ = words_of(draft.wckeys);
  if (!draft.nodes.empty()) {
    const auto names = expand_hostlist(draft.nodes);
    if (!names) return fail(Errc::refused, "Invalid node list: " + names.error().story);
    out.nodes_.insert(names->begin(), names->end());
  }
  out.every_run_ = draft.every_run;
  out.whole_het_ = draft.whole_het;
  return out;
}

void SacctFilter::put(wire::QueryJobs& ask) const {
  ask.set_finished_too(true);
  ask.set_accounting(true);
  ask.set_every_run(every_run_);
  ask.set_from_us(from_us_);
  ask.set_until_us(until_us_);
  if (uids_.size() == 1) ask.set_uid(*uids_.begin());
  for (const wire::StepName& name : jobs_) *ask.add_jobs() = name.job();
}

// In the window, not only now: it waited until it started, ran until it ended, and then was what it came to.
bool SacctFilter::was_in_a_state(const wire::JobView& job) const {
  if (states_.empty() && !requeued_too_) return true;
  const std::int64_t until = until_us_ == 0 ? INT64_MAX : until_us_;
  const bool started = job.accounted().started(), ended = is_ended(job) || job.accounted().requeued();
  const std::int64_t stopped_waiting = started ? job.start_at_us() : ended ? job.end_at_us() : INT64_MAX;
  if (requeued_too_ && job.accounted().requeued()) return true;
  for (const StateFilter state : states_) {
    if (state.code == wire::PENDING) {
      if (job.submit_at_us() <= until && stopped_waiting > from_us_) return true;
    } else if (state.code == wire::RUNNING) {
      if (started && job.start_at_us() <= until && (!ended || job.end_at_us() > from_us_)) return true;
    } else if (matches(state, job) && (!ended || (job.end_at_us() >= from_us_ && job.end_at_us() <= until))) {
      return true;
    }
  }
  return false;
}

bool SacctFilter::wants(const wire::JobView& job) const {
  if (!jobs_.empty() && std::ranges::none_of(jobs_, [&](const wire::StepName& name) { return is_named(name, job); }))
    return false;
  const bool over = is_ended(job) || job.accounted().requeued();
  if ((over && job.end_at_us() < from_us_) || (until_us_ != 0 && job.submit_at_us() > until_us_)) return false;
  if (!uids_.empty() && !uids_.contains(job.uid())) return false;
  if (!gids_.empty() && !gids_.contains(job.gid())) return false;
  if (!was_in_a_state(job)) return false;
  for (const std::string& feature : features_)
    if (job.resources().features().find(feature) == std::string::npos) return false;
  if (!flags_.empty() &&
      (!job.accounted().started() || !flags_.contains(job.planned_by_backfill() ? "SCHEDBACKFILL" : "SCHEDMAIN")))
    return false;
  if (!associations_.empty() && !associations_.contains(std::to_string(job.accounted().association()))) return false;
  return is_one_of(accounts_, job.account()) && is_one_of(partitions_, job.partition()) &&
         is_one_of(names_, job.name()) && is_one_of(qos_, job.qos()) && is_one_of(wckeys_, job.extras().wckey()) &&
         is_one_of(reasons_, job.reason()) && was_on(nodes_, job.nodes()) && node_count_.holds(job.node_count()) &&
         cpu_count_.holds(job.cpus()) && limit_.holds(job.time_limit_minutes());
}

bool SacctFilter::is_named(const wire::StepName& name, const wire::JobView& job) const {
  const std::uint32_t id = name.job().job_id();
  if (id == job.job_id() && !name.job().tasks().starts_with('+')) return true;
  if (job.array_job_id() != 0 && id == job.array_job_id()) {
    if (name.job().tasks().empty() || !job.has_array_task()) return true;
    Text tasks = name.job().tasks();
    if (tasks.starts_with('[')) tasks = tasks.substr(1, tasks.size() - 2);
    const auto wanted = parse_index_set(tasks, UINT32_MAX - 1);
    return wanted && wanted->contains(job.array_task());
  }
  if (job.het_job_id() == 0) return false;
  if (whole_het_ == true) return id >= job.het_job_id() && id < job.het_job_id() + job.het_job_size();
  if (id != job.het_job_id()) return false;
  if (name.job().tasks().starts_with('+'))
    return parse_integer(Text{name.job().tasks()}.substr(1)) == std::int64_t{job.het_job_offset()};
  return whole_het_ != false;
}

std::vector<std::uint32_t> SacctFilter::leaders_missing(const wire::Jobs& answer) const {
  std::vector<std::uint32_t> out;
  if (whole_het_ != true || jobs_.empty()) return out;
  for (const wire::JobView& job : answer.jobs()) {
    const auto is_leader = [&](const wire::JobView& other) { return other.job_id() == job.het_job_id(); };
    if (job.het_job_id() != 0 && std::ranges::none_of(answer.jobs(), is_leader) &&
        std::ranges::find(out, job.het_job_id()) == out.end())
      out.push_back(job.het_job_id());
  }
  return out;
}

bool SacctFilter::wants_row_of(const wire::JobView& job) const {
  return jobs_.empty() || std::ranges::any_of(jobs_, [&](const wire::StepName& name) {
           return !name.has_step() && is_named(name, job);
         });
}

bool SacctFilter::wants(const wire::JobView& job, const wire::AccountedStep& step) const {
  return jobs_.empty() || std::ranges::any_of(jobs_, [&](const wire::StepName& name) {
           return is_named(name, job) && (!name.has_step() || name.step() == step.step().step());
         });
}

}  // namespace millrace
