// src/controller/requests/explaining.cpp - why a job waits, worked out on a worker from one version of the state; part
// of Queries.
#include <memory>
#include <optional>

#include "controller/requests/queries.h"
#include "controller/views/reason_words.h"
#include "core/admission/job_selection.h"
#include "core/planner/explain.h"

namespace millrace {
namespace {

constexpr std::int64_t steps_per_slice = 200'000;  // some milliseconds

void tell_history(const ReadView& view, const Job& job, wire::Explanation& out) {
  out.set_job(shown_name(view.state, job));
  out.set_now_us(view.now.value);
  out.set_submitted_us(job.submitted_at.value);
  out.set_eligible_us(job.eligible_at.value);
  out.set_started_us(job.started_at.value);
  out.set_ended_us(job.over_at().value);
}

void tell(const State& state, const Explanation& found, wire::Explanation& out) {
  out.set_reason(slurm_word(found.reason));
  for (const std::string& sentence : found.words) out.add_words(sentence);
  out.set_start_us(found.start.value);
  out.set_nodes(hostlist_of(state, found.nodes));
  out.set_certainty(found.certainty);
  for (const Suggestion& each : found.suggestions) {
    auto* added = out.add_suggestions();
    added->set_change(each.change);
    added->set_start_us(each.start.value);
    added->set_now(each.now);
  }
}

// Why it is stopped, and what it waits for.
std::vector<std::string> suspension_in_words(const State& state, const Job& job, const Privacy& privacy) {
  if (job.state != JobState::suspended) return {};
  const Suspension& suspension = *job.suspension;
  if (!suspension.wants_cpus) return {"An administrator suspended it; it goes on after scontrol resume."};
  if (suspension.why == SuspendWhy::time_slice)
    return {"It takes turns with other jobs on the same CPUs and waits for the next."};
  const Job* by = state.find_job(suspension.by);
  std::string first = !by                 ? "It was suspended."
                      : privacy.sees(*by) ? "It was suspended for job " + shown_name(state, *by) + "."
                                          : "It was suspended for another job.";
  return {std::move(first),
          "It goes on as soon as all its CPUs are free; no job of its own rank is given them before."};
}

}  // namespace

void JobQueries::explain(const wire::ExplainJob& ask) {
  const ReadView view = c_.read_view();
  wire::Reply out = reply();
  const auto selected = select_jobs(view.state, {JobId{ask.job_id()}, ask.tasks()});
  if (!selected) return refuse_with(selected.error().code);
  if (!privacy().sees(view.state.job(selected->front().key))) return refuse_with(RefusalCode::invalid_job_id);
  const JobKey key = selected->front().key;
  const Job& job = view.state.job(key);
  wire::Explanation& told = *out.mutable_explanation();
  tell_history(view, job, told);
  if (selected->size() > 1 && job.het) told.set_job(std::to_string(job.id.value));
  if (job.state != JobState::pending) {
    told.set_state(job.state == JobState::ended ? "ended" : job.state == JobState::suspended ? "suspended" : "running");
    told.set_reason(shown_reason(view, job));
    for (const std::string& sentence : suspension_in_words(view.state, job, privacy())) told.add_words(sentence);
    for (const std::string& sentence : wait_in_words(job)) told.add_words(sentence);
    return c_.clients.reply(asker_.client, out);
  }
  told.set_state("waiting");
  if (job.trouble) {
    std::string sentence = trouble_words(view.state, job);
    sentence.front() = 'I';
    told.add_words(sentence + ".");
  }
  PlannerSettings settings = planner_settings(*view.state.policy, c_.settings.backfill_depth);
  settings.unreachable = c_.links.unreachable(c_.commit.durable());
  struct Work {
    State state;
    std::optional<Explaining> explaining{};
    Explanation found{};
  };
  const auto work = std::make_shared<Work>(view.state);
  FairWorker::Sliced sliced{[work, settings = std::move(settings), key, now = view.now]() mutable {
                              if (!work->explaining)
                                work->explaining.emplace(work->state, std::move(settings), key, now);
                              if (!work->explaining->advance(steps_per_slice)) return false;
                              work->found = work->explaining->take();
                              work->explaining.reset();
                              return true;
                            },
                            [work, out = std::move(out), &clients = c_.clients, client = asker_.client]() mutable {
                              tell(work->state, work->found, *out.mutable_explanation());
                              clients.reply(client, out);
                            }};
  c_.queues.query_worker.ask_in_slices(asker_, asker_.client,
                                       [sliced = std::move(sliced)]() mutable { return std::move(sliced); });
}

}  // namespace millrace
