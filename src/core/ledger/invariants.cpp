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

// A step runs only while its attempt does, and every number is above those before it.
std::optional<std::string> check_steps(const State& state) {
  std::map<JobKey, std::uint32_t> ended;
  std::size_t running = 0;
  for (const auto& [key, step] : state.steps) {
    const std::string which = "step " + std::to_string(key.id) + " of job key " + std::to_string(key.job.value) + ": ";
    const Job* job = state.find_job(key.job);
    const StepTally* tally = state.step_tallies.find(key.job);
    if (!job || !tally) return which + "its job is gone";
    if (key.id != step->start.id || key.id != step->end.id) return which + "it lies under another's number";
    if (key.attempt > job->attempt ||
        (key.attempt == tally->attempt && key.id >= tally->next_id && key.id != interactive_step))
      return which + "a number that was never given out";
    if (state.running_steps.contains(key) != step->is_running())
      return which + "running, and not in that list (or the reverse)";
    if (step->is_running() && (job->attempt != key.attempt || !job->is_on_nodes()))
      return which + "it runs, and its attempt does not";
    if (!step->is_running() && step->end.at < step->start.at) return which + "it ended before it began";
    step->is_running() ? ++running : ++ended[key.job];
  }
  if (running != state.running_steps.size()) return "running steps that are not there";
  for (const auto& [key, tally] : state.step_tallies) {
    if (!state.jobs.contains(key)) return "steps of a job that is gone";
    if (tally.ended != ended[key] || tally.ended > ended_steps_max)
      return "job key " + std::to_string(key.value) + ": the count of ended steps is wrong";
  }
  return std::nullopt;
}

// What is kept is over, hidden from everybody else, and found by its number.
std::optional<std::string> check_kept(const State& state) {
  std::uint64_t rows = 0, names = 0;
  for (const auto& [number, kept] : state.kept) {
    const Job& job = *kept->job;
    const std::string which = "kept run of " + of(job);
    if (!(number < state.next_kept)) return which + "a number that was never given out";
    if (job.state != JobState::ended || !job.spec || !job.ended_at.is_set()) return which + "it is not over";
    if (job.outcome == Outcome::none && !kept->requeued) return which + "ended without an outcome";
    if (const Job* live = state.find_job(job.key); live && (!kept->requeued || !(job.attempt < live->attempt)))
      return which + "its job is not forgotten";
    if (!state.kept_names.contains({job.id, number})) return which + "nobody finds it";
    for (const SharedValue<Step>& step : kept->steps)
      if (step->is_running()) return which + "one of its steps goes on";
    rows += rows_of(*kept);
    names += 1 + (kept->array.value != 0 && kept->array != job.id ? 1 : 0) + (job.is_component() ? 1 : 0);
  }
  if (rows != state.kept_rows) return "the count of kept runs and steps is wrong";
  if (names != state.kept_names.size()) return "numbers that lead to no kept run";
  return std::nullopt;
}

// Who waits for nodes to be powered up, and what nodes that are not may have.
std::optional<std::string> check_power(const State& state) {
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    bool waits = false;
    for (const JobKey each : whole_of(job)) {
      const Job& one = state.job(each);
      if (one.state != JobState::running && one.state != JobState::suspended) continue;
      for (const NodeShare& share : one.placement->shares)
        waits = waits || (!share.released && !state.node(share.node).is_ready());
    }
    const bool may = job.state == JobState::running || job.state == JobState::suspended;
    if (job.boots != (may && waits))
      return of(job) +
             (job.boots ? "waits for nodes that are powered up" : "goes on while its nodes are not powered up");
  }
  for (const auto& [index, node] : state.nodes) {
    const NodePower& power = node->power;
    const bool timed = power.state == Power::going_down || power.state == Power::coming_up;
    if (power.due.is_set() != timed || (power.told && !timed))
      return "node " + node->def->name + ": its power changes without an end, or the reverse";
    if (power.state == Power::going_down && !node->jobs.empty())
      return "node " + node->def->name + ": it is powered down under its jobs";
    if (node->future && (!node->jobs.empty() || !node->is_on()))
      return "node " + node->def->name + ": it is only foreseen and yet in use";
  }
  return std::nullopt;
}

std::optional<std::string> check_nodes(const State& state) {
  struct Sum {
    Amounts amounts;
    NodeUse use;
    std::vector<JobKey> jobs;
    std::map<PartitionIndex, CpuBits> shared;  // CPUs of jobs that share them with others of their partition
    std::uint32_t suspended = 0;
    bool twice = false;  // a CPU or a device with two jobs
  };
  std::map<NodeIndex, Sum> sums;
  for (const auto& [key, nothing] : state.active)
    for (const NodeShare& share : state.job(key).placement->shares) {
      if (share.released) continue;
      const Job& job = state.job(key);
      Sum& sum = sums[share.node];
      Amounts amounts = share.amounts();
      if (!job.holds_cpus() || job.placement->shared) amounts.cpus = 0;
      sum.amounts += amounts;
      if (job.holds_cpus() && job.placement->shared) add_bits(sum.shared[job.spec->partition], share.detail->cpus);
      if (job.holds_cpus() && !job.placement->shared) sum.twice = !add_cpus(sum.use, share) || sum.twice;
      sum.twice = !add_devices(sum.use, *state.node(share.node).def, share) || sum.twice;
      sum.suspended += job.state == JobState::suspended ? 1 : 0;
      sum.jobs.push_back(key);
    }
  for (auto& [index, sum] : sums)
    for (const auto& [partition, bits] : sum.shared) {
      sum.twice = have_common_bits(sum.use.cpus, bits) || sum.twice;
      add_bits(sum.use.cpus, bits);
      sum.amounts.cpus += count_bits(bits);
    }
  for (const auto& [index, node] : state.nodes) {
    const Sum& sum = sums[index];
    if (sum.amounts != Amounts{node->used_cpus.value, node->used_memory.value, node->used_gres} ||
        sum.jobs != node->jobs)
      return "node " + node->def->name + ": what is used is not what its jobs hold";
    if (sum.suspended != node->suspended) return "node " + node->def->name + ": the count of suspended jobs is wrong";
    if (sum.twice) return "node " + node->def->name + ": a CPU or a device is given to two jobs";
    if (sum.use != node->use)
      return "node " + node->def->name + ": the CPUs and devices in use are not those of its jobs";
  }
  return std::nullopt;
}

// A port of a node is of one job.
std::optional<std::string> check_ports(const State& state) {
  std::set<std::pair<NodeIndex, std::uint32_t>> held;
  for (const auto& [key, nothing] : state.active) {
    const Placement& placement = *state.job(key).placement;
    if (placement.ports.empty()) continue;
    const auto ports = parse_index_set(placement.ports, UINT16_MAX);
    if (!ports) return of(state.job(key)) + "its ports are none";
    for (const NodeShare& share : placement.shares) {
      bool twice = false;
      if (!share.released)
        ports->for_each([&](std::uint32_t port) { twice = !held.insert({share.node, port}).second || twice; });
      if (twice) return of(state.job(key)) + "it has ports of another job on node " + state.node(share.node).def->name;
    }
  }
  return std::nullopt;
}

std::optional<std::string> check_licences(const State& state) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& [key, nothing] : state.active)
    for (const LicenceAsk& held : state.job(key).placement->licences) sums[held.name] += held.count;
  std::vector<LicenceAsk> used;
  for (const auto& [name, count] : sums) used.push_back({name, static_cast<std::uint32_t>(count)});
  if (used != *state.licences_used) return "the licences in use are not those of the jobs";
  return std::nullopt;
}

std::optional<std::string> check_arrays(const State& state) {
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
      return "array " + std::to_string(array->id.value) + ": its counts do not match its records";
  }
  if (unsplit != state.unsplit_tasks) return "the count of waiting array tasks is wrong";
  return std::nullopt;
}

std::optional<std::string> check_uses(const State& state) {
  for (const auto& [key, job] : state.jobs)
    if (job->state != JobState::ended && job->association != association_of(state, *job->spec))
      return of(*job) + "counts for an association it does not name";
  std::map<UseKey, Use> counted = count_all(state);
  for (const auto& [key, use] : state.uses) {
    Use& sum = counted[key];
    sum.usage = use->usage;
    sum.wall = use->wall;
    sum.as_of = use->as_of;
    sum.period_usage = use->period_usage;
    sum.period_at = use->period_at;
    if (!(sum == *use)) return "an association or QOS counts other jobs than it has";
    if (use->is_nothing()) return "a count of nothing was kept";
    const bool ages = key.of == UseOf::association || key.of == UseOf::qos;
    if (ages && use->as_of.is_set() != (use->running > 0 || use->has_history()))
      return "usage without a time, or a time without usage";
  }
  if (counted.size() != state.uses.size()) return "a job counts for nothing";
  for (const auto& [id, association] : state.associations) {
    if (association->id != id || !(association->id < state.next_association))
      return "an association lies under another's number";
    if (association->parent.value != 0 && !state.associations.contains(association->parent))
      return "an association without its parent";
  }
  if (state.association_names.size() != state.associations.size()) return "two associations of one name";
  return std::nullopt;
}

// An entry of a crontab has one job, and a job that comes again has one entry.
std::optional<std::string> check_standing(const State& state) {
  std::set<JobKey> listed;
  for (const auto& [uid, crontab] : state.crontabs) {
    if (crontab->text.empty()) return "user " + std::to_string(uid.value) + ": an empty crontab";
    for (const CrontabJob& entry : crontab->jobs) {
      const Job* job = state.find_job(entry.key);
      if (!job || job->spec->extra_request().cron.empty() || job->spec->owner->uid != uid)
        return "a crontab names a job that is none of its own";
      if (!listed.insert(entry.key).second) return "a job has two entries of a crontab";
    }
  }
  for (const auto& [key, job] : state.jobs)
    if (job->state != JobState::ended && !job->spec->extra_request().cron.empty() && !listed.contains(key))
      return "a job comes again that is in no crontab";
  for (const auto& [id, trigger] : state.triggers)
    if (trigger->id != id || id >= state.next_trigger)
      return "trigger " + std::to_string(id.value) + " is of another number";
  return std::nullopt;
}

std::optional<std::string> check_orders(const State& state) {
  for (const auto& [index, node] : state.nodes) {
    const std::string name = "node " + node->def->name;
    if (node->resume_at.is_set() && !is_out_of_service(*node)) return name + " is in service and is to come back to it";
    if (node->resume_at.is_set() &&
        !state.deadlines.contains({node->resume_at, JobKey{index.value}, DeadlineKind::node_resume}))
      return name + " is to come back, and nothing says when";
    if (!std::ranges::includes(available_features_of(*node->def), features_of(*node->def)))
      return name + " has a feature active that it has not";
  }
  return std::nullopt;
}

bool is_there(const State& state, const DeadlineKey& due) {
  const auto number = static_cast<std::uint32_t>(due.key.value);
  if (due.kind == DeadlineKind::reservation) return state.reservations.contains(ReservationId{number});
  if (due.kind == DeadlineKind::node_resume)
    return state.nodes.contains(NodeIndex{number}) && state.node(NodeIndex{number}).resume_at == due.at;
  return state.jobs.contains(due.key);
}

}  // namespace

std::optional<std::string> broken_law(const State& state) {
  for (const auto& [key, job] : state.jobs) {
    if (key != job->key) return "a job lies under another's key";
    if (auto broken = check_job(state, *job)) return broken;
    if (auto broken = check_components(state, *job)) return broken;
  }
  if (state.by_id.size() != state.jobs.size()) return "numbers that lead to no job";
  for (const auto& [place, nothing] : state.queue)
    if (!state.jobs.contains(place.key)) return "the queue names a job that is not there";
  for (const auto& [due, nothing] : state.deadlines)
    if (!is_there(state, due)) return "a deadline names what is not there";
  for (const auto& [uid, history] : state.run_histories)
    if (history.last == 0) return "user " + std::to_string(uid.value) + ": a history without a run";
  if (auto broken = check_nodes(state)) return broken;
  if (auto broken = check_power(state)) return broken;
  if (auto broken = check_orders(state)) return broken;
  if (auto broken = check_ports(state)) return broken;
  if (auto broken = check_uses(state)) return broken;
  if (auto broken = check_licences(state)) return broken;
  if (auto broken = check_steps(state)) return broken;
  if (auto broken = check_kept(state)) return broken;
  if (auto broken = check_standing(state)) return broken;
  return check_arrays(state);
}

std::uint64_t fingerprint(const State& state) {
  std::uint64_t sum = mix_bits(state.version) ^ state.epoch.value ^ static_cast<std::uint64_t>(state.slice_due.value);
  const auto add = [&](std::uint64_t value) { sum = mix_bits(sum ^ value) + 0x9e3779b97f4a7c15ULL; };
  for (const auto& [key, job] : state.jobs) {
    for (const std::uint64_t v :
         {key.value, std::uint64_t{job->id.value}, static_cast<std::uint64_t>(job->state),
          static_cast<std::uint64_t>(job->outcome), std::uint64_t{job->attempt.value}, std::uint64_t{job->priority},
          static_cast<std::uint64_t>(job->eligible_at.value), static_cast<std::uint64_t>(job->started_at.value),
          static_cast<std::uint64_t>(job->ended_at.value), std::uint64_t{job->time_limit_minutes},
          name_bits(job->spec->name), name_bits(job->spec->std_out)})
      add(v);
    if (job->placement)
      for (const NodeShare& share : job->placement->shares)
        add(mix_bits(share.node.value) ^ static_cast<std::uint64_t>(share.cpus.value) ^
            (share.released ? 1ULL << 40 : 0) ^ (share.exited ? 1ULL << 41 : 0) ^ (share.given_up ? 1ULL << 42 : 0));
    if (job->boots) add(0xb007);
    if (job->placement && !job->placement->ports.empty()) add(name_bits(job->placement->ports));
    if (job->requeues > 0 || job->held_why != HeldWhy::asked || job->over_time_minutes > 0)
      add(std::uint64_t{job->over_time_minutes} << 16 | std::uint64_t{job->requeues} << 8 |
          static_cast<std::uint64_t>(job->held_why));
    if (job->used)
      add(mix_bits(static_cast<std::uint64_t>(job->used->user_us)) ^
          static_cast<std::uint64_t>(job->used->max_rss_bytes));
    if (job->program != JobProgram::none || job->launch_failed)
      add(static_cast<std::uint64_t>(job->program) << 1 | (job->launch_failed ? 1 : 0));
    if (job->het) add(mix_bits(job->het->leader.value) ^ (std::uint64_t{job->het->offset} << 32 | job->het->size));
    if (job->placement && (job->placement->supervised || job->placement->stops_alone))
      add(job->placement->stops_alone ? 3 : 2);
    if (job->suspension)
      add(mix_bits(static_cast<std::uint64_t>(job->suspension->changed_at.value)) ^
          static_cast<std::uint64_t>(job->suspension->ran_before.value) ^
          (job->suspension->wants_cpus ? 1ULL << 60 : 0) ^ (job->suspension->cpus_free ? 1ULL << 61 : 0));
    if (job->placement)
      for (const LicenceAsk& held : job->placement->licences) add(name_bits(held.name) ^ held.count);
  }
  for (const auto& [index, node] : state.nodes) {
    add(static_cast<std::uint64_t>(node->used_cpus.value) << 8 | static_cast<std::uint64_t>(node->condition) << 1 |
        static_cast<std::uint64_t>(node->drain));
    add(name_bits(node->boot_id) ^ name_bits(node->reason));
    if (node->fail || node->reboot != Reboot::none || node->drained_for_reboot)
      add(static_cast<std::uint64_t>(node->reboot) << 2 | static_cast<std::uint64_t>(node->fail) << 1 |
          (node->drained_for_reboot ? 1 : 0));
    if (node->power != NodePower{} || node->future)
      add(mix_bits(static_cast<std::uint64_t>(node->power.due.value)) ^
          static_cast<std::uint64_t>(node->power.state) << 8 ^
          static_cast<std::uint64_t>((node->power.told ? 1 : 0) | (node->power.down_wanted ? 2 : 0) |
                                     (node->power.closed ? 4 : 0) | (node->power.up_wanted ? 8 : 0) |
                                     (node->future ? 16 : 0)));
    if (node->def->kind != NodeKind::normal)
      add(static_cast<std::uint64_t>(node->def->kind) << 1 | (node->configured ? 1 : 0));
    add(node->def->weight ^ name_bits(node->def->features));
    if (node->def->active_features) add(name_bits(*node->def->active_features));
    if (node->resume_at.is_set()) add(static_cast<std::uint64_t>(node->resume_at.value));
    if (!node->instance_id.empty() || !node->instance_type.empty())
      add(name_bits(node->instance_id) ^ mix_bits(name_bits(node->instance_type)));
    for (const std::uint64_t word : node->use.cpus) add(word);
    for (std::size_t slot = 0; slot < node->def->kinds.size() && slot < gres_kinds_max; ++slot)
      add(mix_bits(node->use.devices[slot]) ^ static_cast<std::uint64_t>(node->used_gres[slot]));
  }
  for (const Partition& partition : *state.partitions) {
    const PartitionDef& def = partition.def;
    add(name_bits(def.name) ^ static_cast<std::uint64_t>(def.availability) << 8 ^
        static_cast<std::uint64_t>((partition.configured ? 1 : 0) | (partition.changed ? 2 : 0) |
                                   (def.is_default ? 4 : 0)));
    add(mix_bits(def.priority_tier) ^ def.max_time_minutes ^ std::uint64_t{def.max_nodes} << 32 ^
        (partition.written ? mix_bits(partition.written->priority_tier) ^ partition.written->max_nodes : 0));
    for (const NodeIndex node : partition.nodes) add(node.value);
  }
  for (const auto& [id, reservation] : state.reservations) {
    add(id.value ^ name_bits(reservation->name) ^ reservation->flags);
    add(static_cast<std::uint64_t>(reservation->start.value) ^
        mix_bits(static_cast<std::uint64_t>(reservation->end.value)));
    for (const std::uint32_t node : reservation->nodes) add(node);
  }
  for (const auto& [uid, history] : state.run_histories)
    add(mix_bits(uid.value) ^ (std::uint64_t{history.last} << 32 | history.before));
  for (const auto& [due, nothing] : state.deadlines) add(static_cast<std::uint64_t>(due.at.value) ^ due.key.value);
  for (const auto& [place, nothing] : state.queue) add(place.key.value);
  for (const auto& [key, step] : state.steps) {
    add(mix_bits(KeyBits<StepKey>::of(key)) ^ name_bits(step->start.name) ^
        static_cast<std::uint64_t>(step->start.at.value));
    add(static_cast<std::uint64_t>(step->end.at.value) ^ static_cast<std::uint64_t>(step->end.outcome) << 56 ^
        step->end.exit_code ^ step->end.exit_signal);
  }
  for (const auto& [uid, crontab] : state.crontabs) {
    add(uid.value ^ name_bits(crontab->text));
    for (const CrontabJob& job : crontab->jobs) add(mix_bits(job.key.value) ^ job.line);
  }
  for (const auto& [id, trigger] : state.triggers) {
    add(mix_bits(id.value) ^ name_bits(trigger->program) ^ name_bits(trigger->nodes) ^
        static_cast<std::uint64_t>(trigger->event) << 40 ^ trigger->job.value);
    for (const TriggerDue& due : trigger->due) add(static_cast<std::uint64_t>(due.at.value) ^ name_bits(due.about));
  }
  for (const auto& [number, kept] : state.kept) {
    const Job& job = *kept->job;
    add(mix_bits(number.value) ^ job.key.value ^ static_cast<std::uint64_t>(kept->at.value));
    add(static_cast<std::uint64_t>(job.ended_at.value) ^ static_cast<std::uint64_t>(job.outcome) << 56 ^ job.exit_code ^
        (std::uint64_t{job.attempt.value} << 32) ^ job.exit_signal);
    add(name_bits(job.spec->name) ^ mix_bits(name_bits(job.spec->std_out)) ^ kept->array.value ^
        (kept->requeued ? 1ULL << 40 : 0) ^ (kept->array_well ? 1ULL << 41 : 0) ^
        std::uint64_t{kept->rest.size()} << 42);
    if (job.used)
      add(static_cast<std::uint64_t>(job.used->user_us) ^ static_cast<std::uint64_t>(job.used->max_rss_bytes));
    if (job.placement)
      for (const NodeShare& share : job.placement->shares)
        add(mix_bits(share.node.value) ^ static_cast<std::uint64_t>(share.cpus.value));
    for (const SharedValue<Step>& step : kept->steps)
      add(step->start.id ^ static_cast<std::uint64_t>(step->end.at.value) ^ name_bits(step->start.name));
  }
  for (const auto& [key, tally] : state.step_tallies)
    add(key.value ^ (std::uint64_t{tally.next_id} << 32 | tally.ended));
  for (const auto& [id, each] : state.associations)
    add(id.value ^ name_bits(each->account) ^ mix_bits(name_bits(each->user)) ^
        (static_cast<std::uint64_t>(each->shares) << 32));
  for (const AccountUser& user : *state.account_users)
    add(name_bits(user.name) ^ mix_bits(name_bits(user.default_wckey)) ^
        static_cast<std::uint64_t>(user.admin_level) << 60 ^ user.wckeys.size());
  for (const auto& [id, each] : state.transactions)
    add(id.value ^ name_bits(each->actor) ^ mix_bits(name_bits(each->info)));
  for (const auto& [id, each] : state.qos)
    add(id.value ^ name_bits(each->name) ^ (static_cast<std::uint64_t>(each->priority) << 32));
  for (const auto& [key, use] : state.uses) {
    add(KeyBits<UseKey>::of(key) ^ use->submitted ^ (static_cast<std::uint64_t>(use->running) << 32));
    add(static_cast<std::uint64_t>(use->as_of.value));
    for (const Fixed& usage : use->usage)
      add(static_cast<std::uint64_t>(usage.raw) ^ mix_bits(static_cast<std::uint64_t>(usage.raw >> 64)));
  }
  return sum;
}

}  // namespace millrace
