// src/core/ledger/invariants.cpp - see invariants.h.
#include "core/ledger/invariants.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/index_set.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/dependency.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/licences.h"
#include "core/model/features.h"
#include "core/model/node_use.h"

namespace millrace {
namespace {

std::string of(const Job& job) { return "job " + std::to_string(job.id.value) + ": "; }

// Neither it nor any component of it.
bool holds_nothing(const State& state, const Job& job) {
  return std::ranges::all_of(whole_of(job), [&](JobKey key) {
    const Job* each = state.find_job(key);
    const bool counts = each && each->is_on_nodes() && (!each->is_component() || each->placement->supervised);
    return !counts || std::ranges::all_of(each->placement->shares, &NodeShare::released);
  });
}

std::optional<std::string> check_job(const State& state, const Job& job) {
  const JobKey* key = state.by_id.find(job.id);
  if (!key || *key != job.key) return of(job) + "its number leads elsewhere";
  const bool holds = job.is_on_nodes();
  if (state.suspended.contains(job.key) != (job.state == JobState::suspended))
    return of(job) + "suspended, and not in that list (or the reverse)";
  if (job.state == JobState::suspended && (!job.suspension || !job.suspension->cpus_free))
    return of(job) + "suspended with its CPUs";
  if (job.state == JobState::running && !job.holds_cpus()) return of(job) + "runs without CPUs";
  if (state.active.contains(job.key) != holds)
    return of(job) + "running or completing, and not in the active list (or the reverse)";
  if (state.queue.contains(queue_key(state, job)) != is_queueable(job)) return of(job) + "queue membership is wrong";
  if (holds && !job.placement) return of(job) + "runs nowhere";
  if (job.program == JobProgram::prolog && job.state != JobState::running && job.state != JobState::suspended)
    return of(job) + "has a prolog to wait for and is not about to start";
  if (job.program == JobProgram::epilog &&
      (job.state != JobState::completing || !std::ranges::all_of(job.placement->shares, &NodeShare::released)))
    return of(job) + "has an epilog to wait for and is not over";
  if (job.state == JobState::completing && job.program != JobProgram::epilog && !job.is_component() &&
      holds_nothing(state, job))
    return of(job) + "completes and waits for nothing";
  if (job.state == JobState::pending && job.placement) return of(job) + "pending with an allocation";
  const IndexSet& counts = job.spec->resource_request().node_counts;
  if (holds && !counts.empty() && !counts.contains(static_cast<std::uint32_t>(job.placement->shares.size())) &&
      !job.spec->extra_request().no_allocate)
    return of(job) + "has a number of nodes that is not in its list";
  if (job.state == JobState::ended && job.outcome == Outcome::none) return of(job) + "ended without an outcome";
  if (job.state == JobState::ended && job.placement &&
      !std::ranges::all_of(job.placement->shares, &NodeShare::released))
    return of(job) + "ended and still holds a share";
  if (job.placement && std::ranges::any_of(job.placement->shares, &NodeShare::lost)) {
    const auto& shares = job.placement->shares;
    if (std::ranges::any_of(shares,
                            [](const NodeShare& share) { return share.lost && !share.released && !share.given_up; }))
      return of(job) + "holds what it has on a node that it lost";
    if (std::ranges::any_of(shares, [](const NodeShare& share) { return share.given_up && !share.lost; }))
      return of(job) + "counts a node that it gave up";
    if (job.spec->is_batch() && shares.front().lost) return of(job) + "outlived the node of its script";
    if ((job.state == JobState::running || job.state == JobState::suspended) &&
        std::ranges::all_of(shares, [](const NodeShare& share) { return share.released || share.lost; }))
      return of(job) + "goes on without any node";
  }
  if (job.eligible_at.is_set() && !dependencies_met(job)) return of(job) + "eligible before its dependencies are met";
  if (job.array.value != 0 && !state.find_array(job.array)) return of(job) + "its array is unknown";
  return std::nullopt;
}

// Components wait together and run together; none outlives the leader, and all are known as long as one is.
std::optional<std::string> check_components(const State& state, const Job& job) {
  if (!job.het) return std::nullopt;
  const HetRole& role = *job.het;
  if (role.leader.value + role.offset != job.key.value || role.offset >= role.size)
    return of(job) + "a component out of its place";
  const Job* leader = state.find_job(role.leader);
  if (!leader || !leader->het || leader->het->size != role.size) return of(job) + "a component without its leader";
  if (leader->id.value + role.offset != job.id.value)
    return of(job) + "the numbers of its components are not consecutive";
  for (const JobKey key : whole_of(job)) {
    const Job* other = state.find_job(key);
    if (!other) return of(job) + "one of its components is gone";
    if ((other->state == JobState::pending) != (job.state == JobState::pending))
      return of(job) + "waits while another of its components does not";
    if (job.state == JobState::pending &&
        (other->attempt != job.attempt || other->hold != job.hold || other->eligible_at != job.eligible_at))
      return of(job) + "its components do not wait for the same";
    if (job.state == JobState::running && other->state == JobState::running && job.started_at != other->started_at)
      return of(job) + "its components did not start together";
  }
  if (leader->state == JobState::ended && job.state != JobState::ended) return of(job) + "outlives its leader";
  if (leader->state == JobState::completing && job.state == JobState::running)
    return of(job) + "goes on while its leader stops";
  const bool over = job.placement && std::ranges::all_of(job.placement->shares, &NodeShare::released);
  if (job.is_component() && job.is_on_nodes() && job.placement->supervised && over &&
      leader->state != JobState::completing)
    return of(job) + "nothing of it is left, and it goes on";
  if (job.is_component() && job.state == JobState::completing && leader->state != JobState::completing &&
      !job.placement->stops_alone)
    return of(job) + "stops, and its leader does not";
  return std::nullopt;
}

std::optional<BrokenLaw> broken(std::string words, BrokenRecord record = {}) {
  return BrokenLaw{std::move(words), record};
}
std::optional<BrokenLaw> broken_job(std::string words, JobKey key) {
  return broken(std::move(words), {BrokenRecord::Kind::job, key.value});
}
std::optional<BrokenLaw> broken_node(const Node& node, NodeIndex index, const char* words) {
  return broken("node " + node.def->name + ": " + words, {BrokenRecord::Kind::node, index.value});
}

// A step runs only while its attempt does, and every number is above those before it.
std::optional<BrokenLaw> check_steps(const State& state) {
  std::map<JobKey, std::uint32_t> ended;
  std::size_t running = 0;
  for (const auto& [key, step] : state.steps) {
    const auto wrong = [&](const char* words) {
      return broken_job(
          "step " + std::to_string(key.id) + " of job key " + std::to_string(key.job.value) + ": " + words, key.job);
    };
    const Job* job = state.find_job(key.job);
    const StepTally* tally = state.step_tallies.find(key.job);
    if (!job || !tally) return wrong("its job is gone");
    if (key.id != step->start.id || key.id != step->end.id) return wrong("it lies under another's number");
    if (key.attempt > job->attempt ||
        (key.attempt == tally->attempt && key.id >= tally->next_id && key.id != interactive_step))
      return wrong("a number that was never given out");
    if (state.running_steps.contains(key) != step->is_running())
      return wrong("running, and not in that list (or the reverse)");
    if (step->is_running() && (job->attempt != key.attempt || !job->is_on_nodes()))
      return wrong("it runs, and its attempt does not");
    if (!step->is_running() && step->end.at < step->start.at) return wrong("it ended before it began");
    step->is_running() ? ++running : ++ended[key.job];
  }
  if (running != state.running_steps.size()) return broken("running steps that are not there");
  for (const auto& [key, tally] : state.step_tallies) {
    if (!state.jobs.contains(key)) return broken_job("steps of a job that is gone", key);
    if (tally.ended != ended[key] || tally.ended > ended_steps_max)
      return broken_job("job key " + std::to_string(key.value) + ": the count of ended steps is wrong", key);
  }
  return std::nullopt;
}

// What is kept is over, hidden from everybody else, and found by its number.
std::optional<BrokenLaw> check_kept(const State& state) {
  std::uint64_t rows = 0, names = 0;
  for (const auto& [number, kept] : state.kept) {
    const Job& job = *kept->job;
    const auto wrong = [&](const char* words) {
      return broken("kept run of " + of(job) + words, {BrokenRecord::Kind::kept_run, number.value});
    };
    if (!(number < state.next_kept)) return wrong("a number that was never given out");
    if (job.state != JobState::ended || !job.spec || !job.ended_at.is_set()) return wrong("it is not over");
    if (job.outcome == Outcome::none && !kept->requeued) return wrong("ended without an outcome");
    if (const Job* live = state.find_job(job.key); live && (!kept->requeued || !(job.attempt < live->attempt)))
      return wrong("its job is not forgotten");
    if (!state.kept_names.contains({job.id, number})) return wrong("nobody finds it");
    for (const SharedValue<Step>& step : kept->steps)
      if (step->is_running()) return wrong("one of its steps goes on");
    rows += rows_of(*kept);
    names += 1 + (kept->array.value != 0 && kept->array != job.id ? 1 : 0) + (job.is_component() ? 1 : 0);
  }
  if (rows != state.kept_rows) return broken("the count of kept runs and steps is wrong");
  if (names != state.kept_names.size()) return broken("numbers that lead to no kept run");
  return std::nullopt;
}

// Whether the job or a component of it waits for nodes to be powered up.
std::optional<BrokenLaw> check_boot(const State& state, const Job& job) {
  bool waits = false;
  for (const JobKey each : whole_of(job)) {
    const Job* one = state.find_job(each);
    if (!one || !one->placement || (one->state != JobState::running && one->state != JobState::suspended)) continue;
    for (const NodeShare& share : one->placement->shares)
      waits = waits || (!share.released && !state.node(share.node).is_ready());
  }
  const bool may = job.state == JobState::running || job.state == JobState::suspended;
  if (job.boots == (may && waits)) return std::nullopt;
  return broken_job(
      of(job) + (job.boots ? "waits for nodes that are powered up" : "goes on while its nodes are not powered up"),
      job.key);
}

// Who waits for nodes to be powered up, and what nodes that are not may have.
std::optional<BrokenLaw> check_power(const State& state) {
  for (const auto& [key, nothing] : state.active)
    if (auto wrong = check_boot(state, state.job(key))) return wrong;
  for (const auto& [index, node] : state.nodes) {
    const NodePower& power = node->power;
    const bool timed = power.state == Power::going_down || power.state == Power::coming_up;
    if (power.due.is_set() != timed || (power.told && !timed))
      return broken_node(*node, index, "its power changes without an end, or the reverse");
    if (power.state == Power::going_down && !node->jobs.empty())
      return broken_node(*node, index, "it is powered down under its jobs");
    if (node->future && (!node->jobs.empty() || !node->is_on()))
      return broken_node(*node, index, "it is only foreseen and yet in use");
  }
  return std::nullopt;
}

// What the jobs of a node hold of it, added up.
struct NodeSum {
  Amounts amounts;
  NodeUse use;
  std::vector<JobKey> jobs;
  std::map<PartitionIndex, CpuBits> shared;  // CPUs of jobs that share them with others of their partition
  std::uint32_t suspended = 0;
  JobKey twice{};  // has a CPU or a device of another job; 0: nobody has

  void add(const Node& node, const Job& job, const NodeShare& share) {
    Amounts held = share.amounts();
    if (!job.holds_cpus() || job.placement->shared) held.cpus = 0;
    amounts += held;
    if (job.holds_cpus() && job.placement->shared) add_bits(shared[job.spec->partition], share.detail->cpus);
    if (job.holds_cpus() && !job.placement->shared && !add_cpus(use, share)) twice = job.key;
    if (!add_devices(use, *node.def, share)) twice = job.key;
    suspended += job.state == JobState::suspended ? 1 : 0;
    jobs.push_back(job.key);
  }
  void finish() {
    for (const auto& [partition, bits] : shared) {
      if (have_common_bits(use.cpus, bits) && twice.value == 0) twice = jobs.back();
      add_bits(use.cpus, bits);
      amounts.cpus += count_bits(bits);
    }
  }
};

std::optional<BrokenLaw> compare(const Node& node, const NodeSum& sum) {
  const std::string name = "node " + node.def->name;
  if (sum.amounts != Amounts{node.used_cpus.value, node.used_memory.value, node.used_gres} || sum.jobs != node.jobs)
    return broken(name + ": what is used is not what its jobs hold");
  if (sum.suspended != node.suspended) return broken(name + ": the count of suspended jobs is wrong");
  if (sum.twice.value != 0) return broken_job(name + ": a CPU or a device is given to two jobs", sum.twice);
  if (sum.use != node.use) return broken(name + ": the CPUs and devices in use are not those of its jobs");
  return std::nullopt;
}

std::optional<BrokenLaw> check_nodes(const State& state) {
  std::map<NodeIndex, NodeSum> sums;
  for (const auto& [key, nothing] : state.active)
    for (const NodeShare& share : state.job(key).placement->shares)
      if (!share.released) sums[share.node].add(state.node(share.node), state.job(key), share);
  for (auto& [index, sum] : sums) sum.finish();
  for (const auto& [index, node] : state.nodes)
    if (auto wrong = compare(*node, sums[index])) return wrong;
  return std::nullopt;
}

// A port of a node is of one job.
std::optional<BrokenLaw> check_ports(const State& state) {
  std::set<std::pair<NodeIndex, std::uint32_t>> held;
  for (const auto& [key, nothing] : state.active) {
    const Placement& placement = *state.job(key).placement;
    if (placement.ports.empty()) continue;
    const auto ports = parse_index_set(placement.ports, UINT16_MAX);
    if (!ports) return broken_job(of(state.job(key)) + "its ports are none", key);
    for (const NodeShare& share : placement.shares) {
      bool twice = false;
      if (!share.released)
        ports->for_each([&](std::uint32_t port) { twice = !held.insert({share.node, port}).second || twice; });
      if (twice)
        return broken_job(
            of(state.job(key)) + "it has ports of another job on node " + state.node(share.node).def->name, key);
    }
  }
  return std::nullopt;
}

std::optional<BrokenLaw> check_licences(const State& state) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& [key, nothing] : state.active)
    for (const LicenceAsk& held : state.job(key).placement->licences) sums[held.name] += held.count;
  std::vector<LicenceAsk> used;
  for (const auto& [name, count] : sums) used.push_back({name, static_cast<std::uint32_t>(count)});
  if (used != *state.licences_used) return broken("the licences in use are not those of the jobs");
  return std::nullopt;
}

std::optional<BrokenLaw> check_arrays(const State& state) {
  std::map<JobKey, std::pair<std::uint64_t, std::uint32_t>> seen;  // records, running
  for (const auto& [key, job] : state.jobs) {
    if (job->array.value == 0) continue;
    auto& [records, running] = seen[job->array];
    ++records;
    if (job->is_on_nodes()) ++running;
  }
  std::uint64_t unsplit = 0;
  for (const auto& [key, array] : state.arrays) {
    const Job* rest = state.find_job(key);
    if (rest && rest->is_array_rest() && rest->state != JobState::ended) unsplit += array->rest.size() - 1;
    const auto& [records, running] = seen[key];
    if (records != array->records || running != array->running)
      return broken("array " + std::to_string(array->id.value) + ": its counts do not match its records");
  }
  if (unsplit != state.unsplit_tasks) return broken("the count of waiting array tasks is wrong");
  return std::nullopt;
}

std::optional<BrokenLaw> check_uses(const State& state) {
  for (const auto& [key, job] : state.jobs)
    if (job->state != JobState::ended && job->association != association_of(state, *job->spec))
      return broken(of(*job) + "counts for an association it does not name");
  std::map<UseKey, Use> counted = count_all(state);
  for (const auto& [key, use] : state.uses) {
    Use& sum = counted[key];
    sum.usage = use->usage;
    sum.wall = use->wall;
    sum.as_of = use->as_of;
    sum.period_usage = use->period_usage;
    sum.period_at = use->period_at;
    if (!(sum == *use)) return broken("an association or QOS counts other jobs than it has");
    if (use->is_nothing()) return broken("a count of nothing was kept");
    const bool ages = key.of == UseOf::association || key.of == UseOf::qos;
    if (ages && use->as_of.is_set() != (use->running > 0 || use->has_history()))
      return broken("usage without a time, or a time without usage");
  }
  if (counted.size() != state.uses.size()) return broken("a job counts for nothing");
  for (const auto& [id, association] : state.associations) {
    const BrokenRecord record{BrokenRecord::Kind::association, id.value};
    if (association->id != id || !(association->id < state.next_association))
      return broken("an association lies under another's number", record);
    if (association->parent.value != 0 && !state.associations.contains(association->parent))
      return broken("an association without its parent", record);
  }
  if (state.association_names.size() != state.associations.size()) return broken("two associations of one name");
  return std::nullopt;
}

bool recurs(const Job& job) { return !job.spec->extra_request().cron.empty(); }

// An entry of a crontab has one job, which is the user's own and recurs.
std::optional<BrokenLaw> check_crontab(const State& state, UserId uid, const Crontab& crontab) {
  const auto wrong = [&](const std::string& words) {
    return broken("the crontab of user " + std::to_string(uid.value) + ": " + words,
                  {BrokenRecord::Kind::crontab, uid.value});
  };
  if (crontab.text.empty()) return wrong("it is empty");
  std::set<JobKey> listed;
  for (const CrontabJob& entry : crontab.jobs) {
    const Job* job = state.find_job(entry.key);
    if (!job || !recurs(*job) || job->spec->owner->uid != uid) return wrong("it lists a job that is none of its own");
    if (!listed.insert(entry.key).second) return wrong("it lists a job twice");
  }
  return std::nullopt;
}

// A job that recurs has an entry in a crontab.
std::optional<BrokenLaw> check_recurring(const State& state, const Job& job) {
  if (job.state == JobState::ended || !recurs(job)) return std::nullopt;
  const auto* crontab = state.crontabs.find(job.spec->owner->uid);
  if (crontab && std::ranges::find((*crontab)->jobs, job.key, &CrontabJob::key) != (*crontab)->jobs.end())
    return std::nullopt;
  return broken(of(job) + "it recurs, and no crontab lists it");
}

std::optional<BrokenLaw> check_standing(const State& state) {
  for (const auto& [uid, crontab] : state.crontabs)
    if (auto wrong = check_crontab(state, uid, *crontab)) return wrong;
  for (const auto& [key, job] : state.jobs)
    if (auto wrong = check_recurring(state, *job)) return wrong;
  for (const auto& [id, trigger] : state.triggers)
    if (trigger->id != id || id >= state.next_trigger)
      return broken("trigger " + std::to_string(id.value) + " has another number",
                    {BrokenRecord::Kind::trigger, id.value});
  return std::nullopt;
}

std::optional<BrokenLaw> check_orders(const State& state, NodeIndex index, const Node& node) {
  if (node.resume_at.is_set() && !is_out_of_service(node))
    return broken_node(node, index, "it is in service and is to come back to it");
  if (node.resume_at.is_set() &&
      !state.deadlines.contains({node.resume_at, JobKey{index.value}, DeadlineKind::node_resume}))
    return broken_node(node, index, "it is to come back, and nothing says when");
  if (!std::ranges::includes(available_features_of(*node.def), features_of(*node.def)))
    return broken_node(node, index, "it has a feature active that it has not");
  return std::nullopt;
}

std::optional<BrokenLaw> check_all_orders(const State& state) {
  for (const auto& [index, node] : state.nodes)
    if (auto wrong = check_orders(state, index, *node)) return wrong;
  return std::nullopt;
}

bool is_there(const State& state, const DeadlineKey& due) {
  const auto number = static_cast<std::uint32_t>(due.key.value);
  if (due.kind == DeadlineKind::reservation) return state.reservations.contains(ReservationId{number});
  if (due.kind == DeadlineKind::node_resume)
    return state.nodes.contains(NodeIndex{number}) && state.node(NodeIndex{number}).resume_at == due.at;
  const Job* job = state.find_job(due.key);
  if (job && due.kind == DeadlineKind::forget) return forget_time(state, *job) == due.at;
  return job != nullptr;
}

std::optional<BrokenLaw> check_indexes(const State& state) {
  if (state.by_id.size() != state.jobs.size()) return broken("numbers that lead to no job");
  for (const auto& [place, nothing] : state.queue)
    if (!state.jobs.contains(place.key)) return broken("the queue names a job that is not there");
  for (const auto& [due, nothing] : state.deadlines)
    if (!is_there(state, due)) return broken("a deadline names what is not there");
  for (const auto& [uid, history] : state.run_histories)
    if (history.last == 0)
      return broken("user " + std::to_string(uid.value) + ": a history without a run",
                    {BrokenRecord::Kind::run_history, uid.value});
  return std::nullopt;
}

std::optional<BrokenLaw> check_one_job(const State& state, JobKey key, const Job& job) {
  if (key != job.key) return broken_job("a job lies under another's key", key);
  auto words = check_job(state, job);
  if (!words) words = check_components(state, job);
  return words ? broken_job(*std::move(words), key) : std::nullopt;
}

// What one decision may cost us at most: every share of every job on a node has to be looked at.
constexpr std::size_t shares_near_max = 256;

std::optional<BrokenLaw> check_near(const State& state, NodeIndex index, std::size_t& left) {
  const Node& node = state.node(index);
  if (auto wrong = check_orders(state, index, node)) return wrong;
  NodeSum sum;
  for (const JobKey key : node.jobs) {
    const Job* job = state.find_job(key);
    if (!job || !job->placement || !job->is_on_nodes())
      return broken("node " + node.def->name + ": it has a job that is not on it");
    const auto& shares = job->placement->shares;
    if (shares.size() > left) return left = 0, std::nullopt;
    left -= shares.size();
    for (const NodeShare& share : shares)
      if (share.node == index && !share.released) sum.add(node, *job, share);
  }
  sum.finish();
  return compare(node, sum);
}

}  // namespace

std::vector<BrokenLaw> broken_laws(const State& state) {
  std::vector<BrokenLaw> out;
  for (const auto& [key, job] : state.jobs)
    if (auto wrong = check_one_job(state, key, *job)) out.push_back(*std::move(wrong));
  // The others rely on what was just asked: that jobs on nodes have an allocation, and components each other.
  if (!out.empty()) return out;
  for (const auto check : {check_indexes, check_nodes, check_power, check_all_orders, check_ports, check_uses,
                           check_licences, check_steps, check_kept, check_standing, check_arrays})
    if (auto wrong = check(state)) out.push_back(*std::move(wrong));
  return out;
}

std::optional<std::string> broken_law(const State& state) {
  auto all = broken_laws(state);
  return all.empty() ? std::nullopt : std::optional{std::move(all.front().words)};
}

std::optional<std::string> broken_law_near(const State& state, const TouchedRecords& touched) {
  std::size_t left = shares_near_max;
  const auto words = [](const std::optional<BrokenLaw>& wrong) {
    return wrong ? std::optional{wrong->words} : std::nullopt;
  };
  for (const JobKey key : touched.jobs) {
    const Job* job = state.find_job(key);
    if (!job) continue;
    if (auto wrong = words(check_one_job(state, key, *job))) return wrong;
    if (auto wrong = words(check_recurring(state, *job))) return wrong;
    const std::size_t shares = job->is_on_nodes() ? job->placement->shares.size() : 0;
    if (shares > 0 && shares <= left && !job->is_component())
      if (auto wrong = words(check_boot(state, *job))) return wrong;
  }
  for (const UserId uid : touched.crontabs)
    if (const auto* crontab = state.crontabs.find(uid))
      if (auto wrong = words(check_crontab(state, uid, **crontab))) return wrong;
  for (const NodeIndex index : touched.nodes)
    if (left > 0 && state.nodes.contains(index))
      if (auto wrong = words(check_near(state, index, left))) return wrong;
  return std::nullopt;
}

}  // namespace millrace
