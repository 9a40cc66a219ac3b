// src/controller/controller.cpp - see controller.h.
#include "controller/controller.h"

#include <algorithm>

namespace millrace {

static constexpr Duration tick_every = seconds(1);

Controller::Controller(Parts parts, ControllerSettings settings, ControllerHooks hooks, State recovered)
    : settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      commit_(parts.loop, parts.log, std::move(recovered),
              {[this](const Error& error) { hooks_.fatal("the event log failed: " + error.story); },
               [this](const Advance& step) { advanced(step); },
               [this](const std::string& law, const std::vector<Event>& events) { lines_.law_broken(law, events); }}),
      clock_(parts.loop, commit_, lines_,
             [this](Duration by) {
               readers_.clock_set(by);
               deadlines_.arm();
               scheduling_.wanted();
             }),
      context_{parts.loop, commit_, parts.clients, parts.identities, parts.programs, settings_, hooks_,
               lines_,     room_,   clock_},
      orders_(context_, parts.log, links_, steps_),
      scheduling_(context_, parts.plan_worker, links_, orders_, diagnostics_, fact_log_,
                  [this] {
                    return settings_.complete_wait > Duration{0}
                               ? readers_.completing.wait(settings_.complete_wait, context_.loop.steady())
                               : Duration{0};
                  }),
      reports_(context_, links_, steps_, orders_, [this] { scheduling_.wanted(); }),
      readers_(
          context_,
          [this] { return ReadView{commit_.durable(), links_.observed(), scheduling_.report(), context_.loop.now()}; },
          [this](const Job& job, const wire::SignalAttempt& signal) { return orders_.signal(job, signal); }),
      query_worker_(parts.query_worker),
      snapshots_(context_, parts.log, query_worker_),
      requests_(context_,
                {links_, orders_, steps_, inquiries_, scheduling_, readers_, diagnostics_,
                 [this](const Reconfiguration& fresh) {
                   take_settings(fresh.settings);
                   configured(fresh.facts);
                   for (ResourceManager* manager : links_.managers()) manager->read_configuration();
                   readers_.triggers.reconfigured();
                 }},
                query_worker_) {
  if (settings_.ask_all_laws) commit_.ask_all_laws();
  commit_.count_in(diagnostics_);
  commit_.tell(fact_log_);
}

void Controller::start(ClusterConfigured configuration, Task ready, std::vector<Event> first) {
  if (!first.empty()) commit_.happen(std::move(first));
  clock_.start();
  const Time now = clock_.started_at();
  diagnostics_.reset(now);
  // Above the last one in the log, and not below the clock: a log restored from a copy, or begun anew, has forgotten
  // epochs that nodes remember, and they would never obey it.
  const auto clock = static_cast<std::uint64_t>(std::max<std::int64_t>(now.value, 0));
  const Epoch epoch{std::max(commit_.decided().epoch.value + 1, clock)};
  configuration.at = now;
  configuration.keep = KeepPartitions::not_rewritten;  // what an administrator ordered outlives us (docs/adr/0010)
  commit_.happen({ControllerStarted{epoch, now}});
  configured(configuration);
  readers_.recovered(commit_.durable());
  commit_.when_durable([this, ready = std::move(ready)]() mutable {
    if (ready) ready();
    scheduling_.wanted();
  });
  context_.loop.after(tick_every, [this] { tick(); });
}

void Controller::configured(const ClusterConfigured& configuration) {
  commit_.happen({configuration});
  scheduling_.configured(configuration.policy);
  links_.know(commit_.decided(), context_.loop.steady());
  deadlines_.arm();
}

void Controller::take_settings(const ControllerSettings& fresh) {
  requests_.reconfigured();
  ClusterFacts cluster = fresh.cluster;
  cluster.cluster_name = settings_.cluster.cluster_name;  // these two take a restart
  cluster.config_path = settings_.cluster.config_path;
  settings_.cluster = std::move(cluster);
  settings_.agent_timeout = fresh.agent_timeout;
  settings_.inactive_limit = fresh.inactive_limit;
  settings_.complete_wait = fresh.complete_wait;
  settings_.crontabs = fresh.crontabs;
  settings_.tell_completions = fresh.tell_completions;
  settings_.user_triggers = fresh.user_triggers;
  settings_.backfill_depth = fresh.backfill_depth;
  settings_.replan_every = fresh.replan_every;
}

void Controller::advanced(const Advance& step) {
  clock_.look();
  for (const NodeIndex node : step.changes.nodes) orders_.reconcile(node);
  if (step.changes.room_made) scheduling_.resume_suspended();
  readers_.advanced(step);
  scheduling_.advanced(step.changes);
  deadlines_.arm();
  snapshots_.write_where_due();
}

void Controller::tick() {
  clock_.look();
  reports_.tick();
  readers_.time(context_.loop.now());
  scheduling_.tick();
  context_.loop.after(tick_every, [this] { tick(); });
}

// ---- what nodes say ----

void Controller::node_registered(ResourceManager& by, const NodeRegistration& registration) {
  clock_.look();
  reports_.registered(by, registration);
}

void Controller::node_reported(ResourceManager& by, const std::string& node, const std::vector<AttemptReport>& attempts,
                               const wire::Telemetry& telemetry) {
  clock_.look();
  reports_.reported(by, node, attempts, telemetry);
}

void Controller::node_unreachable(ResourceManager& by, const std::string& node) { reports_.unreachable(by, node); }

void Controller::step_manager_said(ResourceManager& by, const std::string& node, const wire::StepFromNode& message) {
  if (const auto from = links_.own(by, node)) steps_.step_manager_said(*from, message);
}

void Controller::step_sampled(ResourceManager& by, const std::string& node, const wire::StepSample& sample) {
  if (const auto from = links_.own(by, node)) inquiries_.sampled(*from, sample);
}

}  // namespace millrace
