// src/cli/srun_parts.cpp - see srun_parts.h.
#include "cli/srun_parts.h"

#include <signal.h>

#include <algorithm>

#include "cli/srun_endpoint.h"
#include "cli/step_wishes.h"
#include "client.pb.h"

namespace millrace {
namespace {

// What one program cannot have beside others of the same step.
Result<void> refuse_for_parts(const std::vector<SrunPart>& parts) {
  for (const SrunPart& part : parts) {
    const JobDraft& draft = part.all.draft;
    if (draft.multi_prog) return not_built("--multi-prog over several components");
    if (draft.job.step_options().mpi() == "pmix") return not_built("--mpi=pmix over several components");
    if (draft.pty && !parts.front().all.draft.pty) return not_built("--pty of a further component");
    if (draft.job.step_options().has_x11() && !parts.front().all.draft.job.step_options().has_x11())
      return not_built("--x11 of a further component");
  }
  return {};
}

// Files are srun's own, one for all; only those of each task or node can differ.
Result<void> check_streams(const SrunPlan& first, const SrunPlan& other, std::uint32_t component) {
  if (other.output_pattern == first.output_pattern && other.error_pattern == first.error_pattern &&
      other.input_path == first.input_path)
    return {};
  return not_built("files of its own for component " + std::to_string(component) +
                   "; names with %t, %n or %N can differ");
}

// What the component was asked for with; the step in it has all of that.
void ask_for_all(wire::JobDescription& step) {
  const std::string distribution = step.resources().distribution();
  step.clear_resources();
  if (!distribution.empty()) step.mutable_resources()->set_distribution(distribution);
  step.clear_memory_per_node_mib();
  step.clear_memory_per_cpu_mib();
  step.clear_time_limit_minutes();
  step.clear_required_nodes();
  step.clear_excluded_nodes();
}

wire::JobDescription allocation_of(const wire::JobDescription& program) {
  wire::JobDescription out = program;
  out.clear_arguments();
  out.mutable_extras()->clear_resv_ports();  // the step asks for them
  out.clear_step_options();
  out.clear_std_in();
  out.clear_std_out();
  out.clear_std_err();
  out.clear_pty();
  out.clear_container();
  out.set_interactive(false);
  out.set_label_output(false);
  out.set_allocation_only(true);
  out.set_client_waits(true);
  return out;
}

void end_allocation(const SessionOptions& options, std::uint32_t job_id, int code) {
  Session session(options);
  wire::Request request;
  request.mutable_end_allocation()->set_job_id(job_id);
  request.mutable_end_allocation()->set_exit_code(static_cast<std::uint32_t>(code));
  const auto reply = session.call(request);
  if (reply && (!reply->has_failure() || reply->failure().code() == 2021)) return;  // the second: it has ended already
  wire::Request cancel;
  cancel.mutable_cancel()->add_jobs()->set_job_id(job_id);
  [[maybe_unused]] const auto ignored = session.call(cancel);
}

}  // namespace

int run_srun_parts(const Command& command, std::vector<SrunPart>& parts, const ClientSettings& settings,
                   std::optional<std::uint32_t> job_id) {
  const bool several = parts.size() > 1;
  if (const auto refused = several ? refuse_for_parts(parts) : Result<void>{}; !refused)
    return say_usage_error(command, refused.error());
  std::optional<SrunPlan> plan;
  for (SrunPart& part : parts) {
    Command own = command;
    own.words = part.words;
    if (job_id)
      if (const auto settled = settle_step_wishes(own, part.all.draft); !settled)
        return say_usage_error(command, settled.error());
    const JobDraft& draft = part.all.draft;
    if (!job_id && (draft.het_group || draft.first_node || draft.exact || draft.overlap || draft.immediate))
      return say_usage_error(
          command, {Errc::refused,
                    "--het-group, --relative, --exact, --overlap and --immediate are for steps inside an allocation"});
    auto made = make_srun_plan(command, part.all, settings);
    if (!made) return say_usage_error(command, made.error());
    if (several && part.all.draft.job.step_options().mpi() == "pmix")
      return say_usage_error(
          command, not_built("MpiDefault=pmix over several components; say --mpi=pmi2 or --mpi=none").error());
    if (!plan)
      plan = *std::move(made);
    else if (const auto same = check_streams(*plan, *made, part.component); !same)
      return say_usage_error(command, same.error());
  }
  plan->tasks.reset();  // known when every component has found room
  SrunConsole console(command, *plan);
  const Endpoint endpoint = choose_endpoint(settings);
  const auto port = console.listen(endpoint);
  if (!port) return say_usage_error(command, {Errc::refused, port.error().story});
  const StepStdio stdio{endpoint.host, *port, plan->secret};
  std::vector<wire::CreateStep> asks;
  for (const SrunPart& part : parts) {
    asks.push_back(make_step_ask(part.all.draft, job_id.value_or(0), stdio));
    if (several) asks.back().set_component(part.component);
    asks.back().set_prepare(true);
    if (!job_id) ask_for_all(*asks.back().mutable_step());
  }
  const SessionOptions options = *session_options(settings);
  Session session(options);
  const JobDraft& first = parts.front().all.draft;
  if (job_id) {
    return with_srun_hooks(command, first, settings, [&] {
      console.catch_signals();
      return console.run_parts(session, options, std::move(asks), SrunConsole::JobOf::somebody);
    });
  }
  wire::SubmitJob ask;
  ask.set_environment(job_environment(first));
  *ask.mutable_job() = allocation_of(first.job);
  *ask.mutable_job()->mutable_stdio() = asks.front().step().stdio();  // its step manager sees by it whether we live
  for (std::size_t i = 1; i < parts.size(); ++i) *ask.add_more_components() = allocation_of(parts[i].all.draft.job);
  ask.set_test_only(first.test_only);
  return with_srun_hooks(command, first, settings, [&] {
    console.catch_signals();
    const auto reply = session.submit(std::move(ask));
    if (!reply || reply->has_failure()) {
      if (!reply)
        say_trouble(command, session);
      else
        for (const std::string& note : reply->failure().notes()) say_error(command, note);
      say_error(command, "Unable to allocate resources: " + (reply ? reply->failure().text() : reply.error().story));
      return error_code();
    }
    if (first.test_only) {
      say_plain(command.name + ": " + test_only_text(reply->submitted()));
      return 0;
    }
    for (const std::string& note : reply->submitted().notes()) say_info(command, note);
    const std::uint32_t own = reply->submitted().job_id();
    for (wire::CreateStep& each : asks) each.set_job_id(own);
    const int code = console.run_parts(session, options, std::move(asks), SrunConsole::JobOf::srun);
    end_allocation(options, own, code);
    return code;
  });
}

// ---- while it runs ----

// The parts get their CPUs one after the other, in the order of the components: two that ask for the same cannot each
// keep the other waiting.
void SrunConsole::ask_parts(Session& session, bool also_of_started) {
  ask_again_us_ = now_us() + ask_again_us;
  for (Part& part : parts_) {
    if (part.ended || (part.started && !also_of_started)) continue;
    if (!ask_part(session, part) || !part.prepared) return;
  }
}

bool SrunConsole::ask_part(Session& session, Part& part) {
  wire::Request request;
  *request.mutable_create_step() = part.ask;
  watching_ = session.send(request).has_value();
  watch_again_us_ = now_us() + watch_retry_us;
  if (watching_) part_numbers_[request.number()] = static_cast<std::size_t>(&part - parts_.data());
  return watching_;
}

// All have room: now it is known how many tasks there are, and whose is which.
void SrunConsole::start_parts(Session& session) {
  wire::PartOfStep whole;
  for (const Part& part : parts_) {
    whole.set_nodes(whole.nodes() + (whole.nodes().empty() ? "" : ",") + part.prepared->nodes());
    whole.mutable_cpus_per_node()->MergeFrom(part.prepared->cpus_per_node());
    whole.mutable_tasks_per_node()->MergeFrom(part.prepared->tasks_per_node());
    whole.set_tasks(whole.tasks() + part.prepared->tasks());
  }
  step_id_ = parts_.front().prepared->step_id();
  whole.set_step_id(step_id_);
  streams_.set_task_count(whole.tasks());
  created_ = started_ = true;
  if (waited_) say_info(command_, "Step created for " + step());
  waited_ = false;
  if (const auto opened = open_outputs(); !opened) {
    say_error(command_, opened.error().story);
    failed_ = true;
    return;
  }
  std::uint32_t first_task = 0, first_node = 0;
  for (Part& part : parts_) {
    wire::PartOfStep& own = *part.ask.mutable_part();
    own = whole;
    own.set_first_task(first_task);
    own.set_first_node(first_node);
    first_task += part.prepared->tasks();
    first_node += static_cast<std::uint32_t>(part.prepared->tasks_per_node_size());
    if (!ask_part(session, part)) return;  // it is asked for again when the controller is back
  }
}

std::optional<int> SrunConsole::take_part_reply(Session& session, const wire::Reply& reply) {
  if (reply.has_job_progress()) return take_nodes(session, reply.job_progress());
  const auto found = part_numbers_.find(reply.number());
  if (found == part_numbers_.end() && awaits_nodes_ && reply.has_failure()) {
    say_error(command_,
              "Unable to confirm allocation for job " + std::to_string(job_id_) + ": " + reply.failure().text());
    return error_code();
  }
  if (found == part_numbers_.end()) return std::nullopt;
  Part& part = parts_[found->second];
  if (reply.has_failure()) {
    if (created_) {
      end_part(part, "");
      return std::nullopt;
    }
    for (const std::string& note : reply.failure().notes()) say_error(command_, note);
    say_error(command_, "Unable to create step for job " + std::to_string(job_id_) + ": " + reply.failure().text());
    return error_code();
  }
  if (!reply.has_step()) return std::nullopt;
  const wire::StepNews& news = reply.step();
  for (const std::string& note : news.notes()) say_info(command_, note);
  switch (news.kind()) {
    case wire::StepNews::WAITING:
      if (news.ask_again()) part.started = false;  // nobody keeps our request: it is made again
      if (created_) return std::nullopt;
      if (!waited_)
        say_info(command_, "Job " + std::to_string(job_id_) + " step creation temporarily disabled, retrying (" +
                               news.problem() + ")");
      waited_ = true;
      return std::nullopt;
    case wire::StepNews::CREATED:
      if (!news.prepared()) part.started = true;
      if (!news.prepared() || part.prepared) return std::nullopt;
      part.prepared = news;
      // One number for all parts, where nobody was quicker.
      for (Part& other : parts_) other.ask.set_least_id(parts_.front().prepared->step_id());
      if (std::ranges::all_of(parts_, [](const Part& each) { return each.prepared.has_value(); }))
        start_parts(session);
      else
        ask_part(session, *std::ranges::find_if(parts_, [](const Part& each) { return !each.prepared; }));
      return std::nullopt;
    case wire::StepNews::NODE_LOST:
      take_lost_of(news);
      return std::nullopt;
    default:
      if (!created_) {
        say_error(command_, "Step of job " + std::to_string(job_id_) + " ended before all its components had room");
        return error_code();
      }
      end_part(part, news.problem());
      return std::nullopt;
  }
}

// What one part cannot do the others do not do without it.
void SrunConsole::end_part(Part& part, const std::string& problem) {
  part.ended = true;
  if (!problem.empty()) {
    if (step_problem_.empty()) step_problem_ = problem;
    doomed_ = true;
  }
  if (std::ranges::all_of(parts_, &Part::ended) && job_ended_us_ == 0) job_ended_us_ = now_us();
}

// Of the job that was made for this step.
std::optional<int> SrunConsole::take_nodes(Session& session, const wire::JobProgress& progress) {
  last_ = progress;
  if (progress.ended()) {
    awaits_nodes_ = false;
    if (job_ended_us_ == 0) job_ended_us_ = now_us();
    return std::nullopt;
  }
  if (!awaits_nodes_ || progress.state() != wire::RUNNING) return std::nullopt;
  awaits_nodes_ = false;
  ask_parts(session, false);
  return std::nullopt;
}

int SrunConsole::run_parts(Session& session, const SessionOptions& options, std::vector<wire::CreateStep> asks,
                           JobOf job_of) {
  own_job_ = awaits_nodes_ = job_of == JobOf::srun;
  for (wire::CreateStep& ask : asks) parts_.emplace_back().ask = std::move(ask);
  return run_step(session, options, parts_.front().ask);
}

}  // namespace millrace
