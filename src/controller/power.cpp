// src/controller/power.cpp - powers nodes down and up by the site's programs, and makes and deletes nodes.
#include <algorithm>

#include "agent.pb.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "client.pb.h"
#include "controller/config_facts.h"
#include "controller/controller.h"
#include "core/admission/create_node.h"
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

void Controller::see_to_power() {
  const Time now = loop_.now(), steady = loop_.steady();
  const Policy& policy = *commit_.decided().policy;
  // Those that failed come one by one, each with its jobs.
  for (;;) {
    auto events = decide_power(commit_.decided(), now,
                               {.down = left_of(told_down_, policy.power.suspend_rate, steady),
                                .up = left_of(told_up_, policy.power.resume_rate, steady)});
    if (events.empty()) break;
    std::vector<NodeIndex> failed;
    for (const Event& event : events) {
      const auto* power = std::get_if<NodesPowered>(&event);
      if (!power) continue;
      hooks_.say("nodes " + names_of(commit_.decided(), power->nodes) +
                 (power->change == PowerChange::going_down  ? " are idle and powered down"
                  : power->change == PowerChange::coming_up ? " are powered up"
                  : power->change == PowerChange::failed    ? " did not come up in time: down"
                                                            : " are off"));
      if (power->change == PowerChange::going_down) told_down_.insert(told_down_.end(), power->nodes.size(), steady);
      if (power->change == PowerChange::coming_up) told_up_.insert(told_up_.end(), power->nodes.size(), steady);
      if (power->change == PowerChange::failed) failed = power->nodes;
    }
    commit_.happen(std::move(events), failed.empty() ? Commit::Answer{} : [this, failed] { resume_failed(failed); });
  }
  run_power_programs();
}

// Derived from what is durable: a controller after a crash runs what it cannot know to have been run.
void Controller::run_power_programs() {
  const State& state = commit_.durable();
  std::vector<NodeIndex> down, up;
  for (const auto& [index, node] : state.nodes) {
    const NodePower& power = node->power;
    if (power.told || (power.state != Power::going_down && power.state != Power::coming_up)) continue;
    if (const auto running = power_runs_.find(index); running != power_runs_.end() && running->second == power.due)
      continue;
    (power.state == Power::going_down ? down : up).push_back(index);
  }
  if (!down.empty()) run_power_program(Power::going_down, down);
  if (!up.empty()) run_power_program(Power::coming_up, up);
}

ProgramRun Controller::power_program(const std::string& program, const std::vector<NodeIndex>& nodes,
                                     std::uint32_t limit_seconds) const {
  ProgramRun run;
  run.program = program;
  run.arguments = {names_of(commit_.durable(), nodes)};
  run.environment = {"SLURM_CLUSTER_NAME=" + settings_.cluster.cluster_name,
                     "SLURM_CONF=" + settings_.cluster.config_path};
  run.limit = seconds(limit_seconds);
  return run;
}

void Controller::run_power_program(Power what, const std::vector<NodeIndex>& nodes) {
  const State& state = commit_.durable();
  std::vector<std::pair<NodeIndex, Time>> meant;
  Time last = loop_.now();
  for (const NodeIndex index : nodes) {
    const Time due = state.node(index).power.due;
    power_runs_[index] = due;
    meant.emplace_back(index, due);
    last = std::max(last, due);
  }
  const SitePrograms site = programs_ ? hooks_.site_programs() : SitePrograms{};
  const std::string program = what == Power::going_down ? site.suspend : site.resume;
  if (program.empty()) return loop_.post([this, what, meant] { power_program_ended(what, meant); });
  // What has not done its work by the time it must be done never will.
  ProgramRun run =
      power_program(program, nodes, static_cast<std::uint32_t>((last - loop_.now()).value / 1'000'000) + 1);
  if (what == Power::coming_up) {
    run.file_variable = "SLURM_RESUME_FILE";
    run.file_text = resume_file(nodes);
  }
  programs_->run(std::move(run), [this, what, meant, program](const ProgramEnd& end) {
    if (!end.went_well()) hooks_.say(describe(program, end));
    power_program_ended(what, meant);
  });
}

void Controller::power_program_ended(Power what, const std::vector<std::pair<NodeIndex, Time>>& meant) {
  NodesPowered told{.change = PowerChange::told, .nodes = {}, .due = {}, .by = UserId{0}, .at = loop_.now()};
  for (const auto& [index, due] : meant) {
    if (const auto running = power_runs_.find(index); running != power_runs_.end() && running->second == due)
      power_runs_.erase(running);
    const auto* node = commit_.decided().nodes.find(index);
    if (node && (*node)->power.state == what && (*node)->power.due == due && !(*node)->power.told)
      told.nodes.push_back(index);
  }
  // Until that is durable nobody looks: the next to look sees it.
  for (const NodeIndex index : told.nodes) power_runs_[index] = commit_.decided().node(index).power.due;
  if (!told.nodes.empty())
    commit_.happen({told}, [this, nodes = told.nodes] {
      for (const NodeIndex index : nodes) power_runs_.erase(index);
    });
}

void Controller::resume_failed(const std::vector<NodeIndex>& nodes) {
  const SitePrograms site = programs_ ? hooks_.site_programs() : SitePrograms{};
  if (site.resume_failed.empty()) return;
  programs_->run(power_program(site.resume_failed, nodes, 300),
                 [this, program = site.resume_failed](const ProgramEnd& end) {
                   if (!end.went_well()) hooks_.say(describe(program, end));
                 });
}

// Which jobs wait for which of the nodes, as ResumeProgram may read it.
std::string Controller::resume_file(const std::vector<NodeIndex>& nodes) const {
  const State& state = commit_.durable();
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
void Controller::leave_unpowered(JobKey key) {
  const Job* seen = commit_.decided().find_job(key);
  if (!seen || seen->state != JobState::completing) return;
  for (auto events = decide_leave_unpowered(commit_.decided(), key, loop_.now()); !events.empty();
       events = decide_leave_unpowered(commit_.decided(), key, loop_.now()))
    commit_.happen(std::move(events));
}

// A node that came by itself (slurmd -Z): it is made as it says it is.
bool Controller::create_unknown(ResourceManager& by, const NodeRegistration& registration) {
  if (const auto known = node_by_name_.find(registration.node); known != node_by_name_.end() || &by != default_manager_)
    return false;
  auto nodes = nodes_from_words(registration.node, registration.configuration);
  const std::string kind = registration.node + " came by itself";
  if (!nodes) return say_often(kind, "node " + kind + " and is wrong: " + nodes.error().story), false;
  auto decision = decide_create_node(commit_.decided(), nodes->front(), Actor{UserId{0}, true}, loop_.now());
  if (!decision) {
    say_often(kind, "node " + kind + " and is refused: " +
                        (decision.error().notes.empty() ? slurm_text(decision.error().code)
                                                        : decision.error().notes.front()));
    return false;
  }
  hooks_.say("node " + kind);
  commit_.happen(*std::move(decision));
  know_nodes();
  return node_by_name_.contains(registration.node);
}

}  // namespace millrace
