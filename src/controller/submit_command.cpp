// src/controller/submit_command.cpp - a new job: what the site lets it ask for, its record, and for --test-only when
// and where it would start.
#include <algorithm>
#include <memory>
#include <utility>

#include "controller/commands.h"
#include "controller/job_extras.h"
#include "controller/submission.h"
#include "core/admission/place_unasked.h"
#include "core/ledger/apply.h"
#include "core/planner/trial.h"
#include "wire/limits.h"

namespace millrace {

bool Commands::refuses_words(const wire::SubmitJob& ask) {
  const auto any = [&](const auto& is_wrong) {
    return is_wrong(ask.job()) || std::ranges::any_of(ask.more_components(), is_wrong);
  };
  const bool admin_words = any([](const wire::JobDescription& job) {
    return job.extras().has_admin_comment() || job.extras().has_system_comment();
  });
  const std::uint32_t most = c_.settings_.cluster.tasks_per_node_max;
  const bool crowded = most != 0 && any([&](const wire::JobDescription& job) {
                         if (!job.interactive() || job.allocation_only()) return false;  // only a step spawns tasks
                         return job.tasks_per_node() > most ||
                                (job.max_nodes() != 0 && job.tasks() > std::uint64_t{most} * job.max_nodes());
                       });
  const bool odd_mail = any([](const wire::JobDescription& job) {
    return !job.extras().mail_user().empty() && !is_mail_address(job.extras().mail_user());
  });
  const bool reboots = any([](const wire::JobDescription& job) { return job.extras().reboot(); });
  const bool unasked = any([](const wire::JobDescription& job) { return job.extras().no_allocate(); });
  const std::uint64_t ports = c_.settings_.cluster.reserved_ports.size();
  const bool too_many_ports = any([&](const wire::JobDescription& job) { return job.extras().resv_ports() > ports; });
  if (too_many_ports)
    refuse_with(RefusalCode::too_few_ports, "MpiParams in slurm.conf has " + std::to_string(ports) + " ports");
  else if (reboots && !actor_.is_admin)
    refuse_with(RefusalCode::access_denied, "rebooting of nodes is only allowed for admins");
  else if (unasked && !actor_.is_super)
    refuse_with(RefusalCode::access_denied, "only root or SlurmUser runs programs on nodes without an allocation");
  else if (admin_words && !actor_.is_admin)
    refuse_with(RefusalCode::access_denied, "only an administrator may set AdminComment");
  else if (crowded)
    refuse_with(RefusalCode::bad_task_count,
                "at most " + std::to_string(most) + " tasks may run on one node (MaxTasksPerNode)");
  else if (odd_mail)
    refuse_with(RefusalCode::not_supported, odd_mail_address);
  else
    return false;
  return true;
}

bool Commands::refuses_sizes(const wire::JobDescription& job, std::string_view environment, std::string_view script) {
  const auto fits = check_sizes(job, environment, script);
  if (!fits) refuse_with(RefusalCode::not_supported, fits.error().story);
  return !fits;
}

void Commands::submit(const wire::SubmitJob& ask) {
  // The name service may be slow: the request is kept until it has answered, and decided on what is true then.
  // Whose job it is: root may say that it is another's, and may submit what a client cannot have checked.
  if (refuses_words(ask) || refuses_sizes(ask.job(), ask.environment(), ask.script())) return;
  for (const wire::JobDescription& component : ask.more_components())
    if (refuses_sizes(component, {}, {})) return;
  const UserId uid = ask.job().has_as_uid() ? UserId{ask.job().as_uid()} : asker_.uid;
  const GroupId gid = ask.job().has_as_gid() ? GroupId{ask.job().as_gid()} : asker_.gid;
  c_.look_up(asker_, uid, gid, [&c = c_, asker = asker_, request = request_](const Result<UserIdentity>& identity) {
    Commands self{c, asker, request};
    if (!identity) return self.refuse_with(RefusalCode::invalid_user, identity.error().story);
    const wire::SubmitJob& ask = request.submit();
    std::vector<SubmitJob> jobs = to_submit_jobs(ask, *identity);
    std::vector<std::string> notes =
        settle_extras(jobs, {c.settings_.cluster.allow_spec_resources, c.hooks_.site_programs().nodes_can_reboot});
    if (!ask.script().empty()) jobs.front().spec.script = payload_id(ask.script()).digest;
    if (!ask.environment().empty()) jobs.front().spec.environment = payload_id(ask.environment()).digest;
    auto decision = decide(c.commit_.decided(), std::move(jobs), self.actor_, c.loop_.now());
    if (!decision) return self.refuse_with(decision.error());
    wire::Reply out = self.reply();
    wire::Submitted& submitted = *out.mutable_submitted();
    submitted.set_job_id(decision->id.value);
    submitted.set_existed(decision->existed);
    for (std::string& note : notes) submitted.add_notes(std::move(note));
    if (ask.job().extras().no_allocate() && !decision->existed) {
      State after = c.commit_.decided();
      for (const Event& event : decision->events) apply(after, event);
      auto placed = decide_place_unasked(after, after.find_job(decision->id)->key, c.loop_.now());
      if (!placed) return self.refuse_with(placed.error());
      decision->events.insert(decision->events.end(), placed->begin(), placed->end());
    }
    if (ask.test_only()) {
      self.try_submission(std::move(decision->events), std::move(out));
      return;
    }
    if (!decision->events.empty()) {
      if (self.refuses_for_room(decision->events, ask.script().size() + ask.environment().size())) return;
      if (!ask.script().empty()) c.payloads_.remember(c.commit_.add_payload(ask.script()), ask.script());
      if (!ask.environment().empty()) c.payloads_.remember(c.commit_.add_payload(ask.environment()), ask.environment());
      if (!self.commit(std::move(decision->events))) return;
      if (const Job* job = c.commit_.decided().find_job(decision->id)) c.readers_.clients.expect(job->key);
    }
    // Also an old answer waits: the job it names may still be on its way to the disk.
    self.answer_when_durable(std::move(out));
  });
}

namespace {

constexpr std::int64_t steps_per_slice = 200'000;  // of a trial: some milliseconds

// As if it were released and its time had come: else the plan has no place for it. When that is.
Time release_all(const State& state, std::vector<Event>& events) {
  Time begin;
  for (Event& event : events) {
    auto* submitted = std::get_if<JobSubmitted>(&event);
    if (submitted == nullptr) continue;
    begin = std::max(begin, std::exchange(submitted->begin_at, Time{}));
    if (std::exchange(submitted->hold, Hold::none) != Hold::none)
      submitted->priority = initial_priority(state, submitted->key, submitted->spec.nice);
  }
  return begin;
}

}  // namespace

// Tried on a copy, on a worker: the plan says when and where, nothing is recorded.
void Commands::try_submission(std::vector<Event> events, wire::Reply out) {
  struct Try {
    State copy;
    PlannerSettings settings;
    JobId id;
    Time now, begin;
    std::unique_ptr<TrialRun> run{};
    Trial found{};
  };
  const Time begin = release_all(c_.commit_.decided(), events);
  auto one = std::make_shared<Try>(Try{c_.commit_.decided(), planner_settings(*c_.commit_.decided().policy, 0),
                                       JobId{out.submitted().job_id()}, c_.loop_.now(), begin});
  for (const Event& event : events) apply(one->copy, event);
  one->settings.unreachable = c_.unreachable();
  FairWorker::Sliced sliced{
      [one] {
        if (!one->run)
          one->run = std::make_unique<TrialRun>(one->copy, one->settings, one->copy.find_job(one->id)->key, one->now);
        if (!one->run->advance(steps_per_slice)) return false;
        one->found = one->run->take();
        one->run.reset();
        return true;
      },
      [one, out = std::move(out), &clients = c_.clients_, client = asker_.client]() mutable {
        wire::Submitted& submitted = *out.mutable_submitted();
        submitted.set_test_partition(one->copy.partition(one->found.partition).def.name);
        submitted.set_test_start_at_us(one->found.start.is_set() ? std::max(one->found.start, one->begin).value : 0);
        submitted.set_test_nodes(hostlist_of(one->copy, one->found.shares));
        std::int64_t cpus = 0;
        for (const NodeShare& share : one->found.shares) cpus += share.cpus.value;
        submitted.set_test_cpus(static_cast<std::uint32_t>(cpus));
        clients.reply(client, out);
      }};
  c_.query_worker_.ask_in_slices(asker_, asker_.client,
                                 [sliced = std::move(sliced)]() mutable { return std::move(sliced); });
}

}  // namespace millrace
