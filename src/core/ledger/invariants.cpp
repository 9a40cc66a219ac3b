// src/core/ledger/invariants.cpp - see invariants.h.
#include "core/ledger/invariants.h"

#include <algorithm>
#include <map>

#include "base/index_set.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/laws.h"
#include "core/ledger/licences.h"

namespace millrace {
namespace {

Law check_steps(const State& state) {
  std::map<JobKey, std::uint32_t> ended;
  std::size_t running = 0;
  for (const auto& [key, step] : state.steps) {
    if (auto wrong = check_step(state, key, *step)) return wrong;
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

Law check_kept(const State& state) {
  std::uint64_t rows = 0, names = 0;
  for (const auto& [number, kept] : state.kept) {
    if (auto wrong = check_kept_run(state, number, *kept)) return wrong;
    rows += rows_of(*kept);
    names += 1 + (kept->array.value != 0 && kept->array != kept->job->id ? 1 : 0) + (kept->job->is_component() ? 1 : 0);
  }
  if (rows != state.kept_rows) return broken("the count of kept runs and steps is wrong");
  if (names != state.kept_names.size()) return broken("numbers that lead to no kept run");
  return std::nullopt;
}

Law check_boots(const State& state) {
  for (const auto& [key, nothing] : state.active)
    if (auto wrong = check_boot(state, state.job(key))) return wrong;
  return std::nullopt;
}

// The jobs of each node are those that hold something of it, no fewer.
Law check_nodes(const State& state) {
  std::map<NodeIndex, std::size_t> jobs;
  for (const auto& [key, nothing] : state.active)
    for (const NodeShare& share : state.job(key).placement->shares)
      if (!share.released) ++jobs[share.node];
  for (const auto& [index, node] : state.nodes) {
    if (jobs[index] != node->jobs.size())
      return broken("node " + node->def->name + ": what is used is not what its jobs hold");
    for (const auto check : {check_orders, check_sum})
      if (auto wrong = check(state, index, *node)) return wrong;
    if (auto wrong = check_power(index, *node)) return wrong;
  }
  return std::nullopt;
}

// A port of a node is of one job.
Law check_ports(const State& state) {
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

Law check_licences(const State& state) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& [key, nothing] : state.active)
    for (const LicenceAsk& held : state.job(key).placement->licences) sums[held.name] += held.count;
  std::vector<LicenceAsk> used;
  for (const auto& [name, count] : sums) used.push_back({name, static_cast<std::uint32_t>(count)});
  if (used != *state.licences_used) return broken("the licences in use are not those of the jobs");
  return std::nullopt;
}

Law check_arrays(const State& state) {
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

Law check_uses(const State& state) {
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
    if (auto wrong = check_use(state, key, *use)) return wrong;
  }
  if (counted.size() != state.uses.size()) return broken("a job counts for nothing");
  return std::nullopt;
}

// Every record of a table by itself.
template <class Table, class Check>
void check_each(const State& state, const Table& table, Check check, std::vector<BrokenLaw>& out) {
  for (const auto& [key, record] : table)
    if (auto wrong = check(state, key, *record)) out.push_back(*std::move(wrong));
}

Law check_standing(const State& state) {
  for (const auto& [key, job] : state.jobs)
    if (auto wrong = check_recurring(state, *job)) return wrong;
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

Law check_indexes(const State& state) {
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

}  // namespace

std::vector<BrokenLaw> broken_laws(const State& state) {
  std::vector<BrokenLaw> out;
  check_each(state, state.jobs, check_job, out);
  for (const auto& [key, job] : state.jobs)
    if (job->is_het_leader())
      if (auto wrong = check_whole(state, *job)) out.push_back(*std::move(wrong));
  check_each(state, state.associations, check_association, out);
  // The others rely on what was just asked: that jobs on nodes have an allocation, components each other, and that
  // every association leads to the top.
  if (!out.empty()) return out;
  check_each(state, state.crontabs, check_crontab, out);
  check_each(state, state.triggers, check_trigger, out);
  check_each(state, state.reservations, check_reservation, out);
  check_each(state, state.qos, check_qos, out);
  for (const auto check : {check_indexes, check_nodes, check_boots, check_ports, check_uses, check_licences,
                           check_steps, check_kept, check_standing, check_arrays})
    if (auto wrong = check(state)) out.push_back(*std::move(wrong));
  return out;
}

std::optional<std::string> broken_law(const State& state) {
  auto all = broken_laws(state);
  return all.empty() ? std::nullopt : std::optional{std::move(all.front().words)};
}

namespace {

template <class Table, class Ids, class Check>
Law check_those(const State& state, const Table& table, const Ids& ids, Check check) {
  for (const auto& id : ids)
    if (const auto* record = table.find(id))
      if (auto wrong = check(state, id, **record)) return wrong;
  return std::nullopt;
}

Law check_touched_jobs(const State& state, const TouchedRecords& touched) {
  for (const JobKey key : touched.jobs) {
    const Job* job = state.find_job(key);
    if (!job) continue;
    if (auto wrong = check_job(state, key, *job)) return wrong;
    if (auto wrong = check_whole(state, *job)) return wrong;
    if (auto wrong = check_recurring(state, *job)) return wrong;
    if (job->state != JobState::ended && job->association != association_of(state, *job->spec))
      return broken_job(of(*job) + "counts for an association it does not name", key);
    const bool may_boot = job->boots || touched.moved.contains(key);
    if (!may_boot || !job->is_on_nodes() || job->is_component()) continue;
    if (auto wrong = check_boot(state, *job)) return wrong;
  }
  return std::nullopt;
}

Law check_touched_nodes(const State& state, const TouchedRecords& touched) {
  for (const NodeIndex index : touched.nodes) {
    const auto* node = state.nodes.find(index);
    if (!node) continue;
    for (const auto check : {check_orders, check_sum})
      if (auto wrong = check(state, index, **node)) return wrong;
    if (auto wrong = check_power(index, **node)) return wrong;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_law_near(const State& state, const TouchedRecords& touched) {
  Law wrong = check_touched_jobs(state, touched);
  if (!wrong) wrong = check_touched_nodes(state, touched);
  if (!wrong) wrong = check_those(state, state.crontabs, touched.crontabs, check_crontab);
  if (!wrong) wrong = check_those(state, state.steps, touched.steps, check_step);
  if (!wrong) wrong = check_those(state, state.kept, touched.kept_runs, check_kept_run);
  if (!wrong) wrong = check_those(state, state.triggers, touched.triggers, check_trigger);
  if (!wrong) wrong = check_those(state, state.reservations, touched.reservations, check_reservation);
  if (!wrong) wrong = check_those(state, state.associations, touched.associations, check_association);
  if (!wrong) wrong = check_those(state, state.qos, touched.qos, check_qos);
  if (!wrong) wrong = check_those(state, state.uses, touched.uses, check_use);
  return wrong ? std::optional{std::move(wrong->words)} : std::nullopt;
}

}  // namespace millrace
