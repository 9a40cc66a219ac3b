// src/controller/loop/scheduling.cpp - see scheduling.h.
#include "controller/loop/scheduling.h"

#include <csignal>

#include "agent.pb.h"
#include "controller/loop/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/accept_preemption.h"
#include "core/admission/suspend_job.h"
#include "wire/report_words.h"

namespace millrace {
namespace {

constexpr std::int64_t looks_per_turn = 8'000;  // at jobs of the nodes that decisions are about
constexpr std::int64_t looks_least = 16;        // what a decision costs besides them

}  // namespace

Scheduling::Scheduling(const Context& context, Worker& worker, NodeLinks& links, NodeOrders& orders,
                       Diagnostics& diagnostics, FactLog& fact_log, std::move_only_function<Duration()> completing)
    : c_(context),
      orders_(orders),
      planning_(
          context.loop, worker, planner_settings({}, context.settings.backfill_depth),
          {[this]() -> const State& { return c_.commit.durable(); }, [this](Plan plan) { finished(std::move(plan)); },
           [this, &links] { return links.unreachable(c_.commit.durable()); },
           [this, &diagnostics, &fact_log](const Plan* plan, std::size_t queued, Duration took) {
             const State& state = c_.commit.durable();
             if (!plan) return diagnostics.pass_given_up(state.policy->backfill);
             diagnostics.pass_finished(*plan, queued, state.policy->backfill, took, c_.loop.now());
             fact_log.planned(state, *plan, queued, took);
           },
           std::move(completing), [this] { return carrying_.has_value(); }}) {
  if (!context.settings.planning) planning_.switch_off();
}

void Scheduling::configured(const Policy& policy) {
  planning_.set_settings(planner_settings(policy, c_.settings.backfill_depth));
}

void Scheduling::advanced(const Changes& changes) {
  if (changes.ground_shifted)
    planning_.outdated();
  else if (changes.room_made)
    planning_.wanted();
  else if (changes.jobs_added)
    planning_.wanted_for_new_jobs();
}

void Scheduling::tick() {
  const Time now = c_.loop.now(), steady = c_.loop.steady();
  const State& state = c_.commit.durable();
  // Some wait for a time of their own: the end of an exempt time, of the patience for a switch.
  if (steady - replanned_at_ >= c_.settings.replan_every && !state.queue.empty()) {
    replanned_at_ = steady;
    planning_.wanted();
  }
  // Reservations begin without anything happening.
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->starts(now) <= now && reservation->starts(now) > now - seconds(2)) planning_.wanted();
}

void Scheduling::resume_suspended() {
  if (c_.commit.decided().suspended.empty()) return;
  if (auto events = decide_resumptions(c_.commit.decided(), c_.loop.now());
      !events.empty() && c_.room.has_room_for(events))
    c_.commit.happen(std::move(events));
}

void Scheduling::preempt(const Preemption& p) {
  auto events = decide_preempt(c_.commit.decided(), {p.key, p.attempt, p.by, p.where}, c_.loop.now());
  if (events.empty() || !c_.room.has_room_for(events)) return;
  const auto* told = std::get_if<JobPreempted>(&events.front());
  const bool has_grace = told && told->due > told->at;
  c_.commit.happen(std::move(events));
  if (!has_grace) return;
  // It hears of its end at the start of its grace; who does not listen runs on until it is over.
  c_.commit.when_durable([this, key = p.key, attempt = p.attempt] {
    const Job* job = c_.commit.durable().find_job(key);
    if (!job || job->attempt != attempt || job->state != JobState::running) return;
    for (const JobKey each : whole_of(*job)) {
      const Job& part = c_.commit.durable().job(each);
      if (part.state != JobState::running) continue;
      wire::SignalAttempt signal;
      signal.set_job_key(each.value);
      signal.set_attempt(attempt.value);
      signal.set_full(true);
      for (const int number : {SIGCONT, SIGTERM}) {
        signal.set_signal(static_cast<std::uint32_t>(number));
        orders_.signal(part, signal);
      }
    }
  });
}

// A decision looks at the jobs of the nodes it is about. With thousands of them on one node, those of a whole plan in
// one turn would keep everybody waiting for seconds; other turns come between, and what grows stale meanwhile is
// dropped.
void Scheduling::finished(Plan plan) {
  c_.clock.look();
  resume_suspended();
  carrying_.emplace(std::move(plan));
  PlanReport& report = carrying_->report;
  for (const Finding& finding : carrying_->plan.findings) report.findings.emplace(finding.key, finding);
  report.made_at = carrying_->plan.made_at;
  report.largest_nodes = carrying_->plan.largest_nodes;
  report.looked_at_before = carrying_->plan.next_key;
  wait_log_.note(carrying_->plan, c_.commit.decided());
  carry_on();
}

void Scheduling::carry_on() {
  auto& [plan, report, placed, suspended, ended] = *carrying_;
  for (std::int64_t left = looks_per_turn; left > 0;) {
    if (placed < plan.placements.size()) {
      for (; suspended < plan.preemptions.size(); ++suspended) {
        const Preemption& p = plan.preemptions[suspended];
        if (p.suspend && p.placement > placed) break;
        if (p.suspend) preempt(p);
        if (const Job* job = p.suspend ? c_.commit.decided().find_job(p.key) : nullptr; job && job->placement)
          left -= looks_at(job->placement->shares);
      }
      left -= looks_of(plan.placements[placed]);
      carry_out(plan.placements[placed++], report);
    } else if (ended < plan.preemptions.size()) {
      const Preemption& p = plan.preemptions[ended++];
      if (p.suspend) continue;
      if (const Job* job = c_.commit.decided().find_job(p.key); job && job->placement)
        left -= looks_at(job->placement->shares);
      preempt(p);
    } else {
      report_ = SharedValue(std::move(report));
      carrying_.reset();
      return planning_.carried_out();
    }
  }
  c_.loop.post([this] {
    c_.clock.look();
    carry_on();
  });
}

std::int64_t Scheduling::looks_at(const std::vector<NodeShare>& shares) const {
  std::int64_t looks = looks_least;
  for (const NodeShare& share : shares)
    if (const auto* node = c_.commit.decided().nodes.find(share.node))
      looks += 1 + static_cast<std::int64_t>((*node)->jobs.size());
  return looks;
}

std::int64_t Scheduling::looks_of(const Proposal& p) const {
  std::int64_t looks = looks_at(p.shares);
  for (const Proposal& component : p.with) looks += looks_at(component.shares);
  return looks;
}

void Scheduling::carry_out(const Proposal& p, PlanReport& report) {
  Reason why = Reason::none;
  auto events = decide_place(c_.commit.decided(), to_place(p), c_.loop.now(), &why);
  if (events.empty())
    c_.lines.log().debug([&] {
      return "sched: proposal for job key " + std::to_string(p.key.value) +
             " dropped: " + (why == Reason::none ? "stale" : slurm_word(why));
    });
  // A stale proposal is dropped; the change that made it stale has asked for the next pass. One that cannot be had in
  // the way it asks waits for the next end, and says why.
  if (!events.empty() && !c_.room.has_room_for(events)) {
    events.clear();
    why = Reason::resources;
  }
  if (!events.empty()) {
    const auto remember = [&](JobPlaced& placed, JobKey waited) {
      placed.waited = wait_log_.take(c_.commit.decided().job(waited), c_.loop.now());
    };
    for (Event& event : events) {
      if (auto* placed = std::get_if<JobPlaced>(&event)) remember(*placed, p.key);
      if (auto* whole = std::get_if<HetJobPlaced>(&event))
        for (JobPlaced& placed : whole->components) remember(placed, placed.key);
    }
    c_.commit.happen(std::move(events));
  } else if (why != Reason::none) {
    report.findings.insert_or_assign(p.key, Finding{p.key, why, {}, {}, p.partition});
    for (const Proposal& component : p.with)
      report.findings.insert_or_assign(component.key, Finding{component.key, why, {}, {}, component.partition});
  }
}

}  // namespace millrace
