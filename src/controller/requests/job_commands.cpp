// src/controller/requests/job_commands.cpp - requests that change jobs that are there: cancel, hold, requeue, suspend,
// update.
#include <algorithm>
#include <memory>
#include <set>

#include "base/text.h"
#include "controller/requests/handlers.h"
#include "controller/requests/job_extras.h"
#include "controller/requests/top_job.h"
#include "controller/views/resources.h"
#include "core/admission/cancel_job.h"
#include "core/admission/modify_job.h"
#include "core/admission/submit_job.h"
#include "core/admission/suspend_job.h"
#include "core/model/request_limits.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

// Of one turn of the loop. To look at a record is little beside deciding about it.
constexpr std::uint64_t steps_per_turn = 1000, looks_per_step = 20;

// About one record: they look at all jobs, at all those that a long chain waits for, at all nodes.
bool is_long_decision(const wire::Request& request) {
  if (request.has_top_jobs()) return true;
  const wire::UpdateJob& change = request.update_job();
  return change.has_dependency() || change.has_required_nodes() || change.has_excluded_nodes() ||
         change.has_resources() || change.has_extras() || change.has_partition();
}

JobName name_of(const wire::JobName& name) { return {JobId{name.job_id()}, name.tasks()}; }

template <class Names>
std::vector<JobName> names_of(const Names& names) {
  std::vector<JobName> out;
  for (const auto& name : names) out.push_back(name_of(name));
  return out;
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

// A request that changes jobs. They may be very many: others get their turns between some and the next.
struct JobCommands::ChangeRun {
  Asker asker;
  wire::Request request;
  std::vector<JobName> names;
  Decide decide;
  bool may_use_reserve;  // of the log: a full disk must not keep anybody from ending jobs
  wire::Reply out;
  JobSelector selector;
  std::size_t name = 0;  // the next one
  // Of the present name:
  std::optional<std::vector<SelectedJob>> selected{};
  std::size_t record = 0, done = 0;
  std::optional<std::pair<std::uint32_t, std::string>> first{};  // refusal, with its text
};

// A request that sends a signal to jobs, of which there may be as many.
struct JobCommands::SignalRun {
  Asker asker;
  wire::Request request;
  std::vector<JobName> names;
  std::uint32_t signal;
  bool batch_only, full;
  wire::Reply out;
  JobSelector selector;
  std::size_t name = 0;  // the next one
};

void JobCommands::change_each(std::vector<JobName> names, Decide decide, std::uint64_t looked_at_max) {
  wire::Reply out = reply();
  out.mutable_jobs_changed();
  auto run = std::make_unique<ChangeRun>(ChangeRun{.asker = asker_,
                                                   .request = request_,
                                                   .names = std::move(names),
                                                   .decide = std::move(decide),
                                                   .may_use_reserve = request_.has_cancel(),
                                                   .out = std::move(out),
                                                   .selector = JobSelector{looked_at_max}});
  // Of the names only `names` is read from now on.
  if (run->request.has_cancel()) run->request.mutable_cancel()->clear_jobs();
  if (run->request.has_hold()) run->request.mutable_hold()->clear_jobs();
  if (run->request.has_requeue()) run->request.mutable_requeue()->clear_jobs();
  if (run->request.has_suspend()) run->request.mutable_suspend()->clear_jobs();
  c_.queues.long_changes.add(asker_, asker_.client,
                             [&services = c_, run = std::move(run)] { return go_on(services, *run); });
}

// Decides one record after the other, each on what the one before left. False: it has been answered.
bool JobCommands::go_on(Services& services, ChangeRun& run) {
  JobCommands self{services, run.asker, run.request};
  Commit& commit = services.commit;
  wire::JobsChanged& changed = *run.out.mutable_jobs_changed();
  const auto told = [](const Refusal& refusal) {
    return std::pair{static_cast<std::uint32_t>(refusal.code), std::string{slurm_text(refusal.code)}};
  };
  const auto failed = [&](const JobName& name, std::pair<std::uint32_t, std::string> why) {
    auto* outcome = changed.add_failed();
    outcome->set_job(shown_name(name));
    outcome->set_code(why.first);
    outcome->set_text(std::move(why.second));
  };
  std::uint64_t steps = 0;
  for (; run.name < run.names.size(); ++steps) {
    if (steps >= steps_per_turn) return true;
    const JobName& name = run.names[run.name];
    if (!run.selected) {
      const std::uint64_t before = run.selector.looked_at();
      auto selected = run.selector.select(commit.decided(), name);
      steps += (run.selector.looked_at() - before) / looks_per_step;
      if (!selected) {
        failed(name, told(selected.error()));
        ++run.name;
        continue;
      }
      run.selected = *std::move(selected);
      run.record = run.done = 0;
      run.first.reset();
    }
    if (run.record < run.selected->size()) {
      const SelectedJob& which = (*run.selected)[run.record++];
      if (!commit.decided().find_job(which.key)) continue;
      auto decision = run.decide(self, commit.decided(), which);
      if (is_long_decision(run.request)) steps += steps_per_turn;
      if (!decision) {
        if (!run.first) run.first = told(decision.error());
        continue;
      }
      if (!run.may_use_reserve && !decision->empty() && !commit.has_room(*decision)) {
        if (!run.first) run.first.emplace(told({RefusalCode::no_room, {}}));
        continue;
      }
      if (!decision->empty() && !commit.happen(*std::move(decision))) {
        if (!run.first) run.first = told({RefusalCode::unspecified, {}});
        continue;
      }
      ++run.done;
      continue;
    }
    // Of an array those that could be changed were; it failed only if none could.
    if (run.done == 0 && run.first)
      failed(name, *run.first);
    else
      changed.add_changed(shown_name(name));
    run.selected.reset();
    ++run.name;
  }
  self.answer_when_durable(std::move(run.out));
  return false;
}

// Those the asker may change, and perhaps others, in the order of their submission. Of somebody who has rights over no
// others only his own are looked at; with a name only those of that name, as the index of names finds them.
void JobCommands::each_live_job(const std::string& name, const std::function<void(const Job&)>& look) const {
  const State& state = c_.commit.decided();
  const bool of_others = actor_.is_admin || actor_.is_operator || !actor_.accounts.empty();
  if (of_others && name.empty()) {
    for (const auto& [key, job] : state.jobs) look(*job);
    return;
  }
  std::vector<JobKey> found;
  const std::uint64_t bits = name.empty() ? 0 : name_bits(name);
  const auto find = [&](UserId uid) {
    for (auto it = state.live_names.lower_bound({uid, bits, JobKey{0}});
         it != state.live_names.end() && (*it).first.uid == uid && (name.empty() || (*it).first.name_bits == bits);
         ++it)
      found.push_back((*it).first.key);
  };
  if (!of_others)
    find(actor_.uid);
  else
    for (const auto& [uid, owner] : state.owners) find(uid);
  std::ranges::sort(found);
  for (const JobKey key : found) look(state.job(key));
}

// A job of scrontab.
static bool comes_again(const Job& job) { return !job.spec->extra_request().cron.empty(); }

void JobCommands::cancel(const wire::CancelJobs& ask) {
  const State& state = c_.commit.decided();
  std::set<NodeIndex> nodes;
  if (!ask.nodes().empty()) {
    const auto indexes = resolve_nodes(state, ask.nodes());
    if (!indexes) return refuse_with(indexes.error());
    for (const std::uint32_t index : *indexes) nodes.insert(NodeIndex{index});
  }
  const bool filtered = !ask.user().empty() || !ask.partition().empty() || !ask.name().empty() ||
                        !ask.account().empty() || !ask.state().empty() || !ask.nodes().empty() || !ask.qos().empty();
  std::vector<JobName> names = names_of(ask.jobs());
  const bool made_here = filtered && names.empty();  // with each job once
  if (filtered) {
    const auto matches = [&](const Job& job) {
      return job.state != JobState::ended && may_change(job, actor_) && passes(state, ask, job, nodes) &&
             (names.size() > 0 || ask.cron() || !comes_again(job));
    };
    std::vector<JobName> chosen;
    if (names.empty()) {
      each_live_job(ask.name(), [&](const Job& job) {
        if (!matches(job)) return;
        if (job.is_component()) {
          // With its leader, or alone where it may go alone.
          if (job.state != JobState::pending && !matches(state.job(job.het->leader)))
            chosen.push_back({state.job(job.het->leader).id, "+" + std::to_string(job.het->offset)});
          return;
        }
        const ArrayState* array = state.find_array(job.array);
        if (!job.array_task)
          chosen.push_back({job.id, {}});
        else
          chosen.push_back({array->id, std::to_string(*job.array_task)});
        // An array's rest is meant alone here: its running tasks are judged one by one.
        if (job.is_array_rest()) chosen.back() = {array->id, "[" + format_index_set(array->rest) + "]"};
      });
    } else {
      JobSelector selector;
      for (const JobName& name : names) {
        if (selector.is_exhausted()) return refuse_with(JobSelector::refusal());
        const auto selected = selector.select(state, name);
        if (!selected ||
            std::ranges::any_of(*selected, [&](const SelectedJob& s) { return matches(state.job(s.key)); }))
          chosen.push_back(name);
      }
    }
    names = std::move(chosen);
  }
  const std::uint64_t looked_at_max = made_here ? UINT64_MAX : looked_at_usual_max;
  if (ask.signal() != 0) return signal(ask, names, made_here ? UINT64_MAX : JobSelector::usual_most);
  change_each(
      std::move(names),
      [filtered, nodes](const JobCommands& self, const State& now, const SelectedJob& which) {
        const wire::CancelJobs& filter = self.request_.cancel();
        const Job& job = now.job(which.key);
        if (filtered && !passes(now, filter, job, nodes)) return Decision{std::vector<Event>{}};
        if (!filter.cron() && comes_again(job)) return Decision{refuse(RefusalCode::cannot_cancel_cron)};
        return decide_cancel(now, which, self.actor_, self.c_.loop.now());
      },
      looked_at_max);
}

// A signal is no fact: it goes to the nodes that run the job now, or nowhere. Of a pending job only KILL and TERM mean
// something.
void JobCommands::signal(const wire::CancelJobs& ask, const std::vector<JobName>& names, std::uint64_t looked_at_max) {
  const bool ends = ask.signal() == 9 && !ask.batch_only();
  if (ends)
    return change_each(
        names,
        [](const JobCommands& self, const State& now, const SelectedJob& which) {
          return decide_cancel(now, which, self.actor_, self.c_.loop.now());
        },
        looked_at_max);
  wire::Reply out = reply();
  out.mutable_jobs_changed();
  auto run = std::make_unique<SignalRun>(SignalRun{asker_, request_, names, ask.signal(), ask.batch_only(), ask.full(),
                                                   std::move(out), JobSelector{looked_at_max}});
  run->request.mutable_cancel()->clear_jobs();
  c_.queues.long_changes.add(asker_, asker_.client,
                             [&services = c_, run = std::move(run)] { return go_on_signalling(services, *run); });
}

// False: it has been answered.
bool JobCommands::go_on_signalling(Services& services, SignalRun& run) {
  JobCommands self{services, run.asker, run.request};
  std::uint64_t steps = 0;
  for (; run.name < run.names.size(); ++steps) {
    if (steps >= steps_per_turn) return true;
    const std::uint64_t before = run.selector.looked_at();
    self.signal_job(run, run.names[run.name++]);
    steps += (run.selector.looked_at() - before) / looks_per_step;
  }
  self.answer(run.out);
  return false;
}

void JobCommands::signal_job(SignalRun& run, const JobName& name) const {
  const State& state = c_.commit.durable();
  wire::JobsChanged& changed = *run.out.mutable_jobs_changed();
  const auto fail_with = [&](RefusalCode code) {
    auto* outcome = changed.add_failed();
    outcome->set_job(shown_name(name));
    outcome->set_code(static_cast<std::uint32_t>(code));
    outcome->set_text(slurm_text(code));
  };
  const auto selected = run.selector.select(state, name);
  if (!selected)
    return fail_with(run.selector.is_exhausted() ? JobSelector::refusal().code : RefusalCode::invalid_job_id);
  if (selected->empty()) return;  // named before
  bool sent = false, denied = false, suspended = false;
  for (const SelectedJob& which : *selected) {
    const Job& job = state.job(which.key);
    denied = denied || !may_change(job, actor_);
    suspended = suspended || job.state == JobState::suspended;
    if (!may_change(job, actor_) || job.state != JobState::running) continue;
    sent = true;
    if (job.is_component() && run.batch_only) continue;  // the script is the leader's
    wire::SignalAttempt signal;
    signal.set_job_key(job.key.value);
    signal.set_attempt(job.attempt.value);
    signal.set_signal(run.signal);
    signal.set_batch_only(run.batch_only);
    signal.set_full(run.full);
    c_.orders.signal(job, signal);
  }
  if (sent)
    changed.add_changed(shown_name(name));
  else
    fail_with(denied ? RefusalCode::access_denied : suspended ? RefusalCode::suspended : RefusalCode::not_running);
}

void JobCommands::hold(const wire::HoldJobs& ask) {
  std::vector<JobName> names = names_of(ask.jobs());
  if (!ask.name().empty())
    each_live_job(ask.name(), [&](const Job& job) {
      if (job.spec->name == ask.name() && job.state == JobState::pending && !job.is_component() &&
          may_change(job, actor_))
        names.push_back({job.id, {}});
    });
  change_each(std::move(names), [](const JobCommands& self, const State& now, const SelectedJob& which) {
    const wire::HoldJobs& order = self.request_.hold();
    return order.release() ? decide_release(now, which, self.actor_, self.c_.loop.now())
                           : decide_hold(now, which, order.as_user(), self.actor_, self.c_.loop.now());
  });
}

void JobCommands::requeue(const wire::RequeueJobs& ask) {
  change_each(names_of(ask.jobs()), [](const JobCommands& self, const State& now, const SelectedJob& which) {
    const wire::RequeueJobs& order = self.request_.requeue();
    const Job& job = now.job(which.key);
    if (order.incomplete() && job.state == JobState::ended && job.outcome == Outcome::completed)
      return Decision{std::vector<Event>{}};
    return decide_requeue(now, which, order.hold(), self.actor_, self.c_.loop.now(), order.special_exit());
  });
}

void JobCommands::suspend(const wire::SuspendJobs& ask) {
  change_each(names_of(ask.jobs()), [](const JobCommands& self, const State& now, const SelectedJob& which) {
    return self.request_.suspend().resume() ? decide_resume(now, which, self.actor_, self.c_.loop.now())
                                            : decide_suspend(now, which, self.actor_, self.c_.loop.now());
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

void JobCommands::top(const wire::TopJobs& ask) {
  const bool allowed = actor_.is_admin || users_may_top(c_.hooks);
  change_each(names_of(ask.jobs()),
              [allowed](const JobCommands& self, const State& now, const SelectedJob& which) -> Decision {
                if (!allowed) return refuse(RefusalCode::access_denied);
                return decide_top(now, which, self.actor_, self.c_.loop.now());
              });
}

// What is added to a text must not make it longer than one that is said at once.
bool JobCommands::refuses_longer_comment(const wire::UpdateJob& ask) {
  if (!ask.append_admin_comment()) return false;
  const State& state = c_.commit.decided();
  const auto selected = select_jobs(state, name_of(ask.job()));
  if (!selected) return false;
  for (const SelectedJob& which : *selected) {
    const std::size_t size =
        state.job(which.key).spec->extra_request().admin_comment.size() + 1 + ask.extras().admin_comment().size();
    if (size <= name_bytes_max) continue;
    refuse_with(RefusalCode::too_long, "AdminComment would have " + std::to_string(size) + " bytes; the limit is " +
                                           std::to_string(name_bytes_max));
    return true;
  }
  return false;
}

// Each record that it names may get all of it.
bool JobCommands::refuses_bytes_of_change(const wire::UpdateJob& ask) {
  const std::size_t beyond = StoredBytes::beyond_ordinary(ask.ByteSizeLong());
  if (beyond == 0) return false;
  const State& state = c_.commit.decided();
  const auto selected = select_jobs(state, name_of(ask.job()));
  if (!selected || selected->empty()) return false;
  return refuses_bytes(state.job(selected->front().key).spec->owner->uid, beyond * selected->size());
}

void JobCommands::update(const wire::UpdateJob& ask) {
  if (refuses_longer_comment(ask) || refuses_bytes_of_change(ask)) return;
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
    return refuse_with(RefusalCode::not_supported, odd_mail_address);
  if (ask.extras().has_core_spec() && !c_.settings.cluster.allow_spec_resources)
    return refuse_with(RefusalCode::not_supported,
                       "cores cannot be spared: AllowSpecResourcesUsage is not set in slurm.conf");
  if (ask.extras().reboot() && !actor_.is_admin)
    return refuse_with(RefusalCode::access_denied, "rebooting of nodes is only allowed for admins");
  if (ask.extras().reboot() && !c_.hooks.site_programs().nodes_can_reboot)
    return refuse_with(RefusalCode::not_supported, "nodes are not rebooted: slurm.conf has no RebootProgram");
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
  change_each({name_of(ask.job())}, [change](const JobCommands& self, const State& now, const SelectedJob& which) {
    // What a crontab says is changed there; an administrator may still have one of its jobs run now.
    if (!self.actor_.is_admin && comes_again(now.job(which.key)))
      return Decision{refuse(RefusalCode::cannot_modify_cron)};
    return decide_modify(now, which, change, self.actor_, self.c_.loop.now());
  });
}

void JobCommands::wait(const wire::WaitJob& ask) {
  const State& state = c_.commit.durable();
  const Job* job = state.find_job(JobId{ask.job_id()});
  if (!job) return refuse_with({RefusalCode::invalid_job_id, {}});
  if (!may_change(*job, actor_)) return refuse_with({RefusalCode::access_denied, {}});
  const ArrayState* array = state.find_array(job->array);
  const JobKey key = array && array->id == job->id ? job->array : job->key;
  c_.readers.clients.wait_for(key, {asker_.client, request_.number(), ask.until_started(), ask.as_client()});
}

}  // namespace millrace
