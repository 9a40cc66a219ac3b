// src/controller/readers/power_reader.cpp - see power_reader.h.
#include "controller/readers/power_reader.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "core/admission/power_nodes.h"

namespace millrace {
namespace {

// How many may still be told to, where so many may in a minute.
std::uint32_t left_of(std::vector<Time>& told, std::uint32_t rate, Time steady) {
  std::erase_if(told, [&](Time at) { return at + seconds(60) <= steady; });
  if (rate == 0) return unlimited;
  return told.size() >= rate ? 0 : rate - static_cast<std::uint32_t>(told.size());
}

std::string names_of(const State& state, const std::vector<NodeIndex>& nodes) {
  std::vector<std::string> names;
  for (const NodeIndex index : nodes) names.push_back(state.node(index).def->name);
  return compress_hostlist(names);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

}  // namespace

void PowerReader::advanced(const Advance& step) {
  for (const JobKey key : step.changes.jobs) leave_unpowered(key);
  if (step.changes.ground_shifted) run_programs();
}

// The programs that run are known by the time at which their change is due, and that has moved.
void PowerReader::clock_set(Duration by) {
  std::map<NodeIndex, Time> runs;
  for (const auto& [index, due] : runs_) runs.emplace(index, due + by);
  runs_ = std::move(runs);
}

void PowerReader::time(Time now) {
  const Time steady = c_.loop.steady();
  const Policy& policy = *c_.commit.decided().policy;
  // Those that failed come one by one, each with its jobs.
  for (;;) {
    auto events = decide_power(c_.commit.decided(), now,
                               {.down = left_of(told_down_, policy.power.suspend_rate, steady),
                                .up = left_of(told_up_, policy.power.resume_rate, steady)});
    if (events.empty()) break;
    std::vector<NodeIndex> failed;
    for (const Event& event : events) {
      const auto* power = std::get_if<NodesPowered>(&event);
      if (!power) continue;
      c_.hooks.say("nodes " + names_of(c_.commit.decided(), power->nodes) +
                   (power->change == PowerChange::going_down  ? " are idle and powered down"
                    : power->change == PowerChange::coming_up ? " are powered up"
                    : power->change == PowerChange::failed    ? " did not come up in time: down"
                                                              : " are off"));
      if (power->change == PowerChange::going_down) told_down_.insert(told_down_.end(), power->nodes.size(), steady);
      if (power->change == PowerChange::coming_up) told_up_.insert(told_up_.end(), power->nodes.size(), steady);
      if (power->change == PowerChange::failed) failed = power->nodes;
    }
    c_.commit.happen(std::move(events), failed.empty() ? Commit::Answer{} : [this, failed] { resume_failed(failed); });
  }
  run_programs();
}

// Derived from what is durable: a controller after a crash runs what it cannot know to have been run.
void PowerReader::run_programs() {
  const State& state = c_.commit.durable();
  std::vector<NodeIndex> down, up;
  for (const auto& [index, node] : state.nodes) {
    const NodePower& power = node->power;
    if (power.told || (power.state != Power::going_down && power.state != Power::coming_up)) continue;
    if (const auto running = runs_.find(index); running != runs_.end() && running->second == power.due) continue;
    (power.state == Power::going_down ? down : up).push_back(index);
  }
  if (!down.empty()) run_program(Power::going_down, down);
  if (!up.empty()) run_program(Power::coming_up, up);
}

ProgramRun PowerReader::program_of(const std::string& program, const std::vector<NodeIndex>& nodes,
                                   std::uint32_t limit_seconds) const {
  ProgramRun run;
  run.program = program;
  run.arguments = {names_of(c_.commit.durable(), nodes)};
  run.environment = {"SLURM_CLUSTER_NAME=" + c_.settings.cluster.cluster_name,
                     "SLURM_CONF=" + c_.settings.cluster.config_path};
  run.limit = seconds(limit_seconds);
  return run;
}

void PowerReader::run_program(Power what, const std::vector<NodeIndex>& nodes) {
  const State& state = c_.commit.durable();
  std::vector<std::pair<NodeIndex, Time>> meant;
  Time last = c_.loop.now();
  for (const NodeIndex index : nodes) {
    const Time due = state.node(index).power.due;
    runs_[index] = due;
    meant.emplace_back(index, due);
    last = std::max(last, due);
  }
  const SitePrograms site = c_.programs ? c_.hooks.site_programs() : SitePrograms{};
  const std::string program = what == Power::going_down ? site.suspend : site.resume;
  if (program.empty()) return c_.loop.post([this, what, meant] { program_ended(what, meant); });
  // What has not done its work by the time it must be done never will.
  ProgramRun run = program_of(program, nodes, static_cast<std::uint32_t>((last - c_.loop.now()).value / 1'000'000) + 1);
  if (what == Power::coming_up) {
    run.file_variable = "SLURM_RESUME_FILE";
    run.file_text = resume_file(nodes);
  }
  c_.programs->run(std::move(run), [this, what, meant, program](const ProgramEnd& end) {
    if (!end.went_well()) c_.hooks.say(describe(program, end));
    program_ended(what, meant);
  });
}

void PowerReader::program_ended(Power what, const std::vector<std::pair<NodeIndex, Time>>& meant) {
  NodesPowered told{.change = PowerChange::told, .nodes = {}, .due = {}, .by = UserId{0}, .at = c_.loop.now()};
  for (const auto& [index, due] : meant) {
    if (const auto running = runs_.find(index); running != runs_.end() && running->second == due) runs_.erase(running);
    const auto* node = c_.commit.decided().nodes.find(index);
    if (node && (*node)->power.state == what && (*node)->power.due == due && !(*node)->power.told)
      told.nodes.push_back(index);
  }
  // Until that is durable nobody looks: the next to look sees it.
  for (const NodeIndex index : told.nodes) runs_[index] = c_.commit.decided().node(index).power.due;
  if (!told.nodes.empty())
    c_.commit.happen({told}, [this, nodes = told.nodes] {
      for (const NodeIndex index : nodes) runs_.erase(index);
    });
}

void PowerReader::resume_failed(const std::vector<NodeIndex>& nodes) {
  const SitePrograms site = c_.programs ? c_.hooks.site_programs() : SitePrograms{};
  if (site.resume_failed.empty()) return;
  c_.programs->run(program_of(site.resume_failed, nodes, 300),
                   [this, program = site.resume_failed](const ProgramEnd& end) {
                     if (!end.went_well()) c_.hooks.say(describe(program, end));
                   });
}

// Which jobs wait for which of the nodes, as ResumeProgram may read it.
std::string PowerReader::resume_file(const std::vector<NodeIndex>& nodes) const {
  const State& state = c_.commit.durable();
  std::set<JobKey> keys;
  for (const NodeIndex index : nodes)
    for (const JobKey key : state.node(index).jobs) keys.insert(key);
  std::string jobs;
  for (const JobKey key : keys) {
    const Job& job = state.job(key);
    std::vector<NodeIndex> all, resumed;
    for (const NodeShare& share : job.placement->shares) {
      all.push_back(share.node);
      if (std::ranges::find(nodes, share.node) != nodes.end()) resumed.push_back(share.node);
    }
    const ResourceRequest& wishes = job.spec->resource_request();
    jobs += std::string{jobs.empty() ? "" : ","} + "\n  {\"job_id\": " + std::to_string(job.id.value) +
            ", \"features\": " + quoted(wishes.features) + ", \"nodes_alloc\": " + quoted(names_of(state, all)) +
            ", \"nodes_resume\": " + quoted(names_of(state, resumed)) +
            ", \"oversubscribe\": " + quoted(job.spec->exclusive ? "NO" : "OK") +
            ", \"partition\": " + quoted(state.partition(job.spec->partition).def.name) +
            ", \"reservation\": " + quoted(wishes.reservation) + "}";
  }
  return "{\"all_nodes_resume\": " + quoted(names_of(state, nodes)) + ",\n \"jobs\": [" + jobs + "]}\n";
}

// Nobody has to be waited for on nodes that are not up.
void PowerReader::leave_unpowered(JobKey key) {
  const Job* seen = c_.commit.decided().find_job(key);
  if (!seen || seen->state != JobState::completing) return;
  for (auto events = decide_leave_unpowered(c_.commit.decided(), key, c_.loop.now()); !events.empty();
       events = decide_leave_unpowered(c_.commit.decided(), key, c_.loop.now()))
    c_.commit.happen(std::move(events));
}

}  // namespace millrace
