// src/controller/views/views.cpp - see views.h.
#include "controller/views/views.h"

#include <algorithm>
#include <iterator>

#include "base/hostlist.h"
#include "controller/requests/job_extras.h"
#include "controller/views/job_times.h"
#include "controller/views/reason_words.h"
#include "controller/views/resources.h"
#include "core/admission/power_nodes.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/job_size.h"
#include "core/ledger/limits.h"
#include "core/ledger/obstacle.h"
#include "core/model/assign.h"
#include "core/model/file_name.h"
#include "core/model/fit.h"
#include "core/model/layout.h"
#include "core/model/withheld.h"

namespace millrace {
namespace {

std::string names_to_hostlist(const State& state, const auto& indexes, auto index_of) {
  std::vector<std::string> names;
  for (const auto& each : indexes) names.push_back(state.node(index_of(each)).def->name);
  return compress_hostlist(names);
}

std::optional<LimitHit> limit_of(const ReadView& snapshot, const Job& job) {
  if (job.state != JobState::pending || !limits_enforced(snapshot.state)) return std::nullopt;
  return whole_start_hit(snapshot.state, job, snapshot.now);
}

std::string preempt_words(PreemptMode mode, bool gang) {
  const char* word = mode == PreemptMode::cancel    ? "CANCEL"
                     : mode == PreemptMode::requeue ? "REQUEUE"
                     : mode == PreemptMode::suspend ? "SUSPEND"
                                                    : "OFF";
  if (!gang) return word;
  return mode == PreemptMode::off || mode == PreemptMode::cluster ? "GANG" : std::string{"GANG,"} + word;
}

std::string shown_dependencies(const State& state, const Job& job) {
  if (!job.dependencies) return {};
  std::string out;
  for (const Dependency& dependency : job.dependencies->list) {
    if (dependency.state == DependencyState::fulfilled) continue;
    if (!out.empty()) out += job.dependencies->any ? '?' : ',';
    out += kind_word(dependency.kind);
    if (dependency.kind != DependencyKind::singleton) {
      out += ":" + std::to_string(dependency.shown.value);
      if (dependency.task)
        out += "_" + std::to_string(*dependency.task);
      else if (state.find_array(dependency.target))
        out += "_*";
      if (dependency.delay_minutes > 0) out += "+" + std::to_string(dependency.delay_minutes);
    }
    out += dependency.state == DependencyState::failed ? "(failed)" : "(unfulfilled)";
  }
  return out;
}

NameFacts facts_of(const State& state, const Job& job, JobId array) {
  NameFacts facts;
  facts.job_id = job.id.value;
  if (array.value != 0) {
    facts.array_job_id = array.value;
    facts.array_task = job.array_task;
  }
  facts.batch = job.spec->is_batch();
  if (job.placement) facts.node_name = state.node(job.placement->shares.front().node).def->name;
  facts.restarts = job.attempt.value;
  facts.user_name = job.spec->owner->user_name;
  facts.job_name = job.spec->name;
  return facts;
}

void show_files(const State& state, const Job& job, JobId array, wire::JobView& out) {
  const JobSpec& spec = *job.spec;
  const RareRequest& rare = spec.rare_request();
  const NameFacts facts = facts_of(state, job, array);
  const auto expanded = [&](const std::string& pattern) {
    return under_directory(expand_pattern(pattern, facts), spec.work_dir);
  };
  if (spec.is_batch() && !spec.allocation_only) {
    out.set_std_out(expanded(spec.std_out.empty() ? std::string{default_output_pattern(facts)} : spec.std_out));
    if (!rare.std_err.empty()) out.set_std_err(expanded(rare.std_err));
    out.set_std_in(rare.std_in.empty() ? "/dev/null" : expanded(rare.std_in));
    out.set_std_out_pattern(under_directory(
        spec.std_out.empty() ? std::string{default_output_pattern(facts)} : spec.std_out, spec.work_dir));
    if (!rare.std_err.empty()) out.set_std_err_pattern(under_directory(rare.std_err, spec.work_dir));
    out.set_std_in_pattern(rare.std_in.empty() ? "/dev/null" : under_directory(rare.std_in, spec.work_dir));
  }
  out.set_command(spec.command);
  out.set_submit_line(spec.submit_line);
  out.set_container(rare.container);
  out.set_work_dir(spec.work_dir);
}

void show_request(const ReadView& snapshot, const Job& job, wire::JobView& out) {
  const State& state = snapshot.state;
  const JobSpec& spec = *job.spec;
  const RareRequest& rare = spec.rare_request();
  out.set_account(spec.account);
  out.set_association(association_of(state, spec).value);  // also of one that has ended
  const Qos* qos = state.find_qos(job.qos);
  out.set_qos(qos ? qos->name : rare.qos);
  out.set_comment(rare.comment);
  out.set_nice(spec.nice);
  out.set_dependency(shown_dependencies(state, job));
  out.set_requeue(spec.requeue);
  out.set_restarts(job.attempt.value);
  out.set_batch(spec.is_batch() && !spec.allocation_only);
  out.set_submit_host(spec.owner->submit_host);
  out.set_submit_sid(spec.submit_sid);
  out.set_required_nodes(hostlist_of(state, rare.required_nodes));
  out.set_excluded_nodes(hostlist_of(state, rare.excluded_nodes));
  out.set_max_node_count(spec.max_nodes);
  out.set_tasks(task_count(job));
  out.set_cpus_per_task(spec.cpus_per_task);
  out.set_cpus_per_task_asked(spec.cpus_per_task_asked);
  out.set_tasks_per_node(spec.tasks_per_node);
  const std::uint32_t per_node =
      std::max({spec.min_cpus_per_node, std::max(spec.tasks_per_node, 1u) * spec.cpus_per_task});
  out.set_min_cpus_per_node(per_node);
  if (spec.memory_per_node) out.set_memory_per_node_mib(static_cast<std::uint64_t>(spec.memory_per_node->value));
  if (spec.memory_per_cpu) out.set_memory_per_cpu_mib(static_cast<std::uint64_t>(spec.memory_per_cpu->value));
  Mebibytes whole{0};
  for (const NodeIndex index : state.partition(spec.partition).nodes) {
    whole = state.node(index).def->usable_memory();
    break;
  }
  out.set_requested_memory_mib(static_cast<std::uint64_t>(requested_memory(spec, whole).value));
  out.set_exclusive(spec.exclusive);
  out.set_oversubscribe(spec.oversubscribe);
  if (spec.extras) show_extras(*spec.extras, *out.mutable_extras());
  out.set_user_name(spec.owner->user_name);
  out.set_group_name(spec.owner->group_name);
}

void show_progress(const ReadView& snapshot, const Job& job, wire::JobView& out) {
  const State& state = snapshot.state;
  out.set_gid(job.spec->owner->gid.value);
  out.set_submit_at_us(job.submitted_at.value);
  // Held jobs are not eligible, and the rest of an array never as a whole; waiting counts (accrues) all the same.
  const Time accrues = job.hold == Hold::none ? job.eligible_at : Time{};
  out.set_accrue_at_us(accrues.is_set() ? std::max(accrues, job.spec->extra_request().accrue_from).value : 0);
  const bool begins_later = job.state == JobState::pending && !job.eligible_at.is_set() && job.begin_at > snapshot.now;
  out.set_eligible_at_us(begins_later ? job.begin_at.value : job.is_array_rest() ? 0 : accrues.value);
  out.set_exit_code(job.exit_code);
  out.set_exit_signal(job.exit_signal);
  out.set_last_evaluated_us(job.state == JobState::pending ? snapshot.plan->made_at.value : job.started_at.value);
  if (job.failed_node) out.set_failed_node(state.node(*job.failed_node).def->name);
  out.set_job_key_low(static_cast<std::uint32_t>(job.key.value));
  Cpus cpus;
  Mebibytes memory;
  if (job.placement) {
    for (const NodeShare& share : job.placement->shares) {
      if (share.lost) continue;
      cpus += share.cpus;
      memory += share.memory;
      const NodeDef& def = *state.node(share.node).def;
      out.add_cpus_per_allocated_node(cpu_count_seen(def, *job.spec, share));
      if (const CpuBits seen = cpus_seen(def, *job.spec, share); !seen.empty())
        out.add_cpu_ids_per_allocated_node(format_bits(seen));
    }
    out.set_batch_host(state.node(job.placement->shares.front().node).def->name);
    out.set_planned_by_backfill(job.placement->by_backfill);
    out.set_resized_at_us(job.placement->resized_at.value);
    out.set_allocated_memory_mib(static_cast<std::uint64_t>(memory.value));
  }
  const Cpus asked = requested_cpus(*job.spec);
  out.set_requested_cpus(static_cast<std::uint32_t>(asked.value));
  out.set_requested_nodes(std::max(job.spec->min_nodes, 1u));
  out.set_cpus(static_cast<std::uint32_t>((job.placement ? cpus : asked).value));
}

}  // namespace

const char* kind_word(DependencyKind kind) {
  switch (kind) {
    case DependencyKind::after:
      return "after";
    case DependencyKind::afterany:
      return "afterany";
    case DependencyKind::afterok:
      return "afterok";
    case DependencyKind::afternotok:
      return "afternotok";
    case DependencyKind::singleton:
      return "singleton";
    case DependencyKind::aftercorr:
      return "aftercorr";
  }
  return "";
}

std::string hostlist_of(const State& state, const std::vector<NodeShare>& shares) {
  return names_to_hostlist(state, shares, [](const NodeShare& share) { return share.node; });
}

void show_lost(const State& state, const Job& job, wire::JobProgress& out) {
  const auto& shares = job.placement->shares;
  const auto failed = [](const NodeShare& share) { return share.lost && !share.given_up; };
  if (std::ranges::none_of(shares, failed)) return;
  std::vector<NodeShare> lost;
  std::ranges::copy_if(shares, std::back_inserter(lost), failed);
  out.set_lost_nodes(hostlist_of(state, lost));
  const auto ranks = ranks_by_node(*job.spec, shares);
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (failed(shares[i]))
      for (const std::uint32_t rank : ranks[i]) out.add_lost_tasks(rank);
}

std::vector<NodeShare> left_of(const Placement& placement) {
  std::vector<NodeShare> out;
  std::ranges::copy_if(placement.shares, std::back_inserter(out), [](const NodeShare& share) { return !share.lost; });
  return out;
}

std::string hostlist_of(const State& state, const std::vector<std::uint32_t>& nodes) {
  return names_to_hostlist(state, nodes, [](std::uint32_t index) { return NodeIndex{index}; });
}

wire::JobStateName shown_state(const Job& job) {
  if (job.state == JobState::pending) return wire::PENDING;
  if (job.state == JobState::suspended) return wire::SUSPENDED;
  switch (job.outcome) {
    case Outcome::none:
      return wire::RUNNING;
    case Outcome::completed:
      return job.state == JobState::running ? wire::RUNNING : wire::COMPLETED;
    case Outcome::failed:
      return job.state == JobState::running ? wire::RUNNING : wire::FAILED;
    case Outcome::cancelled:
      return wire::CANCELLED;
    case Outcome::timeout:
      return wire::TIMEOUT;
    case Outcome::deadline:
      return wire::DEADLINE;
    case Outcome::node_fail:
      return wire::NODE_FAIL;
    case Outcome::preempted:
      return wire::PREEMPTED;
    case Outcome::out_of_memory:
      return job.state == JobState::running ? wire::RUNNING : wire::OUT_OF_MEMORY;
  }
  return wire::RUNNING;
}

// Placed, and what has to run before it is not done everywhere.
static bool is_configuring(const ReadView& snapshot, const Job& job) {
  if (job.state != JobState::running) return false;
  const auto& prologs = snapshot.observed->in_prolog;
  return job.program == JobProgram::prolog || job.boots ||
         std::ranges::any_of(job.placement->shares, [&](const NodeShare& share) {
           const auto there = prologs.find(share.node);
           return there != prologs.end() && there->second.contains(job.key);
         });
}

std::string shown_reason(const ReadView& snapshot, const Job& job) {
  if (is_configuring(snapshot, job)) return slurm_word(job.boots ? Reason::none : Reason::prolog);
  if (job.state == JobState::running || job.state == JobState::suspended) return slurm_word(Reason::none);
  if (job.state != JobState::pending) return end_words(job);
  // What keeps one component keeps all of them.
  for (const JobKey key : whole_of(job))
    if (const Reason standing = standing_obstacle(snapshot.state, snapshot.state.job(key), snapshot.now);
        standing != Reason::none)
      return reason_words(snapshot.state, snapshot.state.job(key), standing, snapshot.now);
  if (const auto hit = limit_of(snapshot, job)) return slurm_word(reason_of(*hit));
  const PlanReport& plan = *snapshot.plan;
  if (const auto it = plan.findings.find(job.key); it != plan.findings.end())
    return reason_words(snapshot.state, job, it->second.reason, snapshot.now);
  return slurm_word(plan.made_at.is_set() && job.key < plan.looked_at_before ? Reason::priority : Reason::none);
}

// What is left of an array that is forgotten itself.
static void show_kept_array(const KeptJob& kept, wire::JobView& out) {
  if (kept.array.value == 0) return;
  out.set_array_job_id(kept.array.value);
  if (kept.job->array_task)
    out.set_array_task(*kept.job->array_task);
  else
    out.set_array_tasks(format_index_set(kept.rest));
}

// The worst that steps of the present attempt came to.
static std::string derived_exit(const State& state, const Job& job) {
  std::uint32_t code = 0, signal = 0;
  for (auto it = state.steps.lower_bound({job.key, job.attempt, 0});
       it != state.steps.end() && (*it).first.job == job.key && (*it).first.attempt == job.attempt; ++it) {
    const StepEnd& end = (*it).second->end;
    if (end.exit_code > code)
      code = end.exit_code, signal = end.exit_signal;
    else if (code == 0)
      signal = std::max(signal, end.exit_signal);
  }
  return std::to_string(code) + ':' + std::to_string(signal);
}

void show_job(const ReadView& snapshot, const Priorities& priorities, const Job& job, bool brief, wire::JobView& out,
              const KeptJob* kept) {
  const State& state = snapshot.state;
  const JobSpec& spec = *job.spec;
  out.set_job_id(job.id.value);
  if (kept) {
    show_kept_array(*kept, out);
  } else if (const ArrayState* array = state.find_array(job.array)) {
    out.set_array_job_id(array->id.value);
    if (job.array_task) {
      out.set_array_task(*job.array_task);
    } else {
      out.set_array_tasks(format_index_set(array->rest) +
                          (array->spec.throttle > 0 ? "%" + std::to_string(array->spec.throttle) : ""));
    }
    out.set_array_throttle(array->spec.throttle);
  }
  if (job.het) {
    out.set_het_job_id(job.id.value - job.het->offset);
    out.set_het_job_offset(job.het->offset);
    out.set_het_job_size(job.het->size);
  }
  out.set_name(spec.name);
  out.set_uid(spec.owner->uid.value);
  out.set_state(shown_state(job));
  out.set_completing(job.state == JobState::completing);
  out.set_configuring(is_configuring(snapshot, job));
  const bool held_again = job.requeue_held && job.state == JobState::pending;
  out.set_special_exit(held_again && job.held_why == HeldWhy::special_exit);
  out.set_requeue_held(held_again && !out.special_exit());
  out.set_reason(shown_reason(snapshot, job));
  out.set_partition(state.partition(spec.partition).def.name);
  if (spec.resources && job.state == JobState::pending)
    for (const std::uint32_t more : spec.resources->more_partitions)
      out.set_partition(out.partition() + "," + state.partition(PartitionIndex{more}).def.name);
  if (job.placement) {
    const auto lost = std::ranges::count_if(job.placement->shares, &NodeShare::lost);
    out.set_nodes(lost == 0 ? hostlist_of(state, job.placement->shares) : hostlist_of(state, left_of(*job.placement)));
    out.set_node_count(static_cast<std::uint32_t>(job.placement->shares.size() - static_cast<std::size_t>(lost)));
  } else {
    out.set_node_count(planned_node_count(snapshot, job));
  }
  if (job.state == JobState::pending)
    if (const auto it = snapshot.plan->findings.find(job.key);
        it != snapshot.plan->findings.end() && !it->second.planned_shares.empty())
      out.set_planned_nodes(hostlist_of(state, it->second.planned_shares));
  if (job.suspension && job.state != JobState::pending) {
    out.set_suspend_at_us(job.suspension->changed_at.value);
    out.set_ran_before_us(job.suspension->ran_before.value);
  }
  const JobTimes times = times_of(snapshot, job);
  out.set_start_at_us(times.start.value);
  out.set_end_at_us(times.end.value);
  out.set_time_limit_minutes(job.time_limit_minutes);
  out.set_priority(job.state == JobState::pending ? priorities.of(state.job(leader_of(job))) : job.priority);
  if (brief) return;
  if (const auto hit = limit_of(snapshot, job)) out.add_wait_words(limit_in_words(state, *hit));
  show_request(snapshot, job, out);
  show_progress(snapshot, job, out);
  if (spec.resources || job.placement) show_resources(state, job, *out.mutable_resources());
  show_files(state, job, JobId{out.array_job_id()}, out);
  if (out.extras().derived_exit().empty()) out.mutable_extras()->set_derived_exit(derived_exit(state, job));
  if (job.state == JobState::pending && job.trouble && out.extras().system_comment().empty())
    out.mutable_extras()->set_system_comment(trouble_words(state, job));
}

static void show_power(const ReadView& snapshot, NodeIndex index, const Node& node, wire::NodeView& out) {
  const Power power = node.power.state;
  out.set_power_down_wanted(node.power.down_wanted);
  out.set_power_up_wanted(power == Power::off && (node.power.up_wanted || !node.jobs.empty()));
  out.set_powering_down(power == Power::going_down);
  out.set_powered_down(power == Power::off);
  out.set_powering_up(power == Power::coming_up);
  out.set_cloud(node.def->kind == NodeKind::cloud);
  out.set_dynamic(node.def->kind == NodeKind::dynamic);
  if (const Time until = idle_until(snapshot.state, index, snapshot.now); until != never)
    out.set_idle_until_us(until.value);
}

static void show_withheld(const NodeDef& def, wire::NodeView& out) {
  out.set_withheld_memory_mib(static_cast<std::uint64_t>(def.withheld_memory.value));
  if (def.withheld_cpus.empty()) return;
  out.set_withheld_cpus(static_cast<std::uint32_t>((def.cpus - def.usable_cpus()).value));
  out.set_withheld_cores(cores_in(def, def.withheld_cpus));
  out.set_withheld_cpu_list(format_bits(def.withheld_cpus));
}

void show_node(const ReadView& snapshot, NodeIndex index, const Node& node, wire::NodeView& out) {
  const NodeDef& def = *node.def;
  out.set_name(def.name);
  out.set_address(def.address);
  out.set_host_name(def.host_name);
  out.set_port(def.port);
  const bool busy = node.used_cpus > Cpus{0} || !node.jobs.empty();
  if (node.future)
    out.set_base(wire::NodeView::FUTURE);
  else if (node.condition == NodeCondition::unknown)
    out.set_base(wire::NodeView::UNKNOWN);
  else if (node.condition == NodeCondition::down)
    out.set_base(wire::NodeView::DOWN);
  else if (!busy)
    out.set_base(wire::NodeView::IDLE);
  else
    out.set_base(node.used_cpus >= def.usable_cpus() ? wire::NodeView::ALLOCATED : wire::NodeView::MIXED);
  out.set_drain(node.drain || node.drained_for_reboot || node.power.closed);
  show_power(snapshot, index, node, out);
  out.set_fail(node.fail);
  out.set_reboot_requested(node.reboot == Reboot::requested);
  out.set_reboot_issued(node.reboot == Reboot::issued);
  out.set_comment(node.comment);
  out.set_extra(node.extra);
  out.set_instance_id(node.instance_id);
  out.set_instance_type(node.instance_type);
  out.set_resume_at_us(node.resume_at.value);
  for (const JobKey key : node.jobs)
    if (snapshot.state.job(key).state == JobState::completing) out.set_completing(true);
  const auto responding = snapshot.observed->responding.find(index);
  const bool responds = responding != snapshot.observed->responding.end() && responding->second;
  out.set_not_responding(!responds && node.is_on() && !node.future);
  out.set_reason(node.reason);
  out.set_reason_uid(node.reason_by.value);
  out.set_reason_at_us(node.reason_at.value);
  out.set_cpus(static_cast<std::uint32_t>(def.cpus.value));
  out.set_boards(def.boards);
  out.set_sockets(def.sockets);
  out.set_cores_per_socket(def.cores_per_socket);
  out.set_threads_per_core(def.threads_per_core);
  out.set_memory_mib(static_cast<std::uint64_t>(def.memory.value));
  out.set_tmp_disk_mib(static_cast<std::uint64_t>(def.tmp_disk.value));
  show_withheld(def, out);
  out.set_weight(def.weight);
  out.set_features(def.features);
  out.set_active_features(def.active_features.value_or(def.features));
  out.set_gres(def.gres);
  show_node_resources(node, out);
  out.set_allocated_cpus(static_cast<std::uint32_t>(node.used_cpus.value));
  out.set_allocated_memory_mib(static_cast<std::uint64_t>(node.used_memory.value));
  for (const Partition& partition : *snapshot.state.partitions)
    for (const NodeIndex member : partition.nodes)
      if (partition.configured && member == index) out.add_partitions(partition.def.name);
  if (node.inventory) {
    out.set_arch(node.inventory->arch);
    out.set_os(node.inventory->os);
    out.set_version(node.inventory->version);
    out.set_boot_at_us(node.inventory->boot_at.value);
    out.set_agent_started_at_us(node.inventory->agent_started_at.value);
  }
  out.set_last_busy_us(node.last_busy.value);
  if (const auto it = snapshot.observed->telemetry.find(index); it != snapshot.observed->telemetry.end())
    *out.mutable_telemetry() = it->second;
  for (const auto& [id, reservation] : snapshot.state.reservations) {
    if (snapshot.now < reservation->starts(snapshot.now) || snapshot.now >= reservation->ends(snapshot.now)) continue;
    if (!std::ranges::binary_search(reservation->nodes, index.value)) continue;
    if (out.reservation().empty()) out.set_reservation(reservation->name);
    if (reservation->has(reserve_maint)) out.set_maintenance(true);
  }
}

void show_partition(const ReadView& snapshot, const Partition& partition, wire::PartitionView& out) {
  const PartitionDef& def = partition.def;
  out.set_name(def.name);
  out.set_is_default(def.is_default);
  out.set_availability(static_cast<wire::PartitionView::Availability>(def.availability));
  std::vector<std::uint32_t> nodes;
  Cpus cpus;
  Mebibytes memory;
  for (const NodeIndex index : partition.nodes) {
    const Node& node = snapshot.state.node(index);
    if (!node.configured) continue;
    nodes.push_back(index.value);
    cpus += node.def->usable_cpus();
    memory += node.def->usable_memory();
  }
  out.set_nodes(hostlist_of(snapshot.state, nodes));
  out.set_node_count(static_cast<std::uint32_t>(nodes.size()));
  out.set_cpu_count(static_cast<std::uint32_t>(cpus.value));
  out.set_memory_mib(static_cast<std::uint64_t>(memory.value));
  out.set_gres_tres(gres_tres_of(snapshot.state, partition));
  out.set_max_time_minutes(def.max_time_minutes);
  out.set_default_time_minutes(def.default_time_minutes);
  out.set_max_nodes(def.max_nodes);
  out.set_min_nodes(def.min_nodes);
  out.set_priority_tier(def.priority_tier);
  out.set_priority_job_factor(def.priority_job_factor);
  out.set_root_only(def.root_only);
  out.set_hidden(def.hidden);
  out.set_exclusive(def.exclusive);
  out.set_disable_root_jobs(def.disable_root_jobs);
  out.set_sharing(def.exclusive ? "EXCLUSIVE"
                  : def.sharing == CpuSharing::no
                      ? "NO"
                      : (def.sharing == CpuSharing::forced ? "FORCE:" : "YES:") + std::to_string(def.share_max));
  const Policy& policy = *snapshot.state.policy;
  out.set_preempt_mode(
      preempt_words(def.preempt_mode == PreemptMode::cluster ? policy.preempt_mode : def.preempt_mode, policy.gang));
  out.set_grace_seconds(def.grace_seconds);
  const auto join = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
  };
  out.set_exclusive_user(def.exclusive_user);
  out.set_require_reservation(def.require_reservation);
  if (!def.submit_hosts.empty()) out.set_submit_hosts(compress_hostlist(def.submit_hosts));
  std::vector<std::string> defaults;
  if (def.default_cpus_per_gpu > 0) defaults.push_back("DefCpuPerGPU=" + std::to_string(def.default_cpus_per_gpu));
  if (def.default_memory_per_gpu > 0) defaults.push_back("DefMemPerGPU=" + std::to_string(def.default_memory_per_gpu));
  out.set_job_defaults(join(defaults));
  if (def.over_time_minutes) out.set_over_time_minutes(*def.over_time_minutes);
  if (def.max_cpus_per_node != unlimited) out.set_max_cpus_per_node(def.max_cpus_per_node);
  out.set_least_loaded(def.least_loaded);
  out.set_allow_groups(join(def.allow_groups));
  out.set_allow_accounts(join(def.allow_accounts));
  out.set_deny_accounts(join(def.deny_accounts));
  out.set_qos(def.qos);
  out.set_allow_qos(join(def.allow_qos));
  out.set_deny_qos(join(def.deny_qos));
  std::string weights;
  for (const TresWeight& each : def.billing_weights) weights += (weights.empty() ? "" : ",") + format_tres_weight(each);
  out.set_billing_weights(weights);
  const auto amount = [](Mebibytes value) { return static_cast<std::uint64_t>(value.value); };
  if (def.default_memory_per_cpu) out.set_default_memory_per_cpu_mib(amount(*def.default_memory_per_cpu));
  if (def.default_memory_per_node) out.set_default_memory_per_node_mib(amount(*def.default_memory_per_node));
  if (def.max_memory_per_cpu) out.set_max_memory_per_cpu_mib(amount(*def.max_memory_per_cpu));
  if (def.max_memory_per_node) out.set_max_memory_per_node_mib(amount(*def.max_memory_per_node));
}

}  // namespace millrace
