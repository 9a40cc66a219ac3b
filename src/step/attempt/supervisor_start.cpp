// src/step/attempt/supervisor_start.cpp - the start of an attempt: which processes, with which files (the loop is in
// supervisor.cpp).
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "core/model/file_name.h"
#include "core/model/multi_prog.h"
#include "step/attempt/supervisor.h"
#include "step/container/oci_bundle.h"
#include "step/environment/compat_environment.h"

namespace millrace {

namespace {

NameFacts name_facts(const wire::LaunchPlan& plan, std::string_view user_name, std::uint32_t rank) {
  NameFacts facts;
  facts.job_id = plan.job_id();
  facts.array_job_id = plan.array_job_id();
  if (plan.has_array_task()) facts.array_task = plan.array_task();
  facts.batch = !plan.job().interactive();
  facts.step = plan.step();
  facts.node_name = plan.node_name();
  facts.node_position = plan.node_position();
  facts.restarts = plan.restarts();
  facts.rank = rank;
  facts.user_name = user_name;
  facts.job_name = plan.job().name();
  return facts;
}

constexpr int create_flags = O_WRONLY | O_CREAT | O_APPEND;

// A requeued job goes on in its file unless told otherwise.
int output_flags(const wire::LaunchPlan& plan) {
  switch (plan.job().open_mode()) {
    case wire::JobDescription::truncate:
      return create_flags | O_TRUNC;
    case wire::JobDescription::append:
      return create_flags;
    default:
      return plan.restarts() > 0 ? create_flags : create_flags | O_TRUNC;
  }
}

std::int64_t monotonic_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

StreamSpec null_stream(int flags) { return {"/dev/null", flags, -1}; }

}  // namespace

Result<void> Supervisor::start() {
  environment_ = node_environment(plan_, order_.identity());
  environment_.set(attempt_marker, order_.spool());
  MR_TRY_VOID(add_compat_variables());
  gpus_ = Gpus(plan_, order_.isolation());
  gpus_.show(environment_);
  if (plan_.node_position() == 0 && !plan_.has_step()) {
    step_manager_.emplace(plan_, order_.identity(), step_port_, log_);
    order_.mutable_run()->clear_allocation();  // the step manager has it, and no step need be told of it
  }
  if (plan_.job().allocation_only() && !plan_.has_step()) {
    holds_allocation_ = true;
    // That of an srun that made a heterogeneous job for its step: with srun it ends.
    hangs_on_srun_ = plan_.job().has_stdio() && plan_.node_position() == 0;
    if (hangs_on_srun_) streams_.call(plan_, monotonic_us());
    return {};
  }
  if (plan_.job().interactive()) {
    if (plan_.job().arguments().empty()) return fail(Errc::invalid, "srun gave no program to run");
    awaits_srun_ = true;
    streams_.call(plan_, monotonic_us());
    return {};
  }
  if (plan_.node_position() == 0) return start_batch();
  // The script runs on the first node only; this one is held for the job until it is told that the job is over.
  holds_allocation_ = true;
  return {};
}

// What qsub and bsub promise their jobs; the file with the hosts is on the first node, and goes with the attempt.
Result<void> Supervisor::add_compat_variables() {
  const std::string_view variable = add_compat(environment_, plan_);
  if (variable.empty() || plan_.node_position() != 0) return {};
  const wire::Credential& identity = order_.identity();
  MR_TRY(const std::string path,
         blame_machine(spool_.write_file("hosts", 0600, host_lines(plan_), identity.uid(), identity.gid())));
  environment_.set(variable, path);
  return {};
}

TaskSpec Supervisor::common_spec() const {
  const wire::Credential& identity = order_.identity();
  TaskSpec spec;
  spec.user.uid = identity.uid();
  spec.user.gid = identity.gid();
  spec.user.groups.assign(identity.groups().begin(), identity.groups().end());
  spec.environment = environment_;
  spec.work_dir = plan_.job().work_dir();
  spec.umask = plan_.job().umask() & 0777;
  for (const wire::ResourceLimit& limit : plan_.job().limits())
    if (const auto resource = resource_number(limit.name())) spec.soft_limits.emplace_back(*resource, limit.soft());
  return spec;
}

void Supervisor::choose_batch_files(TaskSpec& spec) const {
  const wire::JobDescription& job = plan_.job();
  const NameFacts facts = name_facts(plan_, order_.identity().user_name(), 0);
  const auto path = [&](std::string_view pattern) {
    return under_directory(expand_pattern(pattern, facts), job.work_dir());
  };
  spec.in = job.std_in().empty() ? null_stream(O_RDONLY) : StreamSpec{path(job.std_in()), O_RDONLY, -1};
  spec.out = {path(job.std_out().empty() ? default_output_pattern(facts) : std::string_view{job.std_out()}),
              output_flags(plan_), -1};
  spec.err_is_out = job.std_err().empty();
  if (!spec.err_is_out) spec.err = {path(job.std_err()), output_flags(plan_), -1};
  // Opened twice, a truncated file would lose what the other descriptor wrote.
  if (spec.err.path == spec.out.path) spec.err_is_out = true;
}

// The task's own process, once it is its user's, writes the bundle's configuration and becomes the runtime.
Result<void> Supervisor::contain(TaskSpec& spec, std::uint32_t rank, const std::string& script) const {
  if (plan_.job().container().empty()) return {};
  const std::string runtime = find_container_runtime();
  if (runtime.empty()) return fail(Errc::not_found, "--container needs crun or runc on the node; neither is installed");
  MR_TRY(const std::string folder,
         blame_machine(spool_.make_folder("container." + std::to_string(rank), spec.user.uid, spec.user.gid)));
  char self[PATH_MAX]{};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
    return fail(Errc::io, "this program's path cannot be found");
  std::string devices;
  for (const std::string& file : order_.isolation().granted_devices()) devices += (devices.empty() ? "" : ",") + file;
  std::vector<std::string> arguments{self, "--oci", runtime, plan_.job().container(), folder, script, devices, "--"};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  spec.arguments = std::move(arguments);
  spec.environment.set("SLURM_CONTAINER", plan_.job().container());
  return {};
}

Result<void> Supervisor::start_batch() {
  MR_TRY_VOID(isolation_.begin(1, spool_, environment_, log_));
  TaskSpec spec = common_spec();
  isolation_.bind(spec, 0, 0);
  MR_TRY(std::string script, blame_machine(spool_.write_script(plan_.script(), spec.user.uid, spec.user.gid)));
  spec.arguments.push_back(std::move(script));
  spec.arguments.insert(spec.arguments.end(), plan_.job().arguments().begin(), plan_.job().arguments().end());
  MR_TRY_VOID(contain(spec, 0, spec.arguments.front()));
  choose_batch_files(spec);
  spec.hands_over_errors = true;
  spec.login_environment = plan_.job().extras().user_env();
  add_hooks(spec);
  add_task(spec.environment, 0, 0);
  MR_TRY_VOID(start_one(spec, 0));
  remember_tasks();
  return {};
}

// For an agent that finds us dead; it knows them by their environment and their cgroup too, so that a spool that is
// full by now ends nothing that has begun.
void Supervisor::remember_tasks() {
  std::vector<pid_t> pids;
  for (const RunningTask& task : tasks_) pids.push_back(task.pid);
  if (const auto written = spool_.write_tasks(pids, order_.identity().uid()); !written)
    log_.error([&] { return std::string_view{written.error().story}; });
}

// Only files that differ by node or task are opened here; srun itself writes every other one.
void Supervisor::choose_task_files(TaskSpec& spec, std::uint32_t rank) const {
  const wire::JobDescription& job = plan_.job();
  const NameFacts facts = name_facts(plan_, order_.identity().user_name(), rank);
  const auto choose = [&](StreamSpec& stream, const std::string& pattern, int flags) {
    if (pattern == "none") stream = null_stream(flags & O_ACCMODE);
    if (is_per_node(pattern)) stream = {under_directory(expand_pattern(pattern, facts), job.work_dir()), flags, -1};
  };
  choose(spec.in, job.std_in(), O_RDONLY);
  if (job.step_options().has_input_task() && job.step_options().input_task() != rank) spec.in = null_stream(O_RDONLY);
  choose(spec.out, job.std_out(), output_flags(plan_));
  choose(spec.err, job.std_err(), output_flags(plan_));
  spec.err_is_out = !spec.out.path.empty() && (job.std_err().empty() || spec.err.path == spec.out.path);
}

Result<void> Supervisor::start_tasks() {
  if (!streams_.is_connected()) return fail(Errc::unavailable, streams_.call_problem());
  log_.srun_is_there();
  const std::vector<std::uint32_t> ranks = ranks_of_node(plan_);
  if (plan_.tasks_per_node_max() != 0 && ranks.size() > plan_.tasks_per_node_max())
    return fail(Errc::refused, std::to_string(ranks.size()) + " tasks are too many for one node: MaxTasksPerNode=" +
                                   std::to_string(plan_.tasks_per_node_max()));
  MR_TRY_VOID(isolation_.begin(static_cast<std::uint32_t>(ranks.size()), spool_, environment_, log_));
  MR_TRY_VOID(start_mpi());
  return start_when_mpi_is_ready();
}

Result<void> Supervisor::start_programs() {
  const std::vector<std::uint32_t> ranks = ranks_of_node(plan_);
  MR_TRY_VOID(open_display());
  std::optional<MultiProg> programs;
  if (!plan_.job().step_options().multi_prog().empty()) {
    MR_TRY(programs, MultiProg::parse(plan_.job().step_options().multi_prog()));
  }
  tasks_.reserve(ranks.size());
  for (std::uint32_t local = 0; local < ranks.size(); ++local) {
    TaskSpec spec = common_spec();
    spec.arguments.assign(plan_.job().arguments().begin(), plan_.job().arguments().end());
    if (programs) {
      MR_TRY(spec.arguments, programs->command_of(ranks[local]));
    }
    MR_TRY_VOID(contain(spec, ranks[local], ""));
    choose_task_files(spec, ranks[local]);
    add_hooks(spec);
    isolation_.bind(spec, ranks[local], local);
    add_task(spec.environment, ranks[local], local);
    MR_TRY_VOID(gpus_.show_task(spec.environment, local, spec.cpus));
    if (gpus_.is_told())
      streams_.note("gpu-bind: " + plan_.node_name() + ", task " + std::to_string(ranks[local]) + ": " +
                    std::string{spec.environment.get("SLURM_STEP_GPUS")});
    if (plan_.job().has_pty() && ranks[local] == 0) {
      MR_TRY_VOID(streams_.prepare_terminal(0, plan_.job().pty().rows(), plan_.job().pty().columns(), spec));
      spec.environment.set("SLURM_PTY_WIN_ROW", std::to_string(plan_.job().pty().rows()));
      spec.environment.set("SLURM_PTY_WIN_COL", std::to_string(plan_.job().pty().columns()));
    } else {
      MR_TRY_VOID(streams_.prepare_task(ranks[local], spec));
    }
    if (mpi_) {
      MR_TRY_VOID(mpi_->prepare_task(ranks[local], spec));
    }
    const auto started = start_one(spec, ranks[local]);
    streams_.task_started(spec);
    if (mpi_) mpi_->task_started(spec);
    if (!started) return started;
  }
  if (tasks_.empty()) finish();  // fewer tasks than nodes
  remember_tasks();
  return {};
}

Result<void> Supervisor::open_display() {
  const wire::StepOptions& options = plan_.job().step_options();
  if (!options.has_x11()) return {};
  const auto nodes = static_cast<std::uint32_t>(plan_.tasks_per_node_size());
  if (options.x11().nodes() == wire::X11Wish::FIRST && plan_.node_position() != 0) return {};
  if (options.x11().nodes() == wire::X11Wish::LAST && plan_.node_position() + 1 != nodes) return {};
  const wire::Credential& identity = order_.identity();
  MR_TRY_VOID(in_context(x11_.open(options.x11().screen()), "--x11"));
  MR_TRY(const std::string folder, in_context(blame_machine(spool_.make_folder("x11", identity.uid(), identity.gid(),
                                                                               {"Xauthority", x11_.authority_entry()})),
                                              "--x11"));
  environment_.set("DISPLAY", x11_.display());
  environment_.set("XAUTHORITY", folder + "/Xauthority");
  streams_.send_x11(x11_.greeting());
  return {};
}

void Supervisor::move_x11() {
  for (const wire::X11Piece& piece : streams_.take_x11()) x11_.take(piece);
  for (const wire::X11Piece& piece : std::exchange(x11_to_srun_, {})) streams_.send_x11(piece);
}

// What srun and slurm.conf want run before the program; sbcast runs none.
void Supervisor::add_hooks(TaskSpec& spec) const {
  const wire::StepOptions& options = plan_.job().step_options();
  spec.node_name = plan_.node_name();
  if (options.has_receive()) {
    spec.receive = &options.receive();
    return;
  }
  for (const std::string& prolog : {plan_.task_prolog(), options.task_prolog()})
    if (!prolog.empty()) spec.prologs.push_back(prolog);
}

// After the program, in the same order reversed; nobody sees what they write.
bool Supervisor::start_epilog(RunningTask& task) {
  const wire::StepOptions& options = plan_.job().step_options();
  const std::string epilogs[] = {options.task_epilog(), plan_.task_epilog()};
  while (!options.has_receive() && task.epilogs_begun < std::size(epilogs)) {
    const std::string& program = epilogs[task.epilogs_begun++];
    if (program.empty()) continue;
    TaskSpec spec = common_spec();
    spec.arguments = {program};
    spec.cgroup = isolation_.cgroup();
    spec.in = null_stream(O_RDONLY);
    spec.out = spec.err = null_stream(O_WRONLY);
    add_task(spec.environment, task.rank, task.local_rank);
    spec.environment.set("SLURM_SCRIPT_CONTEXT", "epilog_task");
    const auto started = start_task(spec);
    if (!started) continue;
    close(started->report);
    task.pid = started->pid;
    return true;
  }
  return false;
}

Result<void> Supervisor::start_one(const TaskSpec& spec, std::uint32_t rank) {
  MR_TRY(const StartedTask started, start_task(spec));
  RunningTask& task = tasks_.emplace_back();
  task.rank = rank;
  task.local_rank = static_cast<std::uint32_t>(tasks_.size() - 1);
  task.pid = started.pid;
  log_.debug([&] {
    return "task " + std::to_string(rank) + " (" + std::to_string(task.pid) +
           ") started: " + (spec.arguments.empty() ? "" : spec.arguments.front());
  });
  if (!spec.cpus.empty())
    log_.about(DebugFlag::cpu_bind, [&] {
      std::string cpus;
      for (const std::uint32_t cpu : spec.cpus) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
      return "task " + std::to_string(rank) + " on processors " + cpus;
    });
  task.report = started.report;
  return {};
}

}  // namespace millrace
