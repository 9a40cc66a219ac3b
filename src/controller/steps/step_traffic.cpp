// src/controller/steps/step_traffic.cpp - see step_traffic.h.
#include "controller/steps/step_traffic.h"

#include <algorithm>

#include "agent.pb.h"
#include "client.pb.h"
#include "controller/loop/node_life.h"
#include "controller/requests/refusals.h"
#include "controller/steps/step_grants.h"
#include "controller/views/resources.h"
#include "core/admission/report_steps.h"
#include "wire/step_busy.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

constexpr std::ptrdiff_t steps_of_node_max = 1024;  // of a job, at one time, on each node but its first
constexpr Duration launch_patience =
    seconds(30);  // a step launched on a node that never reports it is not waited for any longer

wire::AttemptStatus status_of(const AttemptReport& report) {
  wire::AttemptStatus status;
  status.set_job_key(report.key.value);
  status.set_attempt(report.attempt.value);
  status.set_step(*report.step);
  status.set_state(report.ended ? wire::AttemptStatus::ENDED : wire::AttemptStatus::RUNNING_NOW);
  status.set_exit_code(report.exit_code);
  status.set_exit_signal(report.exit_signal);
  status.set_problem(report.problem);
  if (!report.ended) return status;
  *status.mutable_usage() = to_wire(report.usage);
  switch (report.end) {
    case AttemptEnd::launch_failed:
    case AttemptEnd::node_unfit:
    case AttemptEnd::not_begun:
      status.set_end(wire::AttemptStatus::LAUNCH_FAILED);
      break;
    case AttemptEnd::supervisor_lost:
      status.set_end(wire::AttemptStatus::SUPERVISOR_LOST);
      break;
    case AttemptEnd::out_of_memory:
      status.set_end(wire::AttemptStatus::OUT_OF_MEMORY);
      break;
    default:
      status.set_end(wire::AttemptStatus::EXITED);
      break;
  }
  return status;
}

}  // namespace

bool StepTraffic::tell_step_manager(const Job& job, const wire::StepToNode& message) {
  const NodeIndex first = job.placement->shares.front().node;
  if (job.placement->shares.front().lost) return false;
  const NodeLink* link = links_.find(first);
  if (!link || !link->can_be_told()) return false;
  if (link->manager->tell_step_manager(c_.commit.durable().node(first).def->name, message)) return true;
  if (const auto answer = busy_answer(message)) answer_client(job, answer->reply());
  return true;
}

void StepTraffic::tell_of_lost(NodeIndex index, NodeLink& link) {
  const State& state = c_.commit.durable();
  const auto* node = state.nodes.find(index);
  if (!node) return;
  for (const JobKey key : (*node)->jobs) {
    const Job& job = state.job(key);
    if ((!job.spec->extra_request().no_kill && !job.placement->resized_at.is_set()) ||
        job.placement->shares.front().node != index)
      continue;
    wire::StepToNode message;
    for (const NodeShare& share : job.placement->shares) {
      if (!share.lost) continue;
      message.mutable_lost()->add_nodes(state.node(share.node).def->name);
      if (share.given_up) message.mutable_lost()->add_given_up(state.node(share.node).def->name);
      if (share.released)
        std::erase_if(launches_, [&](const auto& entry) {
          return std::get<0>(entry.first) == key && std::get<2>(entry.first) == share.node;
        });
    }
    if (!message.has_lost()) continue;
    // Under its own number of lost nodes: one more is told at once.
    Time& last = link.ordered[{key, job.attempt, -1, 100u + static_cast<std::uint32_t>(message.lost().nodes_size())}];
    if (last.is_set() && c_.loop.steady() < last + c_.settings.relaunch_after) continue;
    last = c_.loop.steady();
    message.set_job_key(key.value);
    message.set_attempt(job.attempt.value);
    tell_step_manager(job, message);
  }
}

void StepTraffic::ask(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask) {
  if (ask.has_resv_ports())
    ask_with_ports(asker, number, job, ask);
  else
    pass_on(asker, number, job, ask);
}

void StepTraffic::pass_on(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask) {
  if (job.is_component() && !job.placement->supervised) {  // it was started before components had supervisors
    constexpr const char* old = "this component was started by an older controller, without anybody to keep its steps";
    return c_.clients.reply(asker.client, refusal_reply(number, RefusalCode::node_configuration_unavailable, old));
  }
  wire::StepToNode message;
  message.set_job_key(job.key.value);
  message.set_attempt(job.attempt.value);
  wire::StepRequest& request = *message.mutable_request();
  request.set_client(asker.client);
  request.set_number(number);
  request.set_uid(asker.uid.value);
  *request.mutable_ask() = ask;
  if (job.het && !ask.has_least_id()) request.mutable_ask()->set_least_id(next_het_step(job));
  if (c_.commit.durable().job(leader_of(job)).program == JobProgram::prolog || job.boots) {
    return c_.clients.reply(asker.client, job.boots ? refusal_reply(number, RefusalCode::nodes_busy,
                                                                    "nodes of the job are still being powered up")
                                                    : refusal_reply(number, RefusalCode::prolog_running));
  }
  if (tell_step_manager(job, message)) {
    clients_[asker.client].insert({job.key, job.attempt});
    c_.clients.waits(asker.client, number);
    return;
  }
  // The node may not have come back yet to a controller that has just started: an srun that is refused ends its step.
  if (!job.placement->shares.front().lost && !ask.immediate())
    if (const auto answer = busy_answer(message)) return answer_client(job, answer->reply());
  c_.clients.reply(asker.client,
                   refusal_reply(number, RefusalCode::nodes_busy,
                                 "node " + c_.commit.durable().node(job.placement->shares.front().node).def->name +
                                     ", which keeps the steps of the job, does not answer"));
}

// Numbers of steps are given out by the step manager of each component. So that a step over several components has one
// number, and every number of a heterogeneous job means one step, they are told what the others have used; two that ask
// at the same moment may still differ.
std::uint32_t StepTraffic::next_het_step(const Job& job) const {
  std::uint32_t next = 0;
  const State& state = c_.commit.durable();
  for (const JobKey key : whole_of(job))
    if (const StepTally* tally = state.step_tallies.find(key); tally && tally->attempt == job.attempt)
      next = std::max(next, tally->next_id);
  const auto seen = het_steps_.find(leader_of(job));
  return seen == het_steps_.end() || seen->second.first != job.attempt ? next : std::max(next, seen->second.second);
}

void StepTraffic::note_het_step(const Job& job, std::uint32_t id) {
  std::erase_if(het_steps_, [&](const auto& entry) {
    const Job* known = c_.commit.durable().find_job(entry.first);
    return !known || !known->is_on_nodes();
  });
  auto& [attempt, next] = het_steps_[leader_of(job)];
  if (attempt != job.attempt) next = 0;
  attempt = job.attempt;
  next = std::max(next, id + 1);
}

void StepTraffic::client_left(ClientId client) {
  std::erase_if(asked_ports_, [&](const auto& asked) { return asked.first.first == client; });
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  for (const auto& [key, attempt] : found->second) {
    const Job* job = c_.commit.durable().find_job(key);
    if (!job || job->attempt != attempt || !job->placement) continue;
    wire::StepToNode message;
    message.set_job_key(key.value);
    message.set_attempt(attempt.value);
    message.mutable_left()->set_client(client);
    tell_step_manager(*job, message);
  }
  clients_.erase(found);
}

void StepTraffic::tell_again(NodeIndex first) {
  const auto* node = c_.commit.durable().nodes.find(first);
  if (!node) return;
  for (const JobKey key : (*node)->jobs) {
    const Job& job = c_.commit.durable().job(key);
    if (job.placement->shares.front().node != first) continue;
    for (const NodeShare& share : job.placement->shares)
      if (const NodeLink* link = links_.find(share.node); share.node != first && link)
        for (const AttemptReport& report : link->attempts)
          if (report.key == key && report.step) step_reported(share.node, report);
  }
}

void StepTraffic::step_reported(NodeIndex node, const AttemptReport& report) {
  launches_.erase({report.key, report.attempt, node, *report.step});
  const Job* job = c_.commit.durable().find_job(report.key);
  if (!job || job->attempt != report.attempt || !job->placement || job->placement->shares.front().node == node) return;
  wire::StepToNode message;
  message.set_job_key(report.key.value);
  message.set_attempt(report.attempt.value);
  message.mutable_report()->set_node(c_.commit.durable().node(node).def->name);
  *message.mutable_report()->mutable_status() = status_of(report);
  tell_step_manager(*job, message);
}

void StepTraffic::answer_client(const Job& job, const wire::StepReply& answer) {
  wire::Reply reply;
  reply.set_number(answer.number());
  const bool is_last =
      answer.has_failure() || answer.news().kind() == wire::StepNews::ENDED || answer.news().ask_again();
  if (is_last) asked_ports_.erase({answer.client(), answer.number()});
  if (answer.has_failure()) *reply.mutable_failure() = answer.failure();
  if (answer.done()) reply.mutable_done();
  if (answer.has_news()) {
    if (job.het && answer.news().kind() == wire::StepNews::CREATED) note_het_step(job, answer.news().step_id());
    *reply.mutable_step() = answer.news();
    reply.set_more(!is_last);
  }
  c_.clients.reply(answer.client(), reply);
}

void StepTraffic::step_manager_said(NodeIndex from, const wire::StepFromNode& message) {
  const Job* job = c_.commit.durable().find_job(JobKey{message.job_key()});
  const bool is_step_manager = job && job->attempt.value == message.attempt() && job->placement &&
                               job->placement->shares.front().node == from && !job->placement->shares.front().lost;
  if (!is_step_manager) return;
  if (message.has_facts()) return record(*job, message.facts());
  if (message.has_reply()) {
    const wire::StepReply& answer = message.reply();
    // Only who asked this step manager hears from it.
    const auto client = clients_.find(answer.client());
    if (client == clients_.end() || !client->second.contains({job->key, job->attempt})) return;
    return answer_client(*job, answer);
  }
  const auto target = links_.index_of(message.node());
  if (!target) return;
  const auto share = std::ranges::find(job->placement->shares, *target, &NodeShare::node);
  if (share == job->placement->shares.end() || share->lost) return;
  if (message.has_launch() && share->released) return refuse_launch(*job, *target, message.launch().plan());
  NodeLink& link = links_.of(*target);
  if (!link.can_be_told()) return;
  if (message.has_launch()) return launch(*job, *target, message.launch());
  const auto about_this_job = [&](const auto& order) {
    return order.has_step() && order.job_key() == job->key.value && order.attempt() == job->attempt.value;
  };
  if (message.has_kill() && about_this_job(message.kill())) link.manager->kill(message.node(), message.kill());
  if (message.has_signal() && about_this_job(message.signal())) link.manager->signal(message.node(), message.signal());
  if (message.has_forget() && about_this_job(message.forget())) {
    link.manager->forget(message.node(), message.forget());
    std::erase_if(link.attempts, [&](const AttemptReport& r) {
      return r.key == job->key && r.attempt == job->attempt && r.step == message.forget().step();
    });
  }
}

// Durable first, then acknowledged: what a step manager forgets is in the log. What was told before is acknowledged
// again; of an attempt that was given up meanwhile (its node was lost) nothing is recorded any more, so nothing is
// acknowledged.
void StepTraffic::record(const Job& job, const wire::StepFacts& batch) {
  const Job* decided = c_.commit.decided().find_job(job.key);
  if (!decided || decided->attempt != job.attempt || !decided->is_on_nodes()) return;
  auto events = decide_steps(c_.commit.decided(), job.key, job.attempt, reported_steps(batch.facts()), c_.loop.now());
  if (!events.empty()) c_.commit.happen(std::move(events));
  c_.commit.when_durable([this, key = job.key, attempt = job.attempt, number = batch.number()] {
    const Job* now = c_.commit.durable().find_job(key);
    if (!now || now->attempt != attempt || !now->placement) return;
    wire::StepToNode message;
    message.set_job_key(key.value);
    message.set_attempt(attempt.value);
    message.mutable_facts_heard()->set_number(number);
    tell_step_manager(*now, message);
  });
}

// The tasks of srun's own job are through on the node, and what they had there is others'. One that is under way may
// have been launched before that: the node tells of it.
void StepTraffic::refuse_launch(const Job& job, NodeIndex index, const wire::LaunchPlan& plan) {
  if (!plan.has_step() || has_launches_under_way(job.key, job.attempt, index)) return;
  wire::StepToNode message;
  message.set_job_key(job.key.value);
  message.set_attempt(job.attempt.value);
  message.mutable_report()->set_node(c_.commit.durable().node(index).def->name);
  wire::AttemptStatus& status = *message.mutable_report()->mutable_status();
  status.set_job_key(job.key.value);
  status.set_attempt(job.attempt.value);
  status.set_step(plan.step());
  status.set_state(wire::AttemptStatus::ENDED);
  status.set_end(wire::AttemptStatus::LAUNCH_FAILED);
  status.set_problem("the job has ended on this node");
  tell_step_manager(job, message);
}

// What the step may use there, and as whom, is what the ledger says, whatever the step manager wrote.
void StepTraffic::launch(const Job& job, NodeIndex index, const wire::StepLaunch& order) {
  if (job.state != JobState::running || !order.plan().has_step()) return;
  // The step manager is on a node that nobody trusts. It asks again, and gets it when others have ended.
  NodeLink& link = links_.of(index);
  const auto first = launches_.lower_bound({job.key, job.attempt, index, 0});
  const auto last = launches_.upper_bound({job.key, job.attempt, index, UINT32_MAX});
  const auto living = std::ranges::count_if(link.attempts, [&](const AttemptReport& report) {
    return report.key == job.key && report.attempt == job.attempt && report.step && !report.ended;
  });
  if (living + std::distance(first, last) >= steps_of_node_max) return;
  wire::LaunchPlan plan = order.plan();
  plan.set_job_key(job.key.value);
  plan.set_job_id(job.id.value);
  plan.set_attempt(job.attempt.value);
  plan.clear_cpu_ids();
  plan.clear_devices();
  put_site(c_.settings.cluster, plan);
  plan.set_partition(c_.commit.durable().partition(job.spec->partition).def.name);
  plan.set_group_name(job.spec->owner->group_name);
  grant_resources(c_.commit.durable(), job, index, plan);
  keep_to_job(job, index, order.plan(), plan);
  const Node& node = c_.commit.durable().node(index);
  plan.set_node_name(node.def->name);
  launches_[{job.key, job.attempt, index, plan.step()}] = c_.loop.steady();
  link.manager->launch(node.def->name, plan, *job.spec->owner, life_of(node));
}

bool StepTraffic::has_launches_under_way(JobKey key, Attempt attempt, std::optional<NodeIndex> node) {
  std::erase_if(launches_, [&](const auto& entry) { return entry.second + launch_patience < c_.loop.steady(); });
  const auto first = launches_.lower_bound({key, attempt, node.value_or(NodeIndex{}), 0});
  if (first == launches_.end() || std::get<0>(first->first) != key || std::get<1>(first->first) != attempt)
    return false;
  return !node || std::get<2>(first->first) == *node;
}

}  // namespace millrace
