// src/controller/readers/trigger_reader.cpp - see trigger_reader.h.
#include "controller/readers/trigger_reader.h"

#include "base/text.h"

namespace millrace {
namespace {

constexpr Duration trigger_limit = seconds(300);

}  // namespace

void TriggerReader::recovered(const State& state) {
  set_off(watch_.remember(state, c_.loop.now()));
  set_off(fired_by(state, TriggerEvent::controller_started));
}

void TriggerReader::advanced(const Advance& step) {
  set_off(watch_.look(step.now, step.changes.jobs, step.changes.nodes, c_.loop.now()));
}

void TriggerReader::time(Time now) {
  set_off(watch_.time_passed(c_.commit.durable(), now));
  carry_out(decide_due(c_.commit.decided(), now));
}

void TriggerReader::reconfigured() { set_off(fired_by(c_.commit.decided(), TriggerEvent::reconfigured)); }

void TriggerReader::set_off(const std::vector<FiredTrigger>& fired) {
  if (!fired.empty()) carry_out(decide_fired(c_.commit.decided(), fired, c_.loop.now()));
}

void TriggerReader::carry_out(TriggerDecision decision) {
  if (!decision.events.empty()) c_.commit.happen(std::move(decision.events));
  if (!c_.programs) return;
  for (const TriggerCall& call : decision.calls) {
    ProgramRun run;
    for (const std::string_view word : split(call.program, ' ')) {
      if (word.empty()) continue;
      if (run.program.empty())
        run.program = word;
      else
        run.arguments.emplace_back(word);
    }
    run.arguments.push_back(call.about);
    run.environment = {"SLURM_CLUSTER_NAME=" + c_.settings.cluster.cluster_name,
                       "SLURM_CONF=" + c_.settings.cluster.config_path,
                       "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"};
    run.limit = trigger_limit;
    c_.commit.when_durable([this, uid = call.uid, run = std::move(run)]() mutable { run_as(uid, std::move(run)); });
  }
}

// An administrator's as the controller; a user's as that user, with the groups of a login.
void TriggerReader::run_as(UserId uid, ProgramRun run) {
  const auto start = [this](ProgramRun what) {
    const std::string program = what.program;
    c_.lines.log().about(DebugFlag::triggers, [&] {
      return "running " + program + (what.as ? " as UID=" + std::to_string(what.as->uid) : "");
    });
    c_.programs->run(std::move(what), [this, program](const ProgramEnd& end) {
      if (!end.went_well()) c_.lines.complain("trigger: " + describe(program, end));
    });
  };
  if (uid.value == 0 || uid == c_.settings.slurm_user) return start(std::move(run));
  if (!c_.settings.is_root || !c_.settings.user_triggers)
    return c_.lines.complain("trigger: " + run.program + " of user id " + std::to_string(uid.value) +
                             " is not run: allow_user_triggers is not set, or the controller is not root");
  c_.identities.find(uid, login_group, [this, start, run = std::move(run)](Result<UserIdentity> identity) mutable {
    if (!identity) return c_.lines.complain("trigger: " + run.program + " is not run: " + identity.error().story);
    run.as = RunAs{identity->uid.value, identity->gid.value, identity->groups};
    run.environment.push_back("USER=" + identity->user_name);
    start(std::move(run));
  });
}

}  // namespace millrace
