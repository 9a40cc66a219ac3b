// src/controller/requests/submit_commands.cpp - a new job: what the site lets it ask for, its record, and for
// --test-only when and where it would start.
#include <algorithm>
#include <memory>
#include <utility>

#include "controller/requests/handlers.h"
#include "controller/requests/job_extras.h"
#include "controller/requests/submission.h"
#include "core/admission/place_unasked.h"
#include "core/ledger/apply.h"
#include "core/planner/trial.h"
#include "wire/limits.h"

namespace millrace {

void SubmitCommands::submit(const wire::SubmitJob& ask) {
  // The name service may be slow: the request is kept until it has answered, and decided on what is true then.
  // Whose job it is: root may say that it is another's, and may submit what a client cannot have checked.
  if (refuses_words(ask) || refuses_sizes(ask.job(), ask.environment(), ask.script())) return;
  for (const wire::JobDescription& component : ask.more_components())
    if (refuses_sizes(component, {}, {})) return;
  const UserId uid = ask.job().has_as_uid() ? UserId{ask.job().as_uid()} : asker_.uid;
  const GroupId gid = ask.job().has_as_gid() ? GroupId{ask.job().as_gid()} : asker_.gid;
  c_.askers.look_up(
      asker_, uid, gid, [&c = c_, asker = asker_, request = request_](const Result<UserIdentity>& identity) {
        SubmitCommands self{c, asker, request};
        if (!identity) return self.refuse_with(RefusalCode::invalid_user, identity.error().story);
        const wire::SubmitJob& ask = request.submit();
        std::vector<SubmitJob> jobs = to_submit_jobs(ask, *identity);
        std::vector<std::string> notes =
            settle_extras(jobs, {c.settings.cluster.allow_spec_resources, c.hooks.site_programs().nodes_can_reboot});
        std::size_t beyond = 0;
        for (const SubmitJob& job : jobs) beyond += StoredBytes::beyond_ordinary(job.spec);
        if (self.refuses_bytes(identity->uid, beyond)) return;
        if (!ask.script().empty()) jobs.front().spec.script = payload_id(ask.script()).digest;
        if (!ask.environment().empty()) jobs.front().spec.environment = payload_id(ask.environment()).digest;
        auto decision = decide(c.commit.decided(), std::move(jobs), self.actor_, c.loop.now());
        if (!decision) return self.refuse_with(decision.error());
        wire::Reply out = self.reply();
        wire::Submitted& submitted = *out.mutable_submitted();
        submitted.set_job_id(decision->id.value);
        submitted.set_existed(decision->existed);
        for (std::string& note : notes) submitted.add_notes(std::move(note));
        if (ask.job().extras().no_allocate() && !decision->existed) {
          State after = c.commit.decided();
          for (const Event& event : decision->events) apply(after, event);
          auto placed = decide_place_unasked(after, after.find_job(decision->id)->key, c.loop.now());
          if (!placed) return self.refuse_with(placed.error());
          decision->events.insert(decision->events.end(), placed->begin(), placed->end());
        }
        if (ask.test_only()) {
          self.try_submission(std::move(decision->events), std::move(out));
          return;
        }
        if (!decision->events.empty()) {
          if (self.refuses_for_room(decision->events, ask.script().size() + ask.environment().size())) return;
          if (!ask.script().empty()) c.orders.payloads().remember(c.commit.add_payload(ask.script()), ask.script());
          if (!ask.environment().empty())
            c.orders.payloads().remember(c.commit.add_payload(ask.environment()), ask.environment());
          if (!self.commit(std::move(decision->events))) return;
          if (const Job* job = c.commit.decided().find_job(decision->id)) c.readers.clients.expect(job->key);
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
void SubmitCommands::try_submission(std::vector<Event> events, wire::Reply out) {
  struct Try {
    State copy;
    PlannerSettings settings;
    JobId id;
    Time now, begin;
    std::unique_ptr<TrialRun> run{};
    Trial found{};
  };
  const Time begin = release_all(c_.commit.decided(), events);
  auto one = std::make_shared<Try>(Try{c_.commit.decided(), planner_settings(*c_.commit.decided().policy, 0),
                                       JobId{out.submitted().job_id()}, c_.loop.now(), begin});
  for (const Event& event : events) apply(one->copy, event);
  one->settings.unreachable = c_.links.unreachable(c_.commit.durable());
  FairWorker::Sliced sliced{
      [one] {
        if (!one->run)
          one->run = std::make_unique<TrialRun>(one->copy, one->settings, one->copy.find_job(one->id)->key, one->now);
        if (!one->run->advance(steps_per_slice)) return false;
        one->found = one->run->take();
        one->run.reset();
        return true;
      },
      [one, out = std::move(out), &clients = c_.clients, client = asker_.client]() mutable {
        wire::Submitted& submitted = *out.mutable_submitted();
        submitted.set_test_partition(one->copy.partition(one->found.partition).def.name);
        submitted.set_test_start_at_us(one->found.start.is_set() ? std::max(one->found.start, one->begin).value : 0);
        submitted.set_test_nodes(hostlist_of(one->copy, one->found.shares));
        std::int64_t cpus = 0;
        for (const NodeShare& share : one->found.shares) cpus += share.cpus.value;
        submitted.set_test_cpus(static_cast<std::uint32_t>(cpus));
        clients.reply(client, out);
      }};
  c_.queues.query_worker.ask_in_slices(asker_, asker_.client,
                                       [sliced = std::move(sliced)]() mutable { return std::move(sliced); });
}

}  // namespace millrace
