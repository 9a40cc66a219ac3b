// src/cli/scontrol_steps.cpp - scontrol about steps: show step, listjobs, liststeps, listpids, wait_job.
#include <cstdlib>
#include <optional>
#include <set>

#include "cli/render/step_columns.h"
#include "cli/scontrol.h"
#include "cli/scontrol_data.h"
#include "cli/step_names.h"

namespace millrace {
namespace {

std::string cell(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text + ' ';
}

}  // namespace

std::string own_node_name() {
  const char* given = std::getenv("SLURMD_NODENAME");
  if (given != nullptr && *given != '\0') return given;
  const std::string host = own_host_name();
  return host.substr(0, host.find('.'));
}

int scontrol_show_steps(Scontrol& self, std::string_view id) {
  wire::Request request;
  wire::QuerySteps& query = *request.mutable_query_steps();
  if (!id.empty()) {
    const auto name = parse_step_name(id);
    if (!name)
      return say_plain(told(name.error(), "Invalid job step id: " + std::string{id} + "; it is JOB.STEP, as in 12.0")),
             1;
    *query.add_steps() = *name;
  }
  query.set_without_hidden(!self.all);
  const auto reply = self.ask(request);
  if (!reply || reply->steps().missing() > 0) {
    say_plain("slurm_get_job_steps error: " + (reply ? std::string{"Invalid job id specified"} : reply.error().story));
    return 1;
  }
  if (self.data) return print_steps(self, reply->steps());
  std::string out;
  for (const wire::StepView& step : reply->steps().steps()) out += show_step_record(step, self.show.one_line);
  if (!out.empty()) return print(out);
  if (id.empty()) return print("No job steps in the system\n");
  print("Job step " + std::string{id} + " not found\n");
  return 1;
}

// The supervisors of the node are asked, through the controller: it knows whose jobs they are. Nothing: what was wrong
// has been said.
std::optional<wire::StepSamples> ask_node_steps(Scontrol& self, const Words& words, const char* verb) {
  wire::Request request;
  wire::SampleSteps& ask = *request.mutable_sample_steps();
  std::string wanted;
  if (!words.empty() && words[0] != "*" && !words[0].empty()) {
    const auto name = parse_step_name(words[0]);
    if (!name)
      return say_plain(told(name.error(), "Invalid job id specified: " + std::string{words[0]} +
                                              "; it is JOB or JOB.STEP, as in 12.0")),
             std::nullopt;
    *ask.add_steps() = *name;
    wanted = words[0];
  }
  ask.set_node(words.size() > 1 ? std::string{words[1]} : own_node_name());
  const auto reply = self.ask(request);
  if (!reply) return say_plain(std::string{"scontrol "} + verb + " error: " + reply.error().story), std::nullopt;
  if (reply->step_samples().silent_nodes_size() > 0)
    return say_plain("node " + ask.node() + " does not answer"), std::nullopt;
  if (reply->step_samples().samples_size() > 0) return reply->step_samples();
  say_plain(wanted.empty() ? "No job steps exist on node " + ask.node() + "."
                           : "Job step " + wanted + " does not exist on node " + ask.node() + ".");
  return std::nullopt;
}

namespace {

std::string step_number(const wire::StepSample& sample) {
  return sample.batch() ? "batch" : step_number_text(sample.step());
}

}  // namespace

int scontrol_list_jobs(Scontrol& self, const Words& words) {
  const auto found = ask_node_steps(self, words, "listjobs");
  if (!found) return 1;
  std::set<std::uint32_t> jobs;
  for (const wire::StepSample& sample : found->samples()) jobs.insert(sample.job_id());
  std::string out = "JOBID\n";
  for (const std::uint32_t job : jobs) out += std::to_string(job) + '\n';
  return print(out);
}

int scontrol_list_steps(Scontrol& self, const Words& words) {
  const auto found = ask_node_steps(self, words, "liststeps");
  if (!found) return 1;
  std::string out = "JOBID    STEPID\n";
  for (const wire::StepSample& sample : found->samples())
    out += cell(std::to_string(sample.job_id()), 8) + step_number(sample) + '\n';
  return print(out);
}

int scontrol_list_pids(Scontrol& self, const Words& words) {
  const auto found = ask_node_steps(self, words, "listpids");
  if (!found) return 1;
  std::string out = "PID      JOBID    STEPID   LOCALID GLOBALID\n";
  for (const wire::StepSample& sample : found->samples()) {
    const std::string job = std::to_string(sample.job_id());
    const std::string step = step_number(sample);
    const auto line = [&](std::uint32_t pid, const std::string& local, const std::string& global) {
      out += cell(std::to_string(pid), 8) + cell(job, 8) + cell(step, 8) + cell(local, 7) + cell(global, 8) + '\n';
    };
    for (const wire::TaskSample& task : sample.tasks())
      if (task.running()) line(task.pid(), std::to_string(task.local_rank()), std::to_string(task.rank()));
    for (const std::uint32_t pid : sample.other_pids()) line(pid, "-", "-");
  }
  return print(out);
}

// Until its nodes are there for it, which here is when it has started.
int scontrol_wait_job(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:wait_job"), 1;
  const auto job = parse_job_name(words[0]);
  const std::string wrong = "Invalid job id specified: " + std::string{words[0]};
  if (!job || !job->tasks.empty()) return say_plain(job ? wrong : told(job.error(), wrong)), 1;
  wire::Request request;
  request.mutable_wait_job()->set_job_id(job->id);
  request.mutable_wait_job()->set_until_started(true);
  const auto sent = self.session->send(request);
  const auto reply = sent ? self.session->next(std::nullopt) : Result<wire::Reply>{std::unexpected(sent.error())};
  if (!reply || reply->has_failure()) {
    say_plain("scontrol: Problem running job " + std::string{words[0]} + ": " +
              (reply ? reply->failure().text() : reply.error().story));
    return 1;
  }
  if (!reply->job_progress().ended()) return 0;
  say_plain("Job " + std::string{words[0]} + " no longer running");
  return 1;
}

}  // namespace millrace
