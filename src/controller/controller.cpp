// src/controller/controller.cpp - see controller.h. Requests of people are in commands.cpp and queries.cpp, what nodes
// say and are told in nodes.cpp.
#include "controller/controller.h"

#include <algorithm>
#include <bit>

#include "controller/commands.h"
#include "controller/crontabs.h"
#include "controller/queries.h"
#include "controller/views.h"
#include "core/admission/expire.h"
#include "core/admission/report_node.h"
#include "core/admission/suspend_job.h"
#include "wire/event_codec.h"
#include "wire/event_text.h"

namespace millrace {

namespace {

constexpr std::size_t payload_cache_bytes = 8u << 20;

}  // namespace

Controller::Controller(Parts parts, ControllerSettings settings, ControllerHooks hooks, State recovered)
    : loop_(parts.loop),
      log_(parts.log),
      query_worker_(parts.query_worker),
      identities_(parts.identities),
      departed_users_(parts.loop, parts.identities),
      clients_(parts.clients),
      long_answers_(parts.loop, query_worker_, parts.clients),
      settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      lines_(hooks_.log ? *hooks_.log : silent_),
      schedule_lines_(hooks_.schedule_log ? *hooks_.schedule_log : silent_),
      commit_(parts.loop, parts.log, std::move(recovered),
              {[this](const Error& error) { hooks_.fatal("the event log failed: " + error.story); },
               [this](const Advance& step) { advanced(step); },
               [this](const std::string& law, const std::vector<Event>& events) { law_broken(law, events); }}),
      readers_(
          {loop_, commit_, parts.programs, identities_, settings_, hooks_, lines_,
           [this](const std::string& text) { complain(text); },
           [this](const std::vector<Event>& events) { return has_room_for(events); }, [this] { see_clock(); }},
          clients_, [this] { return read_view(); },
          [this](const Job& job, const wire::SignalAttempt& signal) { return signal_nodes(job, signal); }),
      planning_(parts.loop, parts.plan_worker, planner_settings({}, settings_.backfill_depth),
                {[this]() -> const State& { return commit_.durable(); },
                 [this](const Plan& plan) { plan_finished(plan); }, [this] { return unreachable(); },
                 [this](const Plan* plan, std::size_t queued, Duration took) {
                   const bool backfills = commit_.durable().policy->backfill;
                   if (plan) diagnostics_.pass_finished(*plan, queued, backfills, took, loop_.now());
                   if (plan)
                     fact_log_.planned(commit_.durable(), *plan, queued, took);
                   else
                     diagnostics_.pass_given_up(backfills);
                 },
                 [this] {
                   return settings_.complete_wait > Duration{0}
                              ? readers_.completing.wait(settings_.complete_wait, loop_.steady())
                              : Duration{0};
                 }}),
      payloads_(parts.log, payload_cache_bytes) {
  if (!settings_.planning) planning_.switch_off();
  if (settings_.ask_all_laws) commit_.ask_all_laws();
  commit_.count_in(diagnostics_);
  commit_.tell(fact_log_);
}

void Controller::add_manager(ResourceManager& manager, std::vector<std::string> nodes) {
  managers_.push_back(&manager);
  if (nodes.empty()) default_manager_ = &manager;
  for (std::string& node : nodes) manager_of_[std::move(node)] = &manager;
}

void Controller::start(ClusterConfigured configuration, Task ready, std::vector<Event> first) {
  if (!first.empty()) commit_.happen(std::move(first));
  started_at_ = loop_.now();
  clock_ahead_ = loop_.now() - loop_.steady();
  diagnostics_.reset(started_at_);
  // Above the last one in the log, and not below the clock: a log restored from a copy, or begun anew, has forgotten
  // epochs that nodes remember, and they would never obey it.
  const auto clock = static_cast<std::uint64_t>(std::max<std::int64_t>(started_at_.value, 0));
  const Epoch epoch{std::max(commit_.decided().epoch.value + 1, clock)};
  configuration.at = started_at_;
  configuration.keep = KeepPartitions::not_rewritten;  // what an administrator ordered outlives us (docs/adr/0010)
  commit_.happen({ControllerStarted{epoch, started_at_}});
  configured(configuration);
  readers_.recovered(commit_.durable());
  commit_.when_durable([this, ready = std::move(ready)]() mutable {
    if (ready) ready();
    planning_.wanted();
  });
  replan_with_time();
  loop_.after(seconds(1), [this] { tick(); });
}

// Ages and shares change with time alone, and usage that fades may let someone start.
void Controller::replan_with_time() {
  const State& state = commit_.durable();
  const bool time_matters = !state.policy->basic_priority || state.policy->enforce != 0;
  if (!time_matters || state.queue.empty()) return;
  const Time period = period_start(loop_.now(), state.policy->priority.calc_period_seconds);
  if (period == period_planned_) return;
  period_planned_ = period;
  planning_.wanted();
}

void Controller::configured(const ClusterConfigured& configuration) {
  commit_.happen({configuration});
  planning_.set_settings(planner_settings(configuration.policy, settings_.backfill_depth));
  know_nodes();
  arm_deadline();
}

void Controller::take_settings(const ControllerSettings& fresh) {
  asker_names_.doubt_all();
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

void Controller::know_nodes() {
  node_by_name_.clear();
  for (const auto& [index, node] : commit_.decided().nodes) {
    if (!node->configured && node->jobs.empty()) continue;  // one taken out is still heard until its jobs have ended
    node_by_name_[node->def->name] = index;
    NodeLink& link = links_[index];
    const auto named = manager_of_.find(node->def->name);
    link.manager = named == manager_of_.end() ? default_manager_ : named->second;
    if (!link.heard_at.is_set()) link.heard_at = loop_.steady();  // the time it has to come back counts from our start
  }
}

void Controller::say_often(const std::string& kind, const std::string& line) {
  if (hooks_.say_often) return hooks_.say_often(kind, line);
  hooks_.say(line);
}

bool Controller::is_due(Time judged) const {
  const Duration heartbeat = std::clamp(Duration{settings_.agent_timeout.value / 5}, seconds(1), seconds(10));
  return !judged.is_set() || loop_.steady() >= judged + heartbeat;
}

void Controller::complain(const std::string& text) {
  if (!hooks_.log) return hooks_.say(text);
  lines_.error([&] { return std::string_view{text}; });
}

// A bug of ours. The same decision may come again with every report or tick, so that later ones are only counted.
void Controller::law_broken(const std::string& law, const std::vector<Event>& events) {
  const bool power_of_two = std::has_single_bit(++laws_broken_);
  if (laws_broken_ > 20 && !power_of_two) return;
  std::string text = "bug: a decision was not carried out, because it would break a law: " + law + " (" +
                     std::to_string(laws_broken_) + " so far); please report this:";
  for (const Event& event : events) text += " " + describe_event(event).substr(0, 1000);
  complain(text);
}

ReadView Controller::read_view() const { return {commit_.durable(), observed_, plan_report_, loop_.now()}; }

void Controller::advanced(const Advance& step) {
  see_clock();
  for (const NodeIndex node : step.changes.nodes) reconcile(node);
  if (step.changes.room_made) resume_suspended();
  readers_.advanced(step);
  if (step.changes.ground_shifted)
    planning_.outdated();
  else if (step.changes.room_made)
    planning_.wanted();
  else if (step.changes.jobs_added)
    planning_.wanted_for_new_jobs();
  arm_deadline();
  maybe_snapshot();
}

// ---- time ----

constexpr Duration tick_every = seconds(1);

void Controller::tick() {
  see_clock();
  const Time now = loop_.now(), steady = loop_.steady();
  // While the loop was busy it heard nobody: that is no silence of the nodes.
  const Duration away = ticked_at_.is_set() ? steady - ticked_at_ - tick_every : Duration{};
  ticked_at_ = steady;
  for (auto& [index, link] : links_) {
    if (away > tick_every) link.heard_at = std::min(steady, link.heard_at + away);
    std::erase_if(link.ordered,
                  [&](const auto& entry) { return entry.second + settings_.relaunch_after * 30 < steady; });
    const auto* node = commit_.decided().nodes.find(index);
    const bool counts = node && (*node)->configured && (*node)->is_on() && (*node)->reboot != Reboot::issued &&
                        ((*node)->condition == NodeCondition::up || !(*node)->jobs.empty());
    if (counts && steady - link.heard_at > settings_.agent_timeout) {
      complain("node " + (*node)->def->name + " has not responded for " +
               std::to_string((steady - link.heard_at).value / 1'000'000) + " s: down");
      if (link.manager) link.manager->start_again((*node)->def->name);
      link.responding = false;
      link.reported = false;
      observed_.edit().responding[index] = false;
      commit_.happen(decide_lost(commit_.decided(), index, now));
    }
    reconcile(index);
    see_to_reboot(index, link);
  }
  if (auto reboots = decide_reboots(commit_.decided(), now); !reboots.empty()) commit_.happen(std::move(reboots));
  readers_.time(now);
  // Some wait for a time of their own: the end of an exempt time, of the patience for a switch.
  if (steady - replanned_at_ >= settings_.replan_every && !commit_.durable().queue.empty()) {
    replanned_at_ = steady;
    planning_.wanted();
  }
  // Reservations begin without anything happening.
  for (const auto& [id, reservation] : commit_.durable().reservations)
    if (reservation->starts(now) <= now && reservation->starts(now) > now - seconds(2)) planning_.wanted();
  loop_.after(tick_every, [this] { tick(); });
}

void Controller::arm_deadline() {
  const Time next = next_deadline(commit_.decided());
  if (next == deadline_armed_) return;
  if (deadline_timer_ != 0) loop_.cancel(deadline_timer_);
  deadline_timer_ = 0;
  deadline_armed_ = next;
  if (next == never) return;
  // A deadline that breaks a law stays due, and a turn of those who share CPUs while there is no room for it.
  const Duration least = commit_.has_refused() || short_of_room_ ? seconds(1) : Duration{0};
  const Duration wait{std::clamp((next - loop_.now()).value, least.value, seconds(60).value)};
  deadline_timer_ = loop_.after(wait, [this] {
    deadline_timer_ = 0;
    deadline_armed_ = never;
    expire();
    arm_deadline();
  });
}

void Controller::expire() {
  see_clock();
  // Bounded per turn, so that a thousand records that go at once do not hold up everyone else.
  for (int i = 0; i < 500; ++i) {
    const State& state = commit_.decided();
    const bool turn_is_due = state.slice_due.is_set() && state.slice_due <= loop_.now();
    auto events = decide_expired(state, loop_.now(), !turn_is_due || has_room_for({}));
    // Before the record goes the entry of a crontab gets its next time, room or not: else it never came again.
    if (const auto* gone = events.empty() ? nullptr : std::get_if<JobForgotten>(&events.front()); gone)
      if (auto next = decide_next_run(state, gone->key, loop_.now()); !next.empty()) events = std::move(next);
    if (events.empty() || !commit_.happen(std::move(events))) return;
  }
}

// ---- people ----

void Controller::request(const Asker& asker, wire::Request request) {
  requests_.add(asker, asker.client, [this, asker, request = std::move(request)] {
    take_up(asker, request);
    return false;
  });
}

void Controller::take_up(const Asker& asker, const wire::Request& request) {
  see_clock();
  const Time before = loop_.steady();
  const auto what = [&] {
    return std::string{"Processing RPC: "} + call_name(request.body_case()).name +
           " from UID=" + std::to_string(asker.uid.value) + " client " + std::to_string(asker.client);
  };
  lines_.debug2(what);
  lines_.about(DebugFlag::audit_rpcs, what);
  lines_.about(DebugFlag::protocol, [&] {
    return std::string{call_name(request.body_case()).name} + " of " + std::to_string(request.ByteSizeLong()) +
           " bytes from UID=" + std::to_string(asker.uid.value);
  });
  // Rights by sacctmgr are those of a name, which may take a while to find.
  const bool known = asker.plain_user || asker.uid.value == 0 || asker.uid == settings_.slurm_user ||
                     !asker_names_.wants(asker.uid, loop_.steady());
  if (!known && has_offices())
    look_up(asker, asker.uid, asker.gid, [this, asker, request](const Result<UserIdentity>& identity) {
      // Else an ordinary user, and asked for again. Where nobody answers, who was known before stays so.
      if (identity)
        asker_names_.learn(asker.uid, identity->user_name, loop_.steady());
      else if (identity.error().code == Errc::not_found)
        asker_names_.forget(asker.uid);
      else
        asker_names_.postpone(asker.uid, loop_.steady());
      carry_out(asker, request);
    });
  else
    carry_out(asker, request);
  diagnostics_.answered(request, asker.uid, loop_.steady() - before);
  if (!asker.plain_user && diagnostics_.wants_name(asker.uid))
    identities_.find(asker.uid, asker.gid, [this, uid = asker.uid](Result<UserIdentity> identity) {
      if (identity) diagnostics_.is_called(uid, identity->user_name);
    });
}

// Whom a name service kept waiting takes his turn with the others when it answers, if he is still there.
void Controller::look_up(const Asker& asker, UserId uid, GroupId gid,
                         std::move_only_function<void(const Result<UserIdentity>&)> then) {
  const auto at_once = std::make_shared<bool>(true);
  identities_.find(uid, gid,
                   [this, at_once, whose = Turn(asker), client = asker.client,
                    then = std::move(then)](Result<UserIdentity> identity) mutable {
                     if (*at_once) return then(identity);
                     requests_.add(whose, client, [then = std::move(then), identity = std::move(identity)]() mutable {
                       then(identity);
                       return false;
                     });
                   });
  *at_once = false;
}

void Controller::client_left(ClientId client) {
  lines_.debug3([&] { return "client " + std::to_string(client) + " is gone"; });
  step_client_left(client);
  std::erase_if(asked_ports_, [&](const auto& asked) { return asked.first.first == client; });
  requests_.client_left(client);
  long_changes_.client_left(client);
  query_worker_.client_left(client);
  script_reads_.client_left(client);
  long_answers_.client_left(client);
  std::erase_if(inquiries_, [&](const auto& one) {
    if (one.second.client != client) return false;
    loop_.cancel(one.second.timer);
    return true;
  });
  readers_.clients.client_left(client);
}

void Controller::carry_out(const Asker& asker, const wire::Request& request) {
  if (!Queries{*this, asker, request}.handle()) Commands{*this, asker, request}.handle();
}

}  // namespace millrace
