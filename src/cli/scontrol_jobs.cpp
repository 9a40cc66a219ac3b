// src/cli/scontrol_jobs.cpp - small requests of scontrol about jobs: completing, notify, pidinfo, top.
#include <cstdio>
#include <fstream>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/scontrol.h"
#include "cli/step_names.h"

namespace millrace {

int scontrol_completing(Scontrol& self, const Words&) {
  wire::Request for_jobs, for_nodes;
  for_jobs.mutable_query_jobs()->set_finished_too(true);
  for_nodes.mutable_query_nodes();
  const auto jobs = self.ask(for_jobs);
  const auto nodes = jobs ? self.ask(for_nodes) : Result<wire::Reply>{std::unexpected(jobs.error())};
  if (!nodes) {
    say_plain("slurm_load_jobs error: " + nodes.error().story);
    return 1;
  }
  std::set<std::string, std::less<>> ending, down;
  for (const wire::NodeView& node : nodes->nodes().nodes()) {
    if (node.base() == wire::NodeView::DOWN)
      down.insert(node.name());
    else if (node.completing())
      ending.insert(node.name());
  }
  std::string out;
  for (const wire::JobView& job : jobs->jobs().jobs()) {
    if (!job.completing()) continue;
    const auto list = [&](const std::set<std::string, std::less<>>& those) {
      std::vector<std::string> found;
      if (const auto names = expand_hostlist(job.nodes()))
        for (const std::string& name : *names)
          if (those.contains(name)) found.push_back(name);
      return compress_hostlist_sorted(std::move(found));
    };
    const std::int64_t since = std::max<std::int64_t>(0, (jobs->jobs().now_us() - job.end_at_us()) / 1'000'000);
    const std::string busy = list(ending), lost = list(down);
    out += "JobId=" + std::to_string(job.job_id()) + " EndTime=" + format_time(job.end_at_us(), "Unknown") +
           " CompletingTime=" + format_duration(since) + " Nodes(COMPLETING)=" + busy +
           (lost.empty() ? "" : " Nodes(DOWN)=" + lost) + '\n';
  }
  return print(out);
}

int scontrol_notify(Scontrol& self, const Words& words) {
  if (words.size() < 2) return say_plain("too few arguments for keyword:notify"), 1;
  wire::Request request;
  wire::NotifyJob& ask = *request.mutable_notify_job();
  const auto name = parse_step_name(words[0]);
  if (!name)
    return say_plain(told(name.error(), "Invalid job id specified: " + std::string{words[0]} +
                                            "; it is JOB or JOB.STEP, as in 12.0")),
           1;
  *ask.mutable_step() = *name;
  for (std::size_t i = 1; i < words.size(); ++i) *ask.mutable_text() += (i > 1 ? " " : "") + std::string{words[i]};
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("job notify failure: " + reply.error().story);
  return 1;
}

namespace {

// The parent of a process, 0 when it is not there.
std::uint32_t parent_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the name may hold anything, this too
  unsigned parent = 0;
  char state = 0;
  if (name_end == std::string::npos || std::sscanf(text.c_str() + name_end + 1, " %c %u", &state, &parent) != 2)
    return 0;
  return parent;
}

}  // namespace

// A process belongs to the step that knows it, or the nearest of its ancestors.
int scontrol_pid_info(Scontrol& self, const Words& words) {
  const auto number = words.empty() ? std::nullopt : parse_integer(words[0]);
  if (words.empty()) return say_plain("too few arguments for keyword:pidinfo"), 1;
  if (!number || *number <= 0 || *number > INT32_MAX)
    return say_plain("invalid process id: " + std::string{words[0]}), 1;
  wire::Request request;
  request.mutable_sample_steps()->set_node(own_node_name());
  const auto reply = self.ask(request);
  if (!reply) return say_plain("slurm_pid2jobid error: " + reply.error().story), 1;
  std::map<std::uint32_t, std::uint32_t> jobs;
  for (const wire::StepSample& sample : reply->step_samples().samples()) {
    for (const wire::TaskSample& task : sample.tasks())
      if (task.running()) jobs[task.pid()] = sample.job_id();
    for (const std::uint32_t pid : sample.other_pids()) jobs[pid] = sample.job_id();
  }
  std::uint32_t job = 0;
  for (std::uint32_t pid = static_cast<std::uint32_t>(*number), steps = 0; pid > 1 && job == 0 && steps < 4096;
       pid = parent_of(pid), ++steps)
    if (const auto found = jobs.find(pid); found != jobs.end()) job = found->second;
  wire::Request query;
  if (job != 0) query.mutable_query_jobs()->add_jobs()->set_job_id(job);
  const auto view = job != 0 ? self.ask(query) : Result<wire::Reply>{fail(Errc::refused, "Invalid job id specified")};
  if (!view || view->jobs().jobs_size() == 0)
    return say_plain("slurm_pid2jobid error: " + (view ? std::string{"Invalid job id specified"} : view.error().story)),
           1;
  const wire::JobView& found = view->jobs().jobs(0);
  const std::int64_t left = found.end_at_us() == 0
                                ? INT32_MAX
                                : std::max<std::int64_t>(0, (found.end_at_us() - view->jobs().now_us()) / 1'000'000);
  return print("Slurm JobId=" + std::to_string(job) + " ends at " + format_time(found.end_at_us(), "Unknown") +
               "\nslurm_get_rem_time is " + std::to_string(left) + '\n');
}

int scontrol_top(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:top"), 1;
  wire::Request request;
  for (const std::string_view word : words)
    for (const std::string_view text : split_outside_brackets(word)) {
      const auto name = parse_job_name(text);
      if (!name) return say_plain(told(name.error(), "Invalid job id specified for job " + std::string{text})), 1;
      wire::JobName* job = request.mutable_top_jobs()->add_jobs();
      job->set_job_id(name->id);
      job->set_tasks(name->tasks);
    }
  const auto reply = self.ask(request);
  if (!reply) return say_plain(reply.error().story + " for job " + std::string{words[0]}), 1;
  for (const auto& failed : reply->jobs_changed().failed()) say_plain(failed.text() + " for job " + failed.job());
  return reply->jobs_changed().failed_size() == 0 ? 0 : 1;
}

}  // namespace millrace
