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

Scheduling::Scheduling(const Context& context, Worker& worker, NodeLinks& links, NodeOrders& orders,
                       Diagnostics& diagnostics, FactLog& fact_log, std::move_only_function<Duration()> completing)
    : c_(context),
      orders_(orders),
      planning_(context.loop, worker, planner_settings({}, context.settings.backfill_depth),
                {[this]() -> const State& { return c_.commit.durable(); }, [this](const Plan& plan) { finished(plan); },
                 [this, &links] { return links.unreachable(c_.commit.durable()); },
                 [this, &diagnostics, &fact_log](const Plan* plan, std::size_t queued, Duration took) {
                   const State& state = c_.commit.durable();
                   if (!plan) return diagnostics.pass_given_up(state.policy->backfill);
                   diagnostics.pass_finished(*plan, queued, state.policy->backfill, took, c_.loop.now());
                   fact_log.planned(state, *plan, queued, took);
                 },
                 std::move(completing)}) {
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

void Scheduling::finished(const Plan& plan) {
  c_.clock.look();
  resume_suspended();
  for (const Preemption& p : plan.preemptions)
    if (p.suspend) preempt(p);
  PlanReport report;
  for (const Finding& finding : plan.findings) report.findings.emplace(finding.key, finding);
  report.made_at = plan.made_at;
  report.largest_nodes = plan.largest_nodes;
  report.looked_at_before = plan.next_key;
  wait_log_.note(plan, c_.commit.decided());
  for (const Proposal& p : plan.placements) {
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
  report_ = SharedValue(std::move(report));
  for (const Preemption& p : plan.preemptions)
    if (!p.suspend) preempt(p);
}

}  // namespace millrace
