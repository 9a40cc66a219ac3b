// src/controller/commands.cpp - see commands.h.
#include "controller/commands.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "controller/config_facts.h"
#include "controller/job_extras.h"
#include "controller/resources.h"
#include "controller/submission.h"
#include "controller/top_job.h"
#include "core/admission/cancel_job.h"
#include "core/admission/create_node.h"
#include "core/admission/modify_job.h"
#include "core/admission/report_node.h"
#include "core/admission/suspend_job.h"
#include "core/ledger/apply.h"
#include "core/model/request_limits.h"
#include "core/planner/trial.h"
#include "wire/frame.h"

namespace millrace {
namespace {

JobName name_of(const wire::JobName& name) { return {JobId{name.job_id()}, name.tasks()}; }

template <class Names>
std::vector<JobName> names_of(const Names& names) {
  std::vector<JobName> out;
  for (const auto& name : names) out.push_back(name_of(name));
  return out;
}

void put_refusal(const Refusal& refusal, wire::Failure& out) {
  out.set_code(static_cast<std::uint32_t>(refusal.code));
  out.set_text(slurm_text(refusal.code));
  for (const std::string& note : refusal.notes) out.add_notes(note);
}

// Jobs that pass every filter of a scancel without ids (or with them).
bool passes(const State& state, const wire::CancelJobs& ask, const Job& job, const std::set<NodeIndex>& nodes) {
  const JobSpec& spec = *job.spec;
  if (!ask.user().empty() && std::to_string(spec.owner->uid.value) != ask.user()) return false;
  if (!ask.partition().empty() && state.partition(spec.partition).def.name != ask.partition()) return false;
  if (!ask.name().empty() && spec.name != ask.name()) return false;
  if (!ask.account().empty() && spec.account != ask.account()) return false;
  if (!ask.qos().empty() && spec.rare_request().qos != ask.qos()) return false;
  if (!ask.state().empty()) {
    const std::string wanted = lower(ask.state());
    const bool pending = wanted == "pending" || wanted == "pd", running = wanted == "running" || wanted == "r";
    const bool suspended = wanted == "suspended" || wanted == "s";
    if (!(pending && job.state == JobState::pending) && !(running && job.state == JobState::running) &&
        !(suspended && job.state == JobState::suspended))
      return false;
  }
  if (!ask.nodes().empty()) {
    const auto on = [&](const NodeShare& share) { return !share.lost && nodes.contains(share.node); };
    if (!job.placement || !std::ranges::any_of(job.placement->shares, on)) return false;
  }
  return true;
}

}  // namespace

wire::Reply Commands::reply() const {
  wire::Reply out;
  out.set_number(request_.number());
  return out;
}

void Commands::refuse_with(std::uint32_t code, const std::string& text, const std::string& note) {
  wire::Reply out = reply();
  out.mutable_failure()->set_code(code);
  out.mutable_failure()->set_text(text);
  if (!note.empty()) out.mutable_failure()->add_notes(note);
  answer(std::move(out));
}

void Commands::refuse_with(const Refusal& refusal) {
  wire::Reply out = reply();
  put_refusal(refusal, *out.mutable_failure());
  answer(std::move(out));
}

void Commands::answer_when_durable(wire::Reply out) {
  c_.commit_.when_durable(
      [&clients = c_.clients_, client = asker_.client, out = std::move(out)] { clients.reply(client, out); });
}

bool Commands::operators_may(const wire::Request& request) {
  using B = wire::Request::BodyCase;
  switch (request.body_case()) {
    case B::kUpdateNode:
    case B::kUpdatePartition:
    case B::kDeletePartition:
    case B::kCreateNodes:
    case B::kDeleteNodes:
    case B::kShutdown:
    case B::kReconfigure:
    case B::kSetTrigger:
    case B::kClearTriggers:
    case B::kIssueToken:
    case B::kSetDamping:
      return false;
    default:
      return true;
  }
}

// Rights by sacctmgr are those of a name, which may take a while to find.
void Commands::handle() {
  if (actor_.is_admin || !c_.has_offices() || c_.asker_names_.contains(asker_.uid)) return dispatch();
  c_.identities_.find(asker_.uid, asker_.gid,
                      [&c = c_, asker = asker_, request = request_](Result<UserIdentity> identity) {
                        c.asker_names_[asker.uid] = identity ? identity->user_name : std::string{};
                        Commands{c, asker, request}.dispatch();
                      });
}

void Commands::dispatch() {
  using B = wire::Request::BodyCase;
  switch (request_.body_case()) {
    case B::kSubmit:
      return submit(request_.submit());
    case B::kCancel:
      return cancel(request_.cancel());
    case B::kUpdateJob:
      return update_job(request_.update_job());
    case B::kHold:
      return hold(request_.hold());
    case B::kRequeue:
      return requeue(request_.requeue());
    case B::kSuspend:
      return suspend(request_.suspend());
    case B::kUpdateNode:
      return update_node(request_.update_node());
    case B::kUpdatePartition:
      return update_partition(request_.update_partition());
    case B::kDeletePartition:
      return delete_partition(request_.delete_partition());
    case B::kIssueToken:
      return issue_token(request_.issue_token());
    case B::kSetDamping:
      return set_damping(request_.set_damping());
    case B::kCreateNodes:
      return create_nodes(request_.create_nodes());
    case B::kDeleteNodes:
      return delete_nodes(request_.delete_nodes());
    case B::kShutdown:
      return shutdown(request_.shutdown());
    case B::kReconfigure:
      return reconfigure();
    case B::kSetLogging:
      return set_logging(request_.set_logging());
    case B::kWaitJob:
      return wait(request_.wait_job());
    case B::kReserve:
      return reserve(request_.reserve());
    case B::kRemoveReservation:
      return remove_reservation(request_.remove_reservation());
    case B::kCreateStep:
      return create_step(request_.create_step());
    case B::kSignalStep:
      return signal_step(request_.signal_step());
    case B::kUpdateStep:
      return update_step(request_.update_step());
    case B::kAttachStep:
      return attach_step(request_.attach_step());
    case B::kSampleSteps:
      return sample_steps(request_.sample_steps());
    case B::kNotifyJob:
      return notify_job(request_.notify_job());
    case B::kTopJobs:
      return top(request_.top_jobs());
    case B::kEndAllocation:
      return end_allocation(request_.end_allocation());
    case B::kSetCrontab:
      return set_crontab(request_.set_crontab());
    case B::kQueryCrontab:
      return query_crontab(request_.query_crontab());
    case B::kSetTrigger:
      return set_trigger(request_.set_trigger());
    case B::kClearTriggers:
      return clear_triggers(request_.clear_triggers());
    case B::kQueryTriggers:
      return query_triggers();
    case B::kChangeAccounts:
      return change_accounts(request_.change_accounts());
    case B::kAnnotateRecord:
      return annotate_record(request_.annotate_record());
    default:
      return refuse_with(2036, "Requested operation not supported on this system", "unknown request");
  }
}

// ---- jobs that are there ----

// Decides one record after the other, each on what the one before left.
void Commands::change_jobs(const std::vector<JobName>& names, const Decide& decide, bool skip_refused) {
  wire::Reply out = reply();
  wire::JobsChanged& changed = *out.mutable_jobs_changed();
  for (const JobName& name : names) {
    const auto failed = [&](const std::string& shown, const Refusal& refusal) {
      auto* outcome = changed.add_failed();
      outcome->set_job(shown);
      outcome->set_code(static_cast<std::uint32_t>(refusal.code));
      outcome->set_text(slurm_text(refusal.code));
    };
    const auto selected = select_jobs(c_.commit_.decided(), name);
    if (!selected) {
      failed(shown_name(name), selected.error());
      continue;
    }
    std::size_t done = 0;
    std::optional<Refusal> first;
    for (const SelectedJob& which : *selected) {
      if (!c_.commit_.decided().find_job(which.key)) continue;
      auto decision = decide(c_.commit_.decided(), which);
      if (!decision) {
        if (!first) first = decision.error();
        continue;
      }
      ++done;
      if (!decision->empty()) c_.commit_.happen(*std::move(decision));
    }
    // Of an array those that could be changed were; it failed only if none could.
    if (done == 0 && first && !skip_refused)
      failed(shown_name(name), *first);
    else
      changed.add_changed(shown_name(name));
  }
  answer_when_durable(std::move(out));
}

// A job of scrontab.
static bool comes_again(const Job& job) { return !job.spec->extra_request().cron.empty(); }

void Commands::cancel(const wire::CancelJobs& ask) {
  const State& state = c_.commit_.decided();
  std::set<NodeIndex> nodes;
  if (!ask.nodes().empty()) {
    const auto indexes = resolve_nodes(state, ask.nodes());
    if (!indexes) return refuse_with(indexes.error());
    for (const std::uint32_t index : *indexes) nodes.insert(NodeIndex{index});
  }
  const bool filtered = !ask.user().empty() || !ask.partition().empty() || !ask.name().empty() ||
                        !ask.account().empty() || !ask.state().empty() || !ask.nodes().empty() || !ask.qos().empty();
  std::vector<JobName> names = names_of(ask.jobs());
  if (filtered) {
    const auto matches = [&](const Job& job) {
      return job.state != JobState::ended && may_change(job, actor_) && passes(state, ask, job, nodes) &&
             (names.size() > 0 || ask.cron() || !comes_again(job));
    };
    std::vector<JobName> chosen;
    if (names.empty()) {
      for (const auto& [key, job] : state.jobs) {
        if (!matches(*job)) continue;
        if (job->is_component()) {
          // With its leader, or alone where it may go alone.
          if (job->state != JobState::pending && !matches(state.job(job->het->leader)))
            chosen.push_back({state.job(job->het->leader).id, "+" + std::to_string(job->het->offset)});
          continue;
        }
        const ArrayState* array = state.find_array(job->array);
        if (!job->array_task)
          chosen.push_back({job->id, {}});
        else
          chosen.push_back({array->id, std::to_string(*job->array_task)});
        // An array's rest is meant alone here: its running tasks are judged one by one.
        if (job->is_array_rest()) chosen.back() = {array->id, "[" + format_index_set(array->rest) + "]"};
      }
    } else {
      for (const JobName& name : names) {
        const auto selected = select_jobs(state, name);
        if (!selected ||
            std::ranges::any_of(*selected, [&](const SelectedJob& s) { return matches(state.job(s.key)); }))
          chosen.push_back(name);
      }
    }
    names = std::move(chosen);
  }
  if (ask.signal() != 0) return signal_jobs(ask, names);
  change_jobs(names, [&](const State& now, const SelectedJob& which) {
    const Job& job = now.job(which.key);
    if (filtered && !passes(now, ask, job, nodes)) return Decision{std::vector<Event>{}};
    if (!ask.cron() && comes_again(job)) return Decision{refuse(RefusalCode::cannot_cancel_cron)};
    return decide_cancel(now, which, actor_, c_.loop_.now());
  });
}

// A signal is no fact: it goes to the nodes that run the job now, or nowhere. Of a pending job only KILL and TERM mean
// something.
void Commands::signal_jobs(const wire::CancelJobs& ask, const std::vector<JobName>& names) {
  const State& state = c_.commit_.durable();
  const bool ends = ask.signal() == 9 && !ask.batch_only();
  if (ends)
    return change_jobs(names, [&](const State& now, const SelectedJob& which) {
      return decide_cancel(now, which, actor_, c_.loop_.now());
    });
  wire::Reply out = reply();
  for (const JobName& name : names) {
    const auto fail_with = [&](RefusalCode code) {
      auto* outcome = out.mutable_jobs_changed()->add_failed();
      outcome->set_job(shown_name(name));
      outcome->set_code(static_cast<std::uint32_t>(code));
      outcome->set_text(slurm_text(code));
    };
    const auto selected = select_jobs(state, name);
    if (!selected) {
      fail_with(RefusalCode::invalid_job_id);
      continue;
    }
    bool sent = false, denied = false, suspended = false;
    for (const SelectedJob& which : *selected) {
      const Job& job = state.job(which.key);
      denied = denied || !may_change(job, actor_);
      suspended = suspended || job.state == JobState::suspended;
      if (!may_change(job, actor_) || job.state != JobState::running) continue;
      sent = true;
      if (job.is_component() && ask.batch_only()) continue;  // the script is the leader's
      wire::SignalAttempt signal;
      signal.set_job_key(job.key.value);
      signal.set_attempt(job.attempt.value);
      signal.set_signal(ask.signal());
      signal.set_batch_only(ask.batch_only());
      signal.set_full(ask.full());
      c_.signal_nodes(job, signal);
    }
    if (sent)
      out.mutable_jobs_changed()->add_changed(shown_name(name));
    else
      fail_with(denied ? RefusalCode::access_denied : suspended ? RefusalCode::suspended : RefusalCode::not_running);
  }
  if (!out.has_jobs_changed()) out.mutable_jobs_changed();
  answer(std::move(out));
}

void Commands::hold(const wire::HoldJobs& ask) {
  std::vector<JobName> names = names_of(ask.jobs());
  if (!ask.name().empty())
    for (const auto& [key, job] : c_.commit_.decided().jobs)
      if (job->spec->name == ask.name() && job->state == JobState::pending && !job->is_component() &&
          may_change(*job, actor_))
        names.push_back({job->id, {}});
  change_jobs(names, [&](const State& now, const SelectedJob& which) {
    return ask.release() ? decide_release(now, which, actor_, c_.loop_.now())
                         : decide_hold(now, which, ask.as_user(), actor_, c_.loop_.now());
  });
}

void Commands::requeue(const wire::RequeueJobs& ask) {
  change_jobs(names_of(ask.jobs()), [&](const State& now, const SelectedJob& which) {
    const Job& job = now.job(which.key);
    if (ask.incomplete() && job.state == JobState::ended && job.outcome == Outcome::completed)
      return Decision{std::vector<Event>{}};
    return decide_requeue(now, which, ask.hold(), actor_, c_.loop_.now(), ask.special_exit());
  });
}

void Commands::suspend(const wire::SuspendJobs& ask) {
  change_jobs(names_of(ask.jobs()), [&](const State& now, const SelectedJob& which) {
    return ask.resume() ? decide_resume(now, which, actor_, c_.loop_.now())
                        : decide_suspend(now, which, actor_, c_.loop_.now());
  });
}

// Whether users may put their own jobs first is the site's word, as in Slurm.
static bool users_may_top(const ControllerHooks& hooks) {
  wire::Config config;
  hooks.show_config(config);
  for (const auto& entry : config.entries())
    if (entry.key() == "SchedulerParameters")
      for (const std::string_view word : split(entry.value(), ','))
        if (equals_ignoring_case(trim(word), "enable_user_top")) return true;
  return false;
}

void Commands::top(const wire::TopJobs& ask) {
  const bool allowed = actor_.is_admin || users_may_top(c_.hooks_);
  change_jobs(names_of(ask.jobs()), [&](const State& now, const SelectedJob& which) -> Decision {
    if (!allowed) return refuse(RefusalCode::access_denied);
    return decide_top(now, which, actor_, c_.loop_.now());
  });
}

void Commands::update_job(const wire::UpdateJob& ask) {
  if (ask.extras().has_overcommit() || ask.extras().has_user_env() || ask.extras().has_resv_ports() ||
      ask.extras().has_no_allocate())
    return refuse_with({RefusalCode::not_supported,
                        {"--overcommit, --get-user-env, --resv-ports and --no-allocate are settled at submission"}});
  ModifyJob change;
  JobModified& c = change.change;
  if (ask.has_time_limit_minutes()) c.time_limit_minutes = ask.time_limit_minutes();
  if (ask.has_time_limit_change_minutes()) change.time_limit_change_minutes = ask.time_limit_change_minutes();
  if (ask.has_name()) c.name = ask.name();
  if (ask.has_partition()) change.partition = ask.partition();
  if (ask.has_nice()) c.nice = ask.nice();
  if (ask.has_priority()) c.priority = ask.priority();
  if (ask.has_begin_at_us()) c.begin_at = bounded_time(ask.begin_at_us());
  if (ask.has_comment()) c.comment = ask.comment();
  if (ask.has_min_nodes()) c.min_nodes = ask.min_nodes();
  if (ask.has_max_nodes()) c.max_nodes = ask.max_nodes();
  if (ask.has_tasks()) c.tasks = ask.tasks();
  if (ask.has_cpus_per_task()) c.cpus_per_task = ask.cpus_per_task();
  if (ask.has_memory_per_node_mib()) c.memory_per_node = Mebibytes{bounded_mebibytes(ask.memory_per_node_mib())};
  if (ask.has_memory_per_cpu_mib()) c.memory_per_cpu = Mebibytes{bounded_mebibytes(ask.memory_per_cpu_mib())};
  if (ask.has_dependency()) change.dependency = ask.dependency();
  if (ask.has_required_nodes()) change.required_nodes = ask.required_nodes();
  if (ask.has_excluded_nodes()) change.excluded_nodes = ask.excluded_nodes();
  if (ask.has_requeue()) c.requeue = ask.requeue();
  if (ask.has_array_throttle()) c.array_throttle = ask.array_throttle();
  if (ask.has_account()) c.account = ask.account();
  if (ask.has_std_out()) c.std_out = ask.std_out();
  if (ask.has_std_err()) c.std_err = ask.std_err();
  if (ask.has_work_dir()) c.work_dir = ask.work_dir();
  if (ask.has_qos()) change.qos = ask.qos();
  if (ask.has_tasks_per_node()) c.tasks_per_node = ask.tasks_per_node();
  if (ask.has_min_cpus_per_node()) c.min_cpus_per_node = ask.min_cpus_per_node();
  if (ask.has_exclusive()) c.exclusive = ask.exclusive();
  if (ask.has_oversubscribe()) c.oversubscribe = ask.oversubscribe();
  if (!ask.extras().mail_user().empty() && !is_mail_address(ask.extras().mail_user()))
    return refuse_with(2036, "Requested operation not supported on this system", odd_mail_address);
  if (ask.extras().has_core_spec() && !c_.settings_.cluster.allow_spec_resources)
    return refuse_with(2036, "Requested operation not supported on this system",
                       "cores cannot be spared: AllowSpecResourcesUsage is not set in slurm.conf");
  if (ask.extras().reboot() && !actor_.is_admin)
    return refuse_with(2002, "Access/permission denied", "rebooting of nodes is only allowed for admins");
  if (ask.extras().reboot() && !c_.hooks_.site_programs().nodes_can_reboot)
    return refuse_with(2036, "Requested operation not supported on this system",
                       "nodes are not rebooted: slurm.conf has no RebootProgram");
  // Both are for whole nodes.
  if (ask.extras().reboot() || (ask.extras().has_core_spec() && ask.extras().core_spec() != no_core_spec))
    c.exclusive = true;
  if (ask.has_std_in()) c.std_in = ask.std_in();
  if (ask.has_end_at_us()) change.end_at = bounded_time(ask.end_at_us());
  change.admin_words =
      ask.extras().has_admin_comment() || ask.extras().has_system_comment() || ask.extras().has_site_factor();
  change.reset_accrue = ask.reset_accrue_time();
  if (ask.has_min_cpus()) change.min_cpus = ask.min_cpus();
  if (ask.has_extras())
    change.extras = [said = ask.extras(), append = ask.append_admin_comment()](JobExtras& extras) {
      const std::string before = extras.admin_comment;
      read_extras(said, extras);
      if (said.has_site_factor()) extras.site_factor = said.site_factor();  // nobody submits a job with one
      if (append && !before.empty()) extras.admin_comment = before + ',' + extras.admin_comment;
    };
  change.wishes = to_wishes(ask.resources());
  change_jobs({name_of(ask.job())}, [&](const State& now, const SelectedJob& which) {
    // What a crontab says is changed there; an administrator may still have one of its jobs run now.
    if (!actor_.is_admin && comes_again(now.job(which.key))) return Decision{refuse(RefusalCode::cannot_modify_cron)};
    return decide_modify(now, which, change, actor_, c_.loop_.now());
  });
}

// ---- nodes, partitions, the daemon itself ----

void Commands::update_node(const wire::UpdateNode& ask) {
  auto indexes = resolve_nodes(c_.commit_.decided(), equals_ignoring_case(ask.nodes(), "ALL") ? "" : ask.nodes());
  if (!indexes) return refuse_with(indexes.error());
  if (equals_ignoring_case(ask.nodes(), "ALL"))
    for (const auto& [index, node] : c_.commit_.decided().nodes)
      if (node->configured && !node->future) indexes->push_back(index.value);
  const bool reboots = ask.state() == "REBOOT" || ask.state() == "REBOOT_ASAP";
  if (reboots && !c_.hooks_.site_programs().nodes_can_reboot)
    return refuse_with(2036, "Requested operation not supported on this system",
                       "RebootProgram is not set in slurm.conf");
  ChangeNode change;
  change.state = ask.state();
  change.reason = ask.reason();
  change.after_reboot = ask.next_state() == "DOWN"     ? AfterReboot::down
                        : ask.next_state() == "RESUME" ? AfterReboot::resume
                                                       : AfterReboot::as_before;
  if (ask.has_weight()) change.change.weight = ask.weight();
  if (ask.has_features()) change.change.features = ask.features();
  if (ask.has_comment()) change.change.comment = ask.comment();
  if (ask.has_extra()) change.change.extra = ask.extra();
  if (ask.has_address()) change.change.address = ask.address();
  if (ask.has_host_name()) change.change.host_name = ask.host_name();
  if (ask.has_active_features()) change.change.active_features = ask.active_features();
  if (ask.has_instance_id()) change.change.instance_id = ask.instance_id();
  if (ask.has_instance_type()) change.change.instance_type = ask.instance_type();
  if (ask.has_resume_after_seconds())
    change.change.resume_at =
        ask.resume_after_seconds() < 0 ? Time{} : c_.loop_.now() + seconds(ask.resume_after_seconds());
  for (const std::uint32_t index : *indexes) {
    change.node = NodeIndex{index};
    auto decision = decide_change_node(c_.commit_.decided(), change, actor_, c_.loop_.now());
    if (!decision) return refuse_with(decision.error());
    c_.commit_.happen(*std::move(decision));
  }
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

// All of them or none: each is checked before the first is made.
void Commands::create_nodes(const wire::CreateNodes& ask) {
  auto defs = nodes_from_words(ask.names(), ask.configuration());
  if (!defs) return refuse_with(2018, slurm_text(RefusalCode::invalid_node_name), defs.error().story);
  State copy = c_.commit_.decided();
  std::vector<Event> events;
  for (const NodeDef& def : *defs) {
    auto decision = decide_create_node(copy, def, actor_, c_.loop_.now());
    if (!decision) return refuse_with(decision.error());
    for (const Event& event : *decision) apply(copy, event);
    events.insert(events.end(), decision->begin(), decision->end());
  }
  c_.commit_.happen(std::move(events));
  c_.know_nodes();
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

void Commands::delete_nodes(const wire::DeleteNodes& ask) {
  const auto indexes = resolve_nodes(c_.commit_.decided(), ask.names());
  if (!indexes) return refuse_with(indexes.error());
  std::vector<Event> events;
  for (const std::uint32_t index : *indexes) {
    auto decision = decide_delete_node(c_.commit_.decided(), NodeIndex{index}, actor_, c_.loop_.now());
    if (!decision) return refuse_with(decision.error());
    events.insert(events.end(), decision->begin(), decision->end());
  }
  c_.commit_.happen(std::move(events));
  for (const std::uint32_t index : *indexes) {
    c_.links_.erase(NodeIndex{index});
    c_.observed_.edit().responding.erase(NodeIndex{index});
    c_.observed_.edit().telemetry.erase(NodeIndex{index});
  }
  c_.know_nodes();
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

void Commands::shutdown(const wire::Shutdown& ask) {
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
  c_.commit_.when_durable([&c = c_, agents = ask.agents_too()] {
    if (agents)
      for (ResourceManager* manager : c.managers_) manager->stop_nodes();
    c.hooks_.shutdown(agents);
  });
}

void Commands::reconfigure() {
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  if (!c_.hooks_.reconfigure) return refuse_with(2036, "Requested operation not supported on this system");
  auto fresh = c_.hooks_.reconfigure();
  if (!fresh) return refuse_with(2036, "Requested operation not supported on this system", fresh.error().story);
  fresh->facts.at = c_.loop_.now();
  c_.take_settings(fresh->settings);
  c_.configured(fresh->facts);
  for (ResourceManager* manager : c_.managers_) manager->read_configuration();
  c_.run_triggers(fired_by(c_.commit_.decided(), TriggerEvent::reconfigured));
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

void Commands::wait(const wire::WaitJob& ask) {
  const State& state = c_.commit_.durable();
  const Job* job = state.find_job(JobId{ask.job_id()});
  if (!job) return refuse_with({RefusalCode::invalid_job_id, {}});
  if (!may_change(*job, actor_)) return refuse_with({RefusalCode::access_denied, {}});
  const ArrayState* array = state.find_array(job->array);
  const JobKey key = array && array->id == job->id ? job->array : job->key;
  c_.waiters_[key].push_back({asker_.client, request_.number(), ask.until_started(), ask.as_client()});
  if (ask.as_client()) c_.absent_clients_.came(key);
  c_.tell_waiters(key);
}

// ---- steps ----

const Job* Commands::job_for_steps(std::uint32_t id) {
  const Job* job = c_.commit_.durable().find_job(JobId{id});
  if (!job || !job->placement) return refuse_with({RefusalCode::invalid_job_id, {}}), nullptr;
  if (!may_change(*job, actor_)) return refuse_with({RefusalCode::access_denied, {}}), nullptr;
  if (job->state == JobState::suspended)
    return refuse_with(2077, "Job is current suspended, requested operation disabled"), nullptr;
  if (job->state != JobState::running) return refuse_with(2021, "Job/step already completing or completed"), nullptr;
  return job;
}

void Commands::create_step(const wire::CreateStep& ask) {
  const Job* job = refuses_sizes(ask.step(), ask.environment(), {}) ? nullptr : job_for_steps(ask.job_id());
  if (!job) return;
  if (ask.component() == 0) return c_.ask_keeper(asker_, request_.number(), *job, ask);
  // Named by the number of the whole, which is its first component's.
  if (!job->is_het_leader())
    return refuse_with(
        {RefusalCode::not_het_job,
         {"job " + std::to_string(ask.job_id()) + " has no component " + std::to_string(ask.component())}});
  if (ask.component() >= job->het->size)
    return refuse_with({RefusalCode::too_many_components,
                        {"--het-group=" + std::to_string(ask.component()) + ": the job has " +
                         std::to_string(job->het->size) + " components, counted from 0"}});
  if (const Job* component = job_for_steps(ask.job_id() + ask.component()))
    c_.ask_keeper(asker_, request_.number(), *component, ask);
}

void Commands::end_allocation(const wire::EndAllocation& ask) {
  const Job* job = job_for_steps(ask.job_id());
  if (!job) return;
  if (!job->spec->allocation_only)
    return refuse_with(2036, "Requested operation not supported on this system",
                       "the job was not made by salloc; scancel ends it");
  wire::StepToNode message;
  message.set_job_key(job->key.value);
  message.set_attempt(job->attempt.value);
  *message.mutable_end() = ask;
  if (!c_.tell_keeper(*job, message))
    return refuse_with(2016, "Requested nodes are busy", "the first node of the job does not answer; scancel ends it");
  wire::Reply out = reply();
  out.mutable_done();
  answer(std::move(out));
}

}  // namespace millrace
