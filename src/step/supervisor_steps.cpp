// src/step/supervisor_steps.cpp - the step keeper: the supervisor of a job's first node gives out numbers and CPUs to
// the steps that srun asks for inside the allocation, has them launched, and tells srun when they have ended. Steps are
// attempts of their own to the agents.
#include <algorithm>
#include <ctime>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "core/model/layout.h"
#include "core/model/step.h"
#include "step/supervisor.h"
#include "wire/limits.h"
#include "wire/step_busy.h"

namespace millrace {
namespace {

constexpr std::int64_t order_again_after_us = 5'000'000;
constexpr std::size_t waiting_steps_max = 10'000;
constexpr std::size_t waiting_bytes_max = keeper_backlog_max;  // in memory that is not the job's, but root's
constexpr std::size_t ended_steps_known_max = 4'096;
constexpr std::int64_t waiting_notice_us = 200'000;

// Slurm's numbers and texts.
constexpr std::uint32_t access_denied = 2002, already_done = 2021, nodes_busy = 2016, step_limit = 2076,
                        bad_task_count = 2025, too_few_ports = 2060;

std::int64_t monotonic_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

// The same srun asking again, because an answer was lost.
bool is_same(const wire::StepRequest& a, const wire::StepRequest& b) {
  return !a.ask().step().stdio().secret().empty() && a.ask().step().stdio().secret() == b.ask().step().stdio().secret();
}

std::size_t memory_of(const wire::StepRequest& request) {
  return request.ByteSizeLong() + extra_memory_of(request.ask().step());
}

std::vector<std::string> names_of(const std::vector<std::string>& nodes, const StepPlacement& placement) {
  std::vector<std::string> names;
  for (const StepShare& share : placement.shares) names.push_back(nodes[share.node]);
  return names;
}

}  // namespace

void Supervisor::send_from_keeper(wire::StepFromNode message, const std::string& node) {
  message.set_job_key(plan_.job_key());
  message.set_attempt(plan_.attempt());
  message.set_node(node);
  wire::FromStep envelope;
  *envelope.mutable_step() = std::move(message);
  agent_.send(envelope.SerializeAsString());
}

void Supervisor::tell_step_client(const wire::StepRequest& request, const wire::StepNews& news) {
  wire::StepFromNode message;
  message.mutable_reply()->set_client(request.client());
  message.mutable_reply()->set_number(request.number());
  *message.mutable_reply()->mutable_news() = news;
  send_from_keeper(std::move(message));
}

void Supervisor::refuse_step(const wire::StepRequest& request, std::uint32_t code, const std::string& text,
                             const std::string& note) {
  wire::StepFromNode message;
  message.mutable_reply()->set_client(request.client());
  message.mutable_reply()->set_number(request.number());
  message.mutable_reply()->mutable_failure()->set_code(code);
  message.mutable_reply()->mutable_failure()->set_text(text);
  if (!note.empty()) message.mutable_reply()->mutable_failure()->add_notes(note);
  send_from_keeper(std::move(message));
}

void Supervisor::hear_of_steps(const wire::StepToNode& message) {
  if (!keeper_) return;
  if (message.has_request()) hear_step_request(message.request());
  if (message.has_report()) hear_step_report(message.report());
  if (message.has_left()) hear_client_left(message.left().client());
  if (message.has_facts_heard()) {
    facts_.heard(message.facts_heard().number(), monotonic_us());
    for (auto& [id, step] : steps_)
      if (step.to_tell && facts_.is_heard(id)) tell_created(step);
  }
  if (message.has_signal()) hear_step_signal(message.signal());
  if (message.has_update()) hear_step_update(message.update());
  if (message.has_lost()) hear_of_lost(message.lost());
  if (message.has_end() && holds_allocation_ && !ended_) {
    allocation_exit_code_ = message.end().exit_code();
    finish_after_steps();
  }
}

void Supervisor::hear_client_left(std::uint64_t client) {
  std::erase_if(waiting_steps_, [&](const WaitingStep& waiting) { return waiting.request.client() == client; });
  std::vector<std::uint32_t> parts;
  for (const auto& [id, step] : steps_)
    if (step.prepared && step.request.client() == client) parts.push_back(id);
  for (const std::uint32_t id : parts) drop_part(id);
  if (!parts.empty()) try_waiting_steps();
}

void Supervisor::hear_step_request(const wire::StepRequest& request) {
  const auto what = [&] {
    return "step asked for by UID=" + std::to_string(request.uid()) + ": " + request.ask().step().name() + ", " +
           std::to_string(waiting_steps_.size()) + " wait already";
  };
  log_.debug(what);
  log_.about(DebugFlag::steps, what);
  if (request.uid() != order_.identity().uid() && request.uid() != 0)
    return refuse_step(request, access_denied, "Access/permission denied");
  for (auto& [id, step] : steps_) {
    if (!is_same(step.request, request)) continue;
    step.request.set_client(request.client());
    step.request.set_number(request.number());
    if (step.prepared) return hear_of_part(id, request);
    if (step.to_tell) return;
    wire::StepNews news;
    news.set_kind(wire::StepNews::CREATED);
    news.set_step_id(id);
    return tell_step_client(request, news);
  }
  if (tell_again_of_end(request)) return;
  if (request.ask().has_part())
    return refuse_step(request, already_done,
                       "Job/step already completing or completed");  // it was prepared, and is gone
  if (request.ask().interactive() && keeper_->had_shell())
    return refuse_step(request, already_done, "Job/step already completing or completed",
                       "the job has had its interactive step");
  const std::uint32_t steps_max =
      plan_.steps_max() == 0 ? steps_of_attempt_max : std::min(plan_.steps_max(), steps_of_attempt_max);
  if (keeper_->next_id() >= steps_max) return refuse_step(request, step_limit, "Step limit reached for this job");
  if (ended_ || killing_ || finish_at_us_ != 0)
    return refuse_step(request, already_done, "Job/step already completing or completed");
  // Asked again, in case we had not heard it: it keeps its place.
  const auto known = std::ranges::find_if(
      waiting_steps_, [&](const WaitingStep& waiting) { return is_same(waiting.request, request); });
  if (known == waiting_steps_.end() && try_step(request)) return;
  keep_waiting(request, known);
}

void Supervisor::keep_waiting(const wire::StepRequest& request, std::vector<WaitingStep>::iterator known) {
  const bool is_new = known == waiting_steps_.end();
  const std::size_t size = memory_of(request);
  std::size_t all = size;
  for (const WaitingStep& waiting : waiting_steps_) all += waiting.bytes;
  if (!is_new) all -= known->bytes;
  if (all > waiting_bytes_max || (is_new && waiting_steps_.size() >= waiting_steps_max)) {
    if (!is_new) waiting_steps_.erase(known);
    wire::StepToNode message;
    *message.mutable_request() = request;
    if (const auto answer = busy_answer(message)) send_from_keeper(*answer);
    return;
  }
  if (is_new) known = waiting_steps_.emplace(known);
  *known = {request, size};
  if (tell_waiting_us_ == 0) tell_waiting_us_ = monotonic_us() + waiting_notice_us;
}

// srun asks again where an answer may be lost. A step that was short is over by then, and must not run twice.
bool Supervisor::tell_again_of_end(const wire::StepRequest& request) {
  const auto found = over_.find(request.ask().step().stdio().secret());
  if (found == over_.end()) return false;
  wire::StepNews news;
  news.set_step_id(found->second);
  for (const auto kind : {wire::StepNews::CREATED, wire::StepNews::ENDED}) {
    news.set_kind(kind);
    tell_step_client(request, news);
  }
  return true;
}

void Supervisor::remember_over(std::uint32_t id) {
  const std::string& secret = steps_.at(id).request.ask().step().stdio().secret();
  if (secret.empty() || !over_.emplace(secret, id).second) return;
  over_order_.push_back(secret);
  if (over_order_.size() <= ended_steps_known_max) return;
  over_.erase(over_order_.front());
  over_order_.pop_front();
}

// Not at once: the end of the step before it may be on its way to us.
void Supervisor::tell_waiting_steps() {
  tell_waiting_us_ = 0;
  wire::StepNews news;
  news.set_kind(wire::StepNews::WAITING);
  news.set_problem("Requested nodes are busy");
  for (WaitingStep& waiting : waiting_steps_)
    if (!std::exchange(waiting.told, true)) tell_step_client(waiting.request, news);
}

// Of launches that nobody has confirmed: each step's environment is kept until then.
std::size_t Supervisor::unconfirmed_bytes() const {
  std::size_t bytes = 0;
  for (auto it = unconfirmed_.begin(); it != unconfirmed_.end();
       it = unconfirmed_.lower_bound({it->first.first + 1, ""}))
    if (const auto step = steps_.find(it->first.first); step != steps_.end())
      bytes += step->second.launch.environment().size() + extra_memory_of(step->second.launch.job());
  return bytes;
}

bool Supervisor::try_step(const wire::StepRequest& request) {
  Result<StepPlacement> placement = fail(Errc::unavailable, "Requested nodes are busy");
  if (unconfirmed_.empty() || unconfirmed_bytes() + memory_of(request) <= waiting_bytes_max)
    placement = keeper_->find_room(request.ask());
  if (placement) {
    const std::uint32_t most = plan_.tasks_per_node_max();
    if (most != 0 && std::ranges::any_of(placement->shares, [&](const StepShare& share) { return share.tasks > most; }))
      return refuse_step(request, bad_task_count, "Task count specification invalid",
                         "at most " + std::to_string(most) + " tasks of a step may run on one node (MaxTasksPerNode)"),
             true;
    if (const auto ports = ports_for(request.ask(), *placement); ports) {
      start_step(request, *placement, *ports);
      return true;
    } else if (ports.error().code != Errc::unavailable) {
      return refuse_step(request, too_few_ports, "Requires more ports than can be reserved"), true;
    } else {
      placement = std::unexpected(ports.error());
    }
  }
  const bool busy = placement.error().code == Errc::unavailable;
  if (busy && !request.ask().immediate()) return false;
  if (busy) return refuse_step(request, nodes_busy, placement.error().story), true;
  const StepRefusal why = refusal_of(placement.error());
  refuse_step(request, why.code, why.text, why.note);
  return true;
}

// Of those the job has, some that none of its other steps has now.
Result<std::string> Supervisor::ports_for(const wire::CreateStep& ask, const StepPlacement& placement) const {
  if (!ask.has_resv_ports()) return std::string{};
  std::uint64_t count = ask.resv_ports();
  if (count == 0)
    for (const StepShare& share : placement.shares) count = std::max<std::uint64_t>(count, share.tasks);
  IndexSet free = parse_index_set(ask.job_ports(), UINT16_MAX).value_or(IndexSet{});
  if (free.size() < count) return fail(Errc::invalid, "the job has too few ports");
  for (const auto& [id, step] : steps_)
    parse_index_set(step.fact.ports(), UINT16_MAX).value_or(IndexSet{}).for_each([&](std::uint32_t port) {
      free.erase(port);
    });
  if (free.size() < count) return fail(Errc::unavailable, "Requested nodes are busy");
  return format_ranges(take_some(free, count));
}

wire::LaunchPlan Supervisor::step_plan(const wire::CreateStep& ask, const StepPlacement& placement,
                                       std::uint32_t id) const {
  wire::LaunchPlan plan = plan_;
  plan.clear_script();
  plan.clear_allocation();
  plan.clear_devices();
  plan.set_environment(ask.environment());
  wire::JobDescription& job = *plan.mutable_job();
  job = ask.step();
  job.set_interactive(true);
  job.set_account(plan_.job().account());
  job.set_qos(plan_.job().qos());
  job.set_exclusive(plan_.job().exclusive());
  job.set_submit_host(plan_.job().submit_host());
  plan.set_step(id);
  plan.set_allocation_nodes(plan_.nodes());
  *plan.mutable_allocation_cpus_per_node() = plan_.cpus_per_node();
  plan.set_nodes(compress_hostlist(names_of(keeper_->nodes(), placement)));
  plan.clear_cpus_per_node();
  plan.clear_tasks_per_node();
  plan.clear_memory_per_node_mib();
  plan.clear_ranks();
  for (const StepShare& share : placement.shares) {
    plan.add_cpus_per_node(static_cast<std::uint32_t>(share.cpus.size()));
    plan.add_tasks_per_node(share.tasks);
    plan.add_memory_per_node_mib(static_cast<std::uint64_t>(share.taking.memory_mib));
  }
  plan.set_tasks(placement.tasks);
  plan.set_ports(steps_.at(id).fact.ports());
  // What it does not say itself about memory it has from its job.
  if (!job.has_memory_per_node_mib() && !job.has_memory_per_cpu_mib() && !job.resources().has_memory_per_gpu_mib()) {
    if (plan_.job().has_memory_per_cpu_mib())
      job.set_memory_per_cpu_mib(plan_.job().memory_per_cpu_mib());
    else if (plan_.job().has_memory_per_node_mib())
      job.set_memory_per_node_mib(plan_.job().memory_per_node_mib());
  }
  if (ask.has_part()) make_part(ask.part(), plan);
  return plan;
}

void Supervisor::start_step(const wire::StepRequest& request, const StepPlacement& placement,
                            const std::string& ports) {
  const bool shell = request.ask().interactive();
  const std::uint32_t id = shell ? keeper_->start_shell(placement)
                                 : keeper_->start(placement, request.ask().overlap(), request.ask().least_id());
  const auto written = spool_.write_step(id);
  KeptStep& kept = steps_[id];
  kept.request = request;
  kept.heard_us = monotonic_us();
  kept.fact.set_ports(ports);
  kept.request.mutable_ask()->clear_environment();
  kept.request.mutable_ask()->mutable_step()->clear_arguments();
  const wire::LaunchPlan plan = step_plan(request.ask(), placement, id);
  note_started(id, request, placement, plan);
  std::vector<std::string> notes = placement.notes;
  if (!written) notes.push_back("the step is not in the journal: " + written.error().story);
  if (request.ask().prepare()) {
    kept.prepared = placement;
    return tell_prepared(id, request, std::move(notes));
  }
  launch_step(id, request.ask(), placement);
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  news.set_step_id(id);
  news.set_nodes(plan.nodes());
  news.set_tasks(placement.tasks);
  *news.mutable_cpus_per_node() = plan.cpus_per_node();
  *news.mutable_tasks_per_node() = plan.tasks_per_node();
  for (const std::string& note : notes) news.add_notes(note);
  kept.to_tell = news;
  if (!request.ask().recorded()) tell_created(kept);
  order_new_steps();
}

void Supervisor::tell_created(KeptStep& step) {
  tell_step_client(step.request, *step.to_tell);
  step.to_tell.reset();
}

void Supervisor::launch_step(std::uint32_t id, const wire::CreateStep& ask, const StepPlacement& placement) {
  KeptStep& kept = steps_.at(id);
  kept.launch = step_plan(ask, placement, id);
  watch_time_of(kept, ask.step());
  const auto ranks = keeper_->ranks_of(placement.shares, kept.launch.job().resources());
  for (std::size_t i = 0; i < placement.shares.size(); ++i) {
    const StepShare& share = placement.shares[i];
    const std::string& node = keeper_->nodes()[share.node];
    wire::LaunchPlan& there = unconfirmed_[{id, node}].own;
    there.set_node_position(ask.part().first_node() + static_cast<std::uint32_t>(i));
    there.set_node_name(node);
    for (const std::uint32_t rank : ranks[i]) there.add_ranks(ask.part().first_task() + rank);
    for (const std::uint32_t cpu : share.cpus) there.add_step_cpus(cpu);
    give_devices(share, there);
  }
}

// The agent of this node takes it from here; for other nodes the controller keeps to what the job has.
void Supervisor::give_devices(const StepShare& share, wire::LaunchPlan& there) const {
  const NodeBelongings& has = keeper_->belongings(share.node);
  there.set_job_memory_mib(static_cast<std::uint64_t>(has.memory_mib));
  if (!keeper_->knows_devices()) {
    if (share.node == 0) *there.mutable_devices() = plan_.devices();
    return;
  }
  there.set_own_devices(true);
  for (wire::DeviceGrant& grant : grants_of(has, share.taking.devices)) *there.add_devices() = std::move(grant);
  for (wire::DeviceGrant& grant : grants_of(has, all_devices(has))) *there.add_job_devices() = std::move(grant);
}

// Given until a report shows that it arrived; an agent or a controller may have been away.
void Supervisor::order_steps_again() {
  for (auto& [where, launch] : unconfirmed_) launch.sent = 0;
  under_way_bytes_ = 0;
  all_sent_ = false;
  order_again_us_ = monotonic_us() + order_again_after_us;
  order_steps();
}

void Supervisor::order_new_steps() {
  all_sent_ = false;
  if (const std::int64_t now = monotonic_us(); order_again_us_ <= now) order_again_us_ = now + order_again_after_us;
  order_steps();
}

void Supervisor::order_steps() {
  if (all_sent_) return;
  for (auto& [where, launch] : unconfirmed_) {
    const auto step = steps_.find(where.first);
    if (launch.sent != 0 || step == steps_.end()) continue;
    wire::StepFromNode message;
    *message.mutable_launch()->mutable_identity() = order_.identity();
    wire::LaunchPlan& plan = *message.mutable_launch()->mutable_plan();
    plan = step->second.launch;
    plan.MergeFrom(launch.own);
    plan.set_node_position(launch.own.node_position());  // also where it is 0
    const std::size_t size = message.ByteSizeLong();
    if (under_way_bytes_ != 0 && under_way_bytes_ + size > launch_burst_max) return;
    launch.sent = size;
    under_way_bytes_ += size;
    send_from_keeper(std::move(message), where.second);
  }
  all_sent_ = true;
}

void Supervisor::confirm(std::uint32_t id, const std::string& node) {
  const auto found = unconfirmed_.find({id, node});
  if (found == unconfirmed_.end()) return;
  under_way_bytes_ -= std::min(under_way_bytes_, found->second.sent);
  unconfirmed_.erase(found);
  const auto next = unconfirmed_.lower_bound({id, ""});
  const bool last = next == unconfirmed_.end() || next->first.first != id;
  if (const auto step = steps_.find(id); last && step != steps_.end()) step->second.launch.Clear();
  order_steps();
  if (last && !waiting_steps_.empty()) try_waiting_steps();
}

void Supervisor::hear_step_report(const wire::StepReport& report) {
  const wire::AttemptStatus& status = report.status();
  const std::uint32_t id = status.step();
  confirm(id, report.node());
  if (status.state() != wire::AttemptStatus::ENDED) return;
  const auto found = steps_.find(id);
  const bool failed =
      status.end() == wire::AttemptStatus::LAUNCH_FAILED || status.end() == wire::AttemptStatus::SUPERVISOR_LOST;
  if (found != steps_.end() && failed && found->second.problem.empty()) {
    found->second.problem =
        report.node() + ": " + (status.problem().empty() ? "the step could not be run" : status.problem());
    kill_step(id, plan_.kill_wait_seconds(), wire::Kill::CANCELLED_BY_USER);
  }
  wire::StepFromNode forget;
  forget.mutable_forget()->set_job_key(plan_.job_key());
  forget.mutable_forget()->set_attempt(plan_.attempt());
  forget.mutable_forget()->set_step(id);
  send_from_keeper(std::move(forget), report.node());
  step_ended_there(id, report.node(), status);
}

void Supervisor::step_ended_there(std::uint32_t id, const std::string& node, const wire::AttemptStatus& status) {
  const auto found = steps_.find(id);
  const std::size_t nodes_before = keeper_->nodes_of(id).size();
  const bool over = keeper_->node_ended(id, node);
  if (over || keeper_->nodes_of(id).size() < nodes_before)
    note_ended_there(id, status);  // once, however often it is told
  if (!over) return;
  if (found != steps_.end()) {
    note_ended(id);
    if (found->second.to_tell) tell_created(found->second);
    wire::StepNews news;
    news.set_kind(wire::StepNews::ENDED);
    news.set_step_id(id);
    news.set_problem(found->second.problem);
    tell_step_client(found->second.request, news);
    remember_over(id);
    steps_.erase(found);
  }
  if (finish_at_us_ != 0) return finish_after_steps();
  try_waiting_steps();
}

// First come, first served; one that still does not fit keeps no smaller one waiting.
void Supervisor::try_waiting_steps() {
  if (finish_at_us_ != 0 || killing_ || ended_) return;
  std::vector<WaitingStep> waiting = std::exchange(waiting_steps_, {});
  for (WaitingStep& one : waiting)
    if (!try_step(one.request)) waiting_steps_.push_back(std::move(one));
}

void Supervisor::refuse_waiting_steps() {
  drop_parts();
  for (const WaitingStep& waiting : std::exchange(waiting_steps_, {}))
    refuse_step(waiting.request, already_done, "Job/step already completing or completed");
  unconfirmed_.clear();
  under_way_bytes_ = 0;
}

}  // namespace millrace
