// src/controller/carry_out_plan.cpp - what a pass of the planner proposed, checked against what is true by now.
#include <csignal>

#include "controller/controller.h"
#include "controller/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/accept_preemption.h"
#include "core/admission/suspend_job.h"
#include "wire/report_words.h"

namespace millrace {

// What may wait does so while the disk is full: the reserve is for ends, cancels and what nodes report.
bool Controller::has_room_for(const std::vector<Event>& events) {
  const bool room = commit_.has_room(events);
  if (room == !short_of_room_) return room;
  short_of_room_ = !room;
  complain(room ? "there is room on the disk of the event log again"
                : "the disk of the event log is full: no job is started before there is room again");
  return room;
}

// Before anybody new is placed: those that were suspended for others, or are to go on, have waited on their nodes.
void Controller::resume_suspended() {
  if (commit_.decided().suspended.empty()) return;
  if (auto events = decide_resumptions(commit_.decided(), loop_.now()); !events.empty() && has_room_for(events))
    commit_.happen(std::move(events));
}

void Controller::preempt(const Preemption& p) {
  auto events = decide_preempt(commit_.decided(), {p.key, p.attempt, p.by, p.where}, loop_.now());
  if (events.empty() || !has_room_for(events)) return;
  const auto* told = std::get_if<JobPreempted>(&events.front());
  const bool has_grace = told && told->due > told->at;
  commit_.happen(std::move(events));
  if (!has_grace) return;
  // It hears of its end at the start of its grace; who does not listen runs on until it is over.
  commit_.when_durable([this, key = p.key, attempt = p.attempt] {
    const Job* job = commit_.durable().find_job(key);
    if (!job || job->attempt != attempt || job->state != JobState::running) return;
    for (const JobKey each : whole_of(*job)) {
      const Job& part = commit_.durable().job(each);
      if (part.state != JobState::running) continue;
      wire::SignalAttempt signal;
      signal.set_job_key(each.value);
      signal.set_attempt(attempt.value);
      signal.set_full(true);
      for (const int number : {SIGCONT, SIGTERM}) {
        signal.set_signal(static_cast<std::uint32_t>(number));
        signal_nodes(part, signal);
      }
    }
  });
}

bool Controller::signal_nodes(const Job& job, const wire::SignalAttempt& signal) {
  bool all_hear = true;
  for (const NodeShare& share : job.placement->shares) {
    if (share.lost) continue;
    const auto link = links_.find(share.node);
    all_hear &= link != links_.end() && link->second.responding;
    if (link != links_.end() && link->second.manager)
      link->second.manager->signal(commit_.durable().node(share.node).def->name, signal);
  }
  return all_hear;
}

void Controller::plan_finished(const Plan& plan) {
  see_clock();
  resume_suspended();
  for (const Preemption& p : plan.preemptions)
    if (p.suspend) preempt(p);
  PlanReport report;
  for (const Finding& finding : plan.findings) report.findings.emplace(finding.key, finding);
  report.made_at = plan.made_at;
  report.largest_nodes = plan.largest_nodes;
  report.looked_at_before = plan.next_key;
  wait_log_.note(plan, commit_.decided());
  for (const Proposal& p : plan.placements) {
    Reason why = Reason::none;
    auto events = decide_place(commit_.decided(), to_place(p), loop_.now(), &why);
    if (events.empty())
      lines_.debug([&] {
        return "sched: proposal for job key " + std::to_string(p.key.value) +
               " dropped: " + (why == Reason::none ? "stale" : slurm_word(why));
      });
    // A stale proposal is dropped; the change that made it stale has asked for the next pass. One that cannot be had in
    // the way it asks waits for the next end, and says why.
    if (!events.empty() && !has_room_for(events)) {
      events.clear();
      why = Reason::resources;
    }
    if (!events.empty()) {
      const auto remember = [&](JobPlaced& placed, JobKey waited) {
        placed.waited = wait_log_.take(commit_.decided().job(waited), loop_.now());
      };
      for (Event& event : events) {
        if (auto* placed = std::get_if<JobPlaced>(&event)) remember(*placed, p.key);
        if (auto* whole = std::get_if<HetJobPlaced>(&event))
          for (JobPlaced& placed : whole->components) remember(placed, placed.key);
      }
      commit_.happen(std::move(events));
    } else if (why != Reason::none) {
      report.findings.insert_or_assign(p.key, Finding{p.key, why, {}, {}, p.partition});
      for (const Proposal& component : p.with)
        report.findings.insert_or_assign(component.key, Finding{component.key, why, {}, {}, component.partition});
    }
  }
  plan_report_ = SharedValue(std::move(report));
  for (const Preemption& p : plan.preemptions)
    if (!p.suspend) preempt(p);
}

}  // namespace millrace
