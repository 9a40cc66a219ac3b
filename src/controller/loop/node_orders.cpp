// src/controller/loop/node_orders.cpp - see node_orders.h.
#include "controller/loop/node_orders.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "agent.pb.h"
#include "controller/loop/node_life.h"
#include "core/admission/cancel_job.h"
#include "core/admission/report_node.h"
#include "wire/limits.h"

namespace millrace {
namespace {

constexpr std::size_t orders_max = 4096;        // to one node at a time
constexpr std::size_t ordered_max = 64 * 1024;  // that are remembered
constexpr std::size_t payload_cache_bytes = 8u << 20;

// A job that goes on without a node, or whose tasks there are done, has nothing to start there any more.
bool is_still_to_launch(const Job* job, Attempt attempt, NodeIndex node) {
  return job && job->attempt == attempt && job->state == JobState::running &&
         std::ranges::any_of(job->placement->shares, [&](const NodeShare& share) {
           return share.node == node && !share.released && !share.lost;
         });
}

}  // namespace

NodeOrders::NodeOrders(const Context& context, EventLog& log, NodeLinks& links, StepTraffic& steps)
    : c_(context),
      links_(links),
      steps_(steps),
      payloads_(log, payload_cache_bytes),
      departed_users_(context.loop, context.identities) {}

void NodeOrders::reconcile(NodeIndex index) {
  NodeLink* found = links_.find(index);
  if (!found || !found->can_be_told()) return;
  NodeLink& link = *found;
  std::set<std::tuple<JobKey, Attempt, std::optional<std::uint32_t>>> forgotten;
  std::size_t orders = 0;
  for (const Intent& intent : difference(c_.commit.durable(), index, link.attempts)) {
    if (++orders > orders_max) break;  // the rest with the next report, which comes when these are carried out
    order(index, link, intent);
    if (const auto* gone = std::get_if<ForgetIntent>(&intent)) forgotten.insert({gone->key, gone->attempt, gone->step});
  }
  if (!forgotten.empty())
    std::erase_if(link.attempts,
                  [&](const AttemptReport& r) { return forgotten.contains({r.key, r.attempt, r.step}); });
  steps_.tell_of_lost(index, link);
}

void NodeOrders::order(NodeIndex index, NodeLink& link, const Intent& intent) {
  const std::string& name = c_.commit.durable().node(index).def->name;
  const auto [key, attempt] = std::visit([](const auto& i) { return std::pair{i.key, i.attempt}; }, intent);
  if (const auto* gone = std::get_if<ForgetIntent>(&intent)) {
    wire::Forget forget;
    forget.set_job_key(key.value);
    forget.set_attempt(attempt.value);
    if (gone->step) forget.set_step(*gone->step);
    return link.manager->forget(name, forget);
  }
  if (std::holds_alternative<LetGoIntent>(intent)) return let_go(index, key, attempt);
  // Orders of different kinds about one attempt are kept apart; to suspend takes back to resume, and the reverse.
  const auto* stops = std::get_if<SuspendIntent>(&intent);
  const std::uint32_t kind = stops ? (stops->suspended ? 2 : 3) : std::holds_alternative<KillIntent>(intent) ? 1 : 0;
  const auto* kills = std::get_if<KillIntent>(&intent);
  const std::int64_t step = kills && kills->step ? static_cast<std::int64_t>(*kills->step) : -1;
  const auto slot = [&](std::uint32_t which) { return std::tuple{key, attempt, step, which}; };
  if (stops) link.ordered.erase(slot(stops->suspended ? 3 : 2));
  if (link.ordered.size() >= ordered_max)  // a node that invents attempts
    std::erase_if(link.ordered,
                  [&](const auto& entry) { return entry.second + c_.settings.relaunch_after <= c_.loop.steady(); });
  if (link.ordered.size() >= ordered_max) return;
  Time& last = link.ordered[slot(kind)];
  if (last.is_set() && c_.loop.steady() < last + c_.settings.relaunch_after) return;
  last = c_.loop.steady();
  if (std::holds_alternative<LaunchIntent>(intent)) return launch(index, std::get<LaunchIntent>(intent));
  if (stops) {
    wire::Suspend order;
    order.set_job_key(key.value);
    order.set_attempt(attempt.value);
    order.set_suspended(stops->suspended);
    return link.manager->suspend(name, order);
  }
  wire::Kill kill;
  kill.set_job_key(key.value);
  kill.set_attempt(attempt.value);
  kill.set_why(static_cast<wire::Kill::Why>(kills->why));
  if (kills->step) kill.set_step(*kills->step);
  kill.set_kill_wait_seconds(c_.commit.durable().policy->kill_wait_seconds);
  link.manager->kill(name, kill);
}

// Unless a step is on its way there that the node has not told of yet.
void NodeOrders::let_go(NodeIndex index, JobKey key, Attempt attempt) {
  if (steps_.has_launches_under_way(key, attempt, index)) return;
  auto events =
      decide_end(c_.commit.decided(), {key, attempt, index, AttemptEnd::exited, 0, 0, {}, false}, c_.loop.now());
  if (!events.empty()) c_.commit.happen(std::move(events));
}

void NodeOrders::launch(NodeIndex index, const LaunchIntent& intent) {
  const Job& job = c_.commit.durable().job(intent.key);
  wire::LaunchPlan plan = make_launch_plan(c_.commit.durable(), job, index, c_.settings.cluster);
  const PayloadId script{job.spec->script}, environment{job.spec->environment};
  payloads_.find(
      script, [this, index, intent, environment, plan = std::move(plan)](Result<std::string> script_bytes) mutable {
        if (!script_bytes) return c_.hooks.fatal("a job's script is gone from the log: " + script_bytes.error().story);
        plan.set_script(*std::move(script_bytes));
        payloads_.find(environment, [this, index, intent, plan = std::move(plan)](Result<std::string> bytes) mutable {
          if (!bytes) return c_.hooks.fatal("a job's environment is gone from the log: " + bytes.error().story);
          // Reading may have taken a while: only what is still wanted is sent.
          const Job* job = c_.commit.durable().find_job(intent.key);
          if (!is_still_to_launch(job, intent.attempt, index)) return;
          plan.set_environment(*std::move(bytes));
          departed_users_.check(job->spec->owner->uid, job->spec->owner->gid,
                                [this, index, intent, plan = std::move(plan)](bool departed) {
                                  send_launch(index, intent, plan, departed);
                                });
        });
      });
}

void NodeOrders::send_launch(NodeIndex index, const LaunchIntent& intent, const wire::LaunchPlan& plan, bool departed) {
  const Job* job = c_.commit.durable().find_job(intent.key);
  if (!is_still_to_launch(job, intent.attempt, index)) return;
  if (departed) {
    if (cancel(intent.key))
      c_.hooks.say("job " + std::to_string(job->id.value) + " is cancelled: its user, id " +
                   std::to_string(job->spec->owner->uid.value) + ", does not exist any more");
    return;
  }
  // What is accepted fits (wire/limits.h). If it does not, it never will, and trying again cuts the link each time.
  if (const std::size_t size = plan.ByteSizeLong(); size + envelope_max > agent_frame_max) {
    if (cancel(intent.key))
      c_.lines.complain("job " + std::to_string(job->id.value) + " is cancelled: what its node would be told has " +
                        std::to_string(size) + " bytes, more than a message may have");
    return;
  }
  const Node& node = c_.commit.durable().node(index);
  links_.of(index).manager->launch(node.def->name, plan, *job->spec->owner, life_of(node));
}

bool NodeOrders::cancel(JobKey key) {
  auto cancelled = decide_cancel(c_.commit.decided(), {key, std::nullopt}, {UserId{0}, true}, c_.loop.now());
  if (!cancelled || cancelled->empty()) return false;
  c_.commit.happen(*std::move(cancelled));
  return true;
}

void NodeOrders::reboot_where_due(NodeIndex index, NodeLink& link) {
  const auto* node = c_.commit.durable().nodes.find(index);
  if (!node || (*node)->reboot != Reboot::issued || !link.can_be_told()) return;
  if (link.told_to_reboot.is_set() && c_.loop.steady() < link.told_to_reboot + c_.settings.relaunch_after) return;
  link.told_to_reboot = c_.loop.steady();
  link.manager->reboot((*node)->def->name);
}

bool NodeOrders::end_steps_elsewhere(const Job& job, NodeIndex first) {
  if (!job.spec->is_batch() || !job.placement || job.placement->on_all_nodes || job.placement->shares.size() < 2 ||
      job.placement->shares.front().node != first)
    return false;
  bool waits = false;
  for (const NodeShare& share : job.placement->shares) {
    NodeLink* link = links_.find(share.node);
    if (share.node == first || !link || !link->can_be_told()) continue;
    for (const AttemptReport& report : std::vector(link->attempts)) {
      if (report.key != job.key || report.attempt != job.attempt || !report.step || report.ended) continue;
      waits = true;
      order(share.node, *link, KillIntent{job.key, job.attempt, KillWhy::not_wanted, report.step});
    }
  }
  return steps_.has_launches_under_way(job.key, job.attempt, std::nullopt) || waits;
}

bool NodeOrders::signal(const Job& job, const wire::SignalAttempt& signal) {
  bool all_hear = true;
  for (const NodeShare& share : job.placement->shares) {
    if (share.lost) continue;
    const NodeLink* link = links_.find(share.node);
    all_hear &= link && link->responding;
    if (link && link->manager) link->manager->signal(c_.commit.durable().node(share.node).def->name, signal);
  }
  return all_hear;
}

}  // namespace millrace
