// src/controller/readers/job_completion.cpp - see job_completion.h.
#include "controller/readers/job_completion.h"

#include <time.h>

#include <algorithm>

#include "base/shown_text.h"
#include "controller/controller.h"
#include "controller/views/views.h"
#include "core/ledger/job_size.h"

namespace millrace {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string time_text(Time at) {
  if (!at.is_set()) return "Unknown";
  const time_t seconds = at.value / 1'000'000;
  tm local{};
  char text[32];
  localtime_r(&seconds, &local);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
  return text;
}

// A record is one line, and nobody's words in it are taken for keys.
std::string plain(const std::string& value) {
  std::string shown = shown_text(value);
  if (shown.find(' ') != std::string::npos) std::ranges::replace(shown, '=', '?');
  return shown;
}

std::string exit_text(std::uint32_t code, std::uint32_t signal) { return number(code) + ":" + number(signal); }

// The highest of its steps, as sacct shows it.
std::string derived_exit(const State& state, const Job& job) {
  if (!job.spec->extra_request().derived_exit.empty()) return job.spec->extra_request().derived_exit;
  std::uint32_t code = 0, signal = 0;
  for (auto it = state.steps.lower_bound({job.key, job.attempt, 0});
       it != state.steps.end() && (*it).first.job == job.key && (*it).first.attempt == job.attempt; ++it) {
    const StepEnd& end = (*it).second->end;
    if (end.exit_code > code) code = end.exit_code, signal = end.exit_signal;
    if (code == 0 && end.exit_signal > signal) signal = end.exit_signal;
  }
  return exit_text(code, signal);
}

std::string tres_text(const State& state, const Job& job) {
  const JobSize size = job.placement ? placed_size(state, job, job.placement->shares) : requested_size(state, job);
  TresList list;
  for (std::size_t slot = 0; slot < state.tres_names->size(); ++slot)
    if (size.tres[slot] > 0) list.push_back({(*state.tres_names)[slot], size.tres[slot]});
  return format_tres(list);
}

}  // namespace

JobCompletion completion_of(const State& state, const Job& job, const std::string& cluster) {
  const JobSpec& spec = *job.spec;
  const Owner& owner = *spec.owner;
  const Qos* qos = state.find_qos(job.qos);
  const ArrayState* array = state.find_array(job.array);
  std::uint64_t cpus = 0;
  if (job.placement)
    for (const NodeShare& share : job.placement->shares) cpus += static_cast<std::uint64_t>(share.cpus.value);
  const std::string nodes = job.placement ? hostlist_of(state, job.placement->shares) : "",
                    state_word = wire::JobStateName_Name(shown_state(job));
  const std::string limit = job.time_limit_minutes == unlimited ? "UNLIMITED" : number(job.time_limit_minutes);
  const std::string partition = state.partition(spec.partition).def.name,
                    reservation = spec.resource_request().reservation, qos_name = qos ? qos->name : "";
  const std::string derived = derived_exit(state, job), exit = exit_text(job.exit_code, job.exit_signal);
  const std::uint64_t node_count = job.placement ? job.placement->shares.size() : 0;
  JobCompletion out{job.id, {}, {}};
  const auto key = [&](const char* name, const std::string& value) {
    out.line += (out.line.empty() ? "" : " ") + std::string{name} + "=" + plain(value);
  };
  const auto variable = [&](const char* name, const std::string& value) {
    out.variables.push_back(std::string{name} + "=" + value);
  };
  key("JobId", number(job.id.value));
  key("UserId", owner.user_name + "(" + number(owner.uid.value) + ")");
  key("GroupId", owner.group_name + "(" + number(owner.gid.value) + ")");
  key("Name", spec.name);
  key("JobState", state_word);
  key("Partition", partition);
  key("TimeLimit", limit);
  key("StartTime", time_text(job.started_at));
  key("EndTime", time_text(job.over_at()));
  key("NodeList", nodes.empty() ? "(null)" : nodes);
  key("NodeCnt", number(node_count));
  key("ProcCnt", number(cpus));
  key("WorkDir", spec.work_dir);
  key("ReservationName", reservation);
  key("Tres", tres_text(state, job));
  key("Account", spec.account);
  key("QOS", qos_name);
  key("WcKey", spec.extra_request().wckey);
  key("Cluster", cluster);
  key("SubmitTime", time_text(job.submitted_at));
  key("EligibleTime", time_text(job.eligible_at));
  if (array) {
    const std::string task = job.array_task ? number(*job.array_task) : format_index_set(array->rest);
    key("ArrayJobId", number(array->id.value));
    key("ArrayTaskId", task);
    variable("ARRAYJOBID", number(array->id.value));
    variable("ARRAYTASKID", task);
  }
  if (job.het) {
    const std::string leader = number(job.id.value - job.het->offset), offset = number(job.het->offset);
    key("HetJobId", leader);
    key("HetJobOffset", offset);
    variable("HETJOBID", leader);
    variable("HETJOBOFFSET", offset);
  }
  key("DerivedExitCode", derived);
  key("ExitCode", exit);
  out.line += " ";
  const auto epoch = [](Time at) { return std::to_string(at.is_set() ? at.value / 1'000'000 : 0); };
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"JOBID", number(job.id.value)},
           {"UID", number(owner.uid.value)},
           {"GID", number(owner.gid.value)},
           {"USERNAME", owner.user_name},
           {"GROUPNAME", owner.group_name},
           {"JOBNAME", spec.name},
           {"JOBSTATE", state_word},
           {"PARTITION", partition},
           {"LIMIT", limit},
           {"START", epoch(job.started_at)},
           {"END", epoch(job.over_at())},
           {"SUBMIT", epoch(job.submitted_at)},
           {"PROCS", number(cpus)},
           {"NODECNT", number(node_count)},
           {"NODES", nodes},
           {"BATCH", spec.is_batch() && !spec.allocation_only ? "yes" : "no"},
           {"CLUSTER", cluster},
           {"ACCOUNT", spec.account},
           {"QOS", qos_name},
           {"WORK_DIR", spec.work_dir},
           {"RESERVATION", reservation},
           {"CONSTRAINTS", spec.resource_request().features},
           {"STDIN", spec.rare_request().std_in},
           {"STDOUT", spec.std_out},
           {"STDERR", spec.rare_request().std_err},
           {"DERIVED_EC", derived},
           {"EXITCODE", exit}})
    variable(name, value);
  return out;
}

std::vector<JobCompletion> JobCompletions::remember(const State& state, const std::string& cluster) {
  std::vector<JobCompletion> out;
  for (const auto& [key, job] : state.jobs)
    for (JobCompletion& each : look(state, key, cluster)) out.push_back(std::move(each));
  return out;
}

std::vector<JobCompletion> JobCompletions::look(const State& state, JobKey key, const std::string& cluster) {
  const Job* job = state.find_job(key);
  if (!job || job->state != JobState::ended) {
    told_.erase(key);
    return {};
  }
  if (!told_.insert(key).second) return {};
  return {completion_of(state, *job, cluster)};
}

}  // namespace millrace
