// src/controller/steps.cpp - steps pass through here on their way between srun, the keeper on a job's first node, and
// the job's other nodes.
#include <algorithm>

#include "agent.pb.h"
#include "client.pb.h"
#include "controller/controller.h"
#include "controller/node_life.h"
#include "controller/refusals.h"
#include "controller/resources.h"
#include "controller/step_grants.h"
#include "core/admission/report_steps.h"
#include "wire/step_busy.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

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

bool Controller::tell_keeper(const Job& job, const wire::StepToNode& message) {
  const NodeIndex first = job.placement->shares.front().node;
  if (job.placement->shares.front().lost) return false;
  const auto it = links_.find(first);
  if (it == links_.end() || !it->second.manager || !it->second.reported) return false;
  if (it->second.manager->tell_keeper(commit_.durable().node(first).def->name, message)) return true;
  if (const auto answer = busy_answer(message)) answer_step_client(job, answer->reply());
  return true;
}

// The keeper ends there what ran on nodes that failed or were given up. Told again while the job lives: who was told
// may have died with what it heard.
void Controller::tell_of_lost(NodeIndex index, NodeLink& link) {
  const State& state = commit_.durable();
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
        std::erase_if(step_launches_, [&](const auto& entry) {
          return std::get<0>(entry.first) == key && std::get<2>(entry.first) == share.node;
        });
    }
    if (!message.has_lost()) continue;
    // Under its own number of lost nodes: one more is told at once.
    Time& last = link.ordered[{key, job.attempt, -1, 100u + static_cast<std::uint32_t>(message.lost().nodes_size())}];
    if (last.is_set() && loop_.steady() < last + settings_.relaunch_after) continue;
    last = loop_.steady();
    message.set_job_key(key.value);
    message.set_attempt(job.attempt.value);
    tell_keeper(job, message);
  }
}

void Controller::ask_keeper(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask) {
  if (ask.has_resv_ports())
    ask_with_ports(asker, number, job, ask);
  else
    pass_to_keeper(asker, number, job, ask);
}

void Controller::pass_to_keeper(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask) {
  if (job.is_component() && !job.placement->supervised) {  // it was started before components had supervisors
    constexpr const char* old = "this component was started by an older controller, without anybody to keep its steps";
    return clients_.reply(asker.client, refusal_reply(number, RefusalCode::node_configuration_unavailable, old));
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
  if (commit_.durable().job(leader_of(job)).program == JobProgram::prolog || job.boots) {
    return clients_.reply(asker.client, job.boots ? refusal_reply(number, RefusalCode::nodes_busy,
                                                                  "nodes of the job are still being powered up")
                                                  : refusal_reply(number, RefusalCode::prolog_running));
  }
  if (tell_keeper(job, message)) {
    step_clients_[asker.client].insert({job.key, job.attempt});
    clients_.waits(asker.client, number);
    return;
  }
  // The node may not have come back yet to a controller that has just started: an srun that is refused ends its step.
  if (!job.placement->shares.front().lost && !ask.immediate())
    if (const auto answer = busy_answer(message)) return answer_step_client(job, answer->reply());
  clients_.reply(asker.client,
                 refusal_reply(number, RefusalCode::nodes_busy,
                               "node " + commit_.durable().node(job.placement->shares.front().node).def->name +
                                   ", which keeps the steps of the job, does not answer"));
}

// Numbers of steps are given out by the keeper of each component. So that a step over several components has one
// number, and every number of a heterogeneous job means one step, they are told what the others have used; two that ask
// at the same moment may still differ.
std::uint32_t Controller::next_het_step(const Job& job) const {
  std::uint32_t next = 0;
  const State& state = commit_.durable();
  for (const JobKey key : whole_of(job))
    if (const StepTally* tally = state.step_tallies.find(key); tally && tally->attempt == job.attempt)
      next = std::max(next, tally->next_id);
  const auto seen = het_steps_.find(leader_of(job));
  return seen == het_steps_.end() || seen->second.first != job.attempt ? next : std::max(next, seen->second.second);
}

void Controller::note_het_step(const Job& job, std::uint32_t id) {
  std::erase_if(het_steps_, [&](const auto& entry) {
    const Job* known = commit_.durable().find_job(entry.first);
    return !known || !known->is_on_nodes();
  });
  auto& [attempt, next] = het_steps_[leader_of(job)];
  if (attempt != job.attempt) next = 0;
  attempt = job.attempt;
  next = std::max(next, id + 1);
}

void Controller::step_client_left(ClientId client) {
  const auto found = step_clients_.find(client);
  if (found == step_clients_.end()) return;
  for (const auto& [key, attempt] : found->second) {
    const Job* job = commit_.durable().find_job(key);
    if (!job || job->attempt != attempt || !job->placement) continue;
    wire::StepToNode message;
    message.set_job_key(key.value);
    message.set_attempt(attempt.value);
    message.mutable_left()->set_client(client);
    tell_keeper(*job, message);
  }
  step_clients_.erase(found);
}

// A keeper hears of its steps on other nodes from us; of those on its own from its agent.
// What other nodes said of their steps while this one was not there was told to nobody, and they may not say it again
// for long.
void Controller::tell_keepers_again(NodeIndex first) {
  const auto* node = commit_.durable().nodes.find(first);
  if (!node) return;
  for (const JobKey key : (*node)->jobs) {
    const Job& job = commit_.durable().job(key);
    if (job.placement->shares.front().node != first) continue;
    for (const NodeShare& share : job.placement->shares)
      if (const auto link = links_.find(share.node); share.node != first && link != links_.end())
        for (const AttemptReport& report : link->second.attempts)
          if (report.key == key && report.step) tell_keeper_of(share.node, report);
  }
}

void Controller::tell_keeper_of(NodeIndex node, const AttemptReport& report) {
  step_launches_.erase({report.key, report.attempt, node, *report.step});
  const Job* job = commit_.durable().find_job(report.key);
  if (!job || job->attempt != report.attempt || !job->placement || job->placement->shares.front().node == node) return;
  wire::StepToNode message;
  message.set_job_key(report.key.value);
  message.set_attempt(report.attempt.value);
  message.mutable_report()->set_node(commit_.durable().node(node).def->name);
  *message.mutable_report()->mutable_status() = status_of(report);
  tell_keeper(*job, message);
}

void Controller::answer_step_client(const Job& job, const wire::StepReply& answer) {
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
  clients_.reply(answer.client(), reply);
}

void Controller::keeper_said(ResourceManager& by, const std::string& name, const wire::StepFromNode& message) {
  const auto from = own_node(by, name);
  const Job* job = from ? commit_.durable().find_job(JobKey{message.job_key()}) : nullptr;
  const bool is_keeper = job && job->attempt.value == message.attempt() && job->placement &&
                         job->placement->shares.front().node == *from && !job->placement->shares.front().lost;
  if (!is_keeper) return;
  if (message.has_facts()) return record_steps(*job, message.facts());
  if (message.has_reply()) {
    const wire::StepReply& answer = message.reply();
    // Only who asked this keeper hears from it.
    const auto client = step_clients_.find(answer.client());
    if (client == step_clients_.end() || !client->second.contains({job->key, job->attempt})) return;
    return answer_step_client(*job, answer);
  }
  const auto target = node_by_name_.find(message.node());
  if (target == node_by_name_.end()) return;
  const bool of_job = std::ranges::any_of(
      job->placement->shares, [&](const NodeShare& share) { return share.node == target->second && !share.lost; });
  NodeLink& link = links_[target->second];
  if (!of_job || !link.manager || !link.reported) return;
  if (message.has_launch()) return launch_step(*job, target->second, message.launch());
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

// Durable first, then acknowledged: what a keeper forgets is in the log. What was told before is acknowledged again; of
// an attempt that was given up meanwhile (its node was lost) nothing is recorded any more, so nothing is acknowledged.
void Controller::record_steps(const Job& job, const wire::StepFacts& batch) {
  const Job* decided = commit_.decided().find_job(job.key);
  if (!decided || decided->attempt != job.attempt || !decided->is_on_nodes()) return;
  auto events = decide_steps(commit_.decided(), job.key, job.attempt, reported_steps(batch.facts()), loop_.now());
  if (!events.empty()) commit_.happen(std::move(events));
  commit_.when_durable([this, key = job.key, attempt = job.attempt, number = batch.number()] {
    const Job* now = commit_.durable().find_job(key);
    if (!now || now->attempt != attempt || !now->placement) return;
    wire::StepToNode message;
    message.set_job_key(key.value);
    message.set_attempt(attempt.value);
    message.mutable_facts_heard()->set_number(number);
    tell_keeper(*now, message);
  });
}

// What the step may use there, and as whom, is what the ledger says, whatever the keeper wrote.
void Controller::launch_step(const Job& job, NodeIndex index, const wire::StepLaunch& order) {
  if (job.state != JobState::running || !order.plan().has_step()) return;
  wire::LaunchPlan plan = order.plan();
  plan.set_job_key(job.key.value);
  plan.set_job_id(job.id.value);
  plan.set_attempt(job.attempt.value);
  plan.clear_cpu_ids();
  plan.clear_devices();
  put_site(settings_.cluster, plan);
  plan.set_partition(commit_.durable().partition(job.spec->partition).def.name);
  plan.set_group_name(job.spec->owner->group_name);
  grant_resources(commit_.durable(), job, index, plan);
  keep_to_job(job, index, order.plan(), plan);
  const Node& node = commit_.durable().node(index);
  plan.set_node_name(node.def->name);
  step_launches_[{job.key, job.attempt, index, plan.step()}] = loop_.steady();
  links_[index].manager->launch(node.def->name, plan, *job.spec->owner, life_of(node));
}

// Those the node never tells of are not waited for any longer than this.
bool Controller::has_launches_under_way(JobKey key, Attempt attempt, std::optional<NodeIndex> node) {
  std::erase_if(step_launches_, [&](const auto& entry) { return entry.second + launch_patience < loop_.steady(); });
  const auto first = step_launches_.lower_bound({key, attempt, node.value_or(NodeIndex{}), 0});
  if (first == step_launches_.end() || std::get<0>(first->first) != key || std::get<1>(first->first) != attempt)
    return false;
  return !node || std::get<2>(first->first) == *node;
}

bool Controller::waits_for_steps(const Job& job, NodeIndex first) {
  if (!job.spec->is_batch() || !job.placement || job.placement->on_all_nodes || job.placement->shares.size() < 2 ||
      job.placement->shares.front().node != first)
    return false;
  bool waits = false;
  for (const NodeShare& share : job.placement->shares) {
    const auto it = links_.find(share.node);
    if (share.node == first || it == links_.end() || !it->second.reported || !it->second.manager) continue;
    for (const AttemptReport& report : std::vector(it->second.attempts)) {
      if (report.key != job.key || report.attempt != job.attempt || !report.step || report.ended) continue;
      waits = true;
      order(share.node, it->second, KillIntent{job.key, job.attempt, KillWhy::not_wanted, report.step});
    }
  }
  return has_launches_under_way(job.key, job.attempt, std::nullopt) || waits;
}

}  // namespace millrace
