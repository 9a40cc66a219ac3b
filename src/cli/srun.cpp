// src/cli/srun.cpp - runs a program on nodes: submits it as an interactive job and is its terminal until all tasks
// ended.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/index_set.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_options.h"
#include "cli/srun_bcast.h"
#include "cli/srun_console.h"
#include "cli/srun_endpoint.h"
#include "cli/srun_parts.h"
#include "cli/step_wishes.h"
#include "cli/submission.h"
#include "cli/told_options.h"
#include "client.pb.h"
#include "core/model/mpi_type.h"
#include "core/model/multi_prog.h"
#include "mpi/pmix_library.h"
#include "wire/random.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

constexpr ManualHead srun_head{
    "srun", "run a program on nodes of the cluster",
    "[options] program [arguments] [: [options] program [arguments]]...",
    "Gets nodes, starts the program on them as tasks, passes their output on and ends with the "
    "highest exit code of the tasks. "
    "A lone ':' begins the program of the next component of a heterogeneous job."};

bool names_each_task(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    std::size_t letter = i + 1;
    while (letter < pattern.size() && pattern[letter] >= '0' && pattern[letter] <= '9') ++letter;
    if (letter < pattern.size() && (pattern[letter] == 't' || pattern[letter] == 'n' || pattern[letter] == 'N'))
      return true;
    i = letter;
  }
  return false;
}

// A redirection as srun sees it: its own descriptor, or left to the nodes.
Result<void> take_redirections(JobDraft& draft, SrunPlan& plan) {
  const auto is_all = [](const std::string& value) { return value.empty() || value == "all" || value == "-"; };
  wire::JobDescription& job = draft.job;
  const auto take = [&](std::string value, std::string& pattern) -> std::string {
    if (is_all(value)) return {};
    if (value == "none") value = "/dev/null";
    if (names_each_task(value)) return value;
    pattern = value;
    return {};
  };
  if (const auto task = parse_integer(job.std_out()); task && *task >= 0 && !job.std_out().empty()) {
    plan.streams.only_output_of = static_cast<std::uint32_t>(*task);
    job.clear_std_out();
  }
  if (const auto task = parse_integer(job.std_in());
      task && *task >= 0 && *task <= INT32_MAX && !job.std_in().empty()) {
    job.mutable_step_options()->set_input_task(static_cast<std::uint32_t>(*task));
    job.clear_std_in();
  }
  job.set_std_out(take(job.std_out(), plan.output_pattern));
  job.set_std_err(take(job.std_err(), plan.error_pattern));
  if (job.std_in() == "none") {
    plan.input_path = "/dev/null";
    job.clear_std_in();
  } else if (is_all(job.std_in())) {
    job.clear_std_in();
  } else if (!names_each_task(job.std_in())) {
    plan.input_path = job.std_in();
    job.clear_std_in();
  }
  return {};
}

// The number of tasks where the request leaves no choice; else the controller says it.
std::optional<std::uint32_t> tasks_asked(const wire::JobDescription& job) {
  if (job.tasks() != 0) return job.tasks();
  if (job.has_resources()) return std::nullopt;  // gpus or a list of nodes may say how many
  const std::uint32_t per_node = std::max(job.tasks_per_node(), 1u);
  if (job.min_nodes() == 0) return per_node;
  if (job.min_nodes() == job.max_nodes()) return job.min_nodes() * per_node;
  return std::nullopt;
}

Result<std::string> read_multi_prog(const std::string& path, std::optional<std::uint32_t> tasks) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(Errc::refused, "Could not open multi_prog config file " + path + ": " + std::strerror(errno));
  if (text.view().size() > multi_prog_bytes_max)
    return fail(Errc::refused, "configuration file " + path + " has more than 1 MiB");
  const auto programs = MultiProg::parse(text.view());
  const auto checked = programs && tasks ? programs->check(*tasks) : Result<void>{};
  if (!programs || !checked)
    return fail(Errc::refused, "configuration file " + path +
                                   " invalid: " + (programs ? checked.error().story : programs.error().story));
  return text.str();
}

// srun's own: with the words of the step as arguments. Its end is only waited for.
void run_hook(const Command& command, const std::string& program, const wire::JobDescription& job,
              const char* context) {
  if (program.empty() || program == "none") return;
  const pid_t pid = fork();
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setenv("SLURM_SCRIPT_CONTEXT", context, 1);
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& word : job.arguments()) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (pid < 0 || status != 0)
    say_error(command, program + ": " +
                           (WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                                : "ended with exit code " + std::to_string(WEXITSTATUS(status))));
}

// The named one, else that of slurm.conf; `none` is none.
class SrunHooks {
 public:
  SrunHooks(const Command& command, const JobDraft& draft, const ClientSettings& settings)
      : command_(command), job_(draft.job), epilog_(draft.srun_epilog.value_or(settings.srun_epilog)) {
    run_hook(command, draft.srun_prolog.value_or(settings.srun_prolog), job_, "prolog_srun");
  }
  ~SrunHooks() { run_hook(command_, epilog_, job_, "epilog_srun"); }
  SrunHooks(const SrunHooks&) = delete;
  SrunHooks& operator=(const SrunHooks&) = delete;

 private:
  const Command& command_;
  const wire::JobDescription& job_;
  std::string epilog_;
};

Result<SrunPlan> make_plan(const Command& command, Submission& all, const ClientSettings& settings) {
  SrunPlan plan;
  JobDraft& draft = all.draft;
  describe_submitter(command, draft, settings);
  tell_options(command, draft);
  MR_TRY_VOID(take_redirections(draft, plan));
  const std::string program{all.operands[0]};
  if (!draft.name_given) draft.job.set_name(program.substr(program.rfind('/') + 1));
  draft.job.set_command(program);
  for (const std::string_view word : all.operands) draft.job.add_arguments(std::string{word});
  if (draft.multi_prog) {
    MR_TRY(*draft.job.mutable_step_options()->mutable_multi_prog(), read_multi_prog(program, tasks_asked(draft.job)));
  }
  draft.job.set_interactive(true);
  draft.job.set_label_output(draft.label);
  plan.job_name = draft.job.name();
  plan.append = draft.job.open_mode() == wire::JobDescription::append;
  plan.streams.label = draft.label;
  plan.streams.unbuffered = draft.unbuffered;
  plan.kill_on_bad_exit = draft.kill_on_bad_exit.value_or(settings.kill_on_bad_exit);
  plan.kill_wait_seconds = settings.kill_wait_seconds;
  plan.wait_seconds = draft.wait_seconds.value_or(settings.wait_time_seconds);
  plan.disable_status = draft.disable_status;
  plan.quit_on_interrupt = draft.quit_on_interrupt;
  plan.ignored_signals = draft.ignored_signals;
  plan.verbose = draft.verbose;
  if (draft.pty) {
    winsize size{};
    const bool known = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    draft.job.mutable_pty()->set_rows(known ? size.ws_row : 24);
    draft.job.mutable_pty()->set_columns(known ? size.ws_col : 80);
    plan.pty = plan.streams.unbuffered = true;
  }
  if (!draft.mpi_given && !settings.mpi_default.empty()) {
    const auto type = parse_mpi_type(settings.mpi_default);
    if (!type) return fail(Errc::refused, "MpiDefault in " + settings.path + ": " + type.error().story);
    draft.job.mutable_step_options()->set_mpi(*type);
  }
  if (draft.job.step_options().has_x11()) {
    MR_TRY(plan.display, find_display());
    draft.job.mutable_step_options()->mutable_x11()->set_screen(plan.display->screen);
  }
  if (!draft.job.step_options().ByteSizeLong()) draft.job.clear_step_options();
  plan.tasks = tasks_asked(draft.job);
  plan.secret = random_bytes(32);
  return plan;
}

int test_only(const Command& command, Session& session, wire::SubmitJob ask) {
  ask.set_test_only(true);
  const auto reply = session.submit(std::move(ask));
  if (reply && !reply->has_failure()) {
    say_plain(command.name + ": " + test_only_text(reply->submitted()));
    return 0;
  }
  if (!reply) say_trouble(command, session);
  say_plain("allocation failure: " + (reply ? reply->failure().text() : reply.error().story));
  return error_code();
}

int run(const Command& command, Submission& all, const ClientSettings& settings) {
  auto plan = make_plan(command, all, settings);
  if (!plan) return say_usage_error(command, plan.error());
  if (all.draft.immediate) plan->start_within_seconds = all.draft.immediate_seconds;
  SrunConsole console(command, *plan);
  const Endpoint endpoint = choose_endpoint(settings);
  const auto port = console.listen(endpoint);
  if (!port) return say_usage_error(command, {Errc::refused, port.error().story});
  wire::SubmitJob ask;
  ask.set_environment(job_environment(all.draft));
  *ask.mutable_job() = all.draft.job;
  ask.mutable_job()->mutable_stdio()->set_host(endpoint.host);
  ask.mutable_job()->mutable_stdio()->set_port(*port);
  ask.mutable_job()->mutable_stdio()->set_secret(plan->secret);
  ask.mutable_job()->set_client_waits(true);
  const SessionOptions options = *session_options(settings, command);
  Session session(options);
  if (all.draft.test_only) return test_only(command, session, std::move(ask));
  const SrunHooks hooks(command, all.draft, settings);
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
  for (const std::string& note : reply->submitted().notes()) say_info(command, note);
  return console.run(session, options, reply->submitted().job_id());
}

}  // namespace

wire::CreateStep make_step_ask(const JobDraft& draft, std::uint32_t job_id, const StepStdio& stdio) {
  wire::CreateStep ask;
  ask.set_job_id(job_id);
  ask.set_environment(job_environment(draft));
  *ask.mutable_step() = draft.job;
  ask.mutable_step()->mutable_stdio()->set_host(stdio.host);
  ask.mutable_step()->mutable_stdio()->set_port(stdio.port);
  ask.mutable_step()->mutable_stdio()->set_secret(stdio.secret);
  ask.set_overlap(draft.overlap);
  ask.set_interactive(draft.interactive_step);
  ask.set_exact(is_exact(draft));
  ask.set_immediate(draft.immediate && draft.immediate_seconds <= 1);  // otherwise srun itself gives up in time
  ask.set_srun_pid(static_cast<std::uint32_t>(getpid()));
  if (draft.first_node) ask.set_first_node(*draft.first_node);
  if (draft.resv_ports) ask.set_resv_ports(*draft.resv_ports);
  ask.set_recorded(draft.async);
  return ask;
}

Result<SrunPlan> make_srun_plan(const Command& command, Submission& all, const ClientSettings& settings) {
  return make_plan(command, all, settings);
}
int with_srun_hooks(const Command& command, const JobDraft& draft, const ClientSettings& settings,
                    const std::function<int()>& work) {
  const SrunHooks hooks(command, draft, settings);
  return work();
}

namespace {

// A step that is left to itself: nobody's terminal, nobody's input.
void settle_async(JobDraft& draft) {
  if (draft.job.std_out().empty()) draft.job.set_std_out("slurm-%J.out");
  if (draft.job.std_in().empty()) draft.job.set_std_in("none");
}

// --async: a child is srun for the step; here only its number is waited for, or its failure.
int run_async(const Command& command, const JobDraft& draft, const std::function<int(int tell)>& step) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return say_usage_error(command, {Errc::refused, std::string{"pipe: "} + std::strerror(errno)});
  const pid_t child = fork();
  if (child < 0) return say_usage_error(command, {Errc::refused, std::string{"fork: "} + std::strerror(errno)});
  if (child == 0) {
    close(ends[0]);
    setsid();
    return step(ends[1]);
  }
  close(ends[1]);
  std::string number;
  char buffer[64];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0)
      number.append(buffer, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      break;
  }
  close(ends[0]);
  if (!number.empty()) return draft.quiet ? 0 : print((draft.parsable ? "" : "Submitted step ") + number + '\n');
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : error_code();
}

// Who called has its answer, and must not wait for the step by the descriptors that it gave us.
void tell_number(int tell, std::uint32_t job_id, std::uint32_t step_id) {
  const std::string number = std::to_string(job_id) + '.' + std::to_string(step_id);
  [[maybe_unused]] const ssize_t written = write(tell, number.data(), number.size());
  close(tell);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  close(nowhere);
}

// Inside an allocation: its step manager finds the nodes.
int run_step(const Command& command, Submission& all, const ClientSettings& settings, std::uint32_t job_id,
             std::optional<int> tell = {}) {
  if (tell) settle_async(all.draft);
  if (const auto settled = settle_step_wishes(command, all.draft); !settled)
    return say_usage_error(command, settled.error());
  if (all.draft.interactive_step) settle_interactive_step(all.draft);
  std::string copy;
  if (all.draft.bcast)
    if (const auto sent = broadcast_program(command, all, settings, job_id, copy); !sent)
      return say_usage_error(command, sent.error());
  auto plan = make_plan(command, all, settings);
  if (!plan) return say_usage_error(command, plan.error());
  if (all.draft.immediate && all.draft.immediate_seconds > 1) plan->start_within_seconds = all.draft.immediate_seconds;
  if (tell) plan->when_created = [tell = *tell, job_id](std::uint32_t step_id) { tell_number(tell, job_id, step_id); };
  SrunConsole console(command, *plan);
  const Endpoint endpoint = choose_endpoint(settings);
  const auto port = console.listen(endpoint);
  if (!port) return say_usage_error(command, {Errc::refused, port.error().story});
  wire::CreateStep ask = make_step_ask(all.draft, job_id, {endpoint.host, *port, plan->secret});
  if (all.draft.het_group) ask.set_component(all.draft.het_group->front());
  const SessionOptions options = *session_options(settings, command);
  Session session(options);
  const SrunHooks hooks(command, all.draft, settings);
  console.catch_signals();
  return console.run_step(session, options, std::move(ask));
}

// --jobid=12_3: a task of an array has a number of its own.
Result<std::uint32_t> number_of_task(const JobDraft& draft, const ClientSettings& settings) {
  wire::Request request;
  wire::JobName* name = request.mutable_query_jobs()->add_jobs();
  name->set_job_id(*draft.job_id);
  name->set_tasks(draft.job_task);
  Session session(*session_options(settings));
  MR_TRY(const wire::Reply reply, session.call(request));
  for (const wire::JobView& job : reply.jobs().jobs())
    if (job.has_array_task() && std::to_string(job.array_task()) == draft.job_task) return job.job_id();
  return fail(Errc::refused, "Unable to confirm allocation for job " + std::to_string(*draft.job_id) + "_" +
                                 draft.job_task + ": Invalid job id specified");
}

// The PMIx library that counts is that of the nodes; where it is missing here it is most likely missing there.
int list_mpi() {
  std::string text = "MPI plugin types are...\n\tnone\n\tpmi2\n";
  if (const auto version = pmix_version())
    text += "\tpmix\nspecific pmix plugin versions available: pmix_v" + std::to_string(*version) + "\n";
  return print(text);
}

}  // namespace

std::vector<OptionText> srun_options() { return option_texts(job_options(), srun); }
std::string srun_manual() { return man_page(srun_head, option_texts(job_options(), srun)); }

int run_srun(Command& command) {
  const std::optional<std::uint32_t> around = job_around();
  if (around) forget_wishes_of_job();
  auto parts = read_srun_parts(command);
  if (!parts) return say_usage_error(command, parts.error());
  Submission* all = &parts->front().all;
  JobDraft& draft = all->draft;
  if (answer_common({draft.help, draft.usage, draft.version}, srun_head, option_texts(job_options(), srun))) return 0;
  command.quiet = draft.quiet;
  command.verbose = draft.verbose;
  if (draft.list_mpi) return list_mpi();
  if (draft.list_gres) {
    const auto found = read_client_settings();
    if (!found) return say_usage_error(command, {Errc::refused, found.error().story});
    answer_gres_help(draft, *found);
    return 0;
  }
  if (std::ranges::any_of(*parts, [](const SrunPart& part) { return part.all.operands.empty(); })) {
    say_plain("srun: fatal: No command given to execute.");
    return error_code();
  }
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto reached = check_clusters(draft, *settings); !reached) return say_usage_error(command, reached.error());
  if (!draft.job_sluid.empty()) {
    const auto named = parse_job_name(draft.job_sluid);
    if (!named)
      return say_usage_error(
          command, {Errc::refused, told(named.error(), "Unable to confirm allocation for job " + draft.job_sluid +
                                                           ": Invalid job id specified")});
    draft.job_id = named->id;
    draft.job_task = named->tasks;
  }
  std::optional<std::uint32_t> job = draft.job_id ? draft.job_id : around;
  if (!draft.job_task.empty()) {
    const auto number = number_of_task(draft, *settings);
    if (!number) return say_usage_error(command, number.error());
    job = *number;
  }
  if (draft.job.extras().no_allocate()) {
    if (draft.job.required_nodes().empty())
      return say_usage_error(command, {Errc::refused, "must specify a node list with -Z, --no-allocate."});
    if (parts->size() > 1 || draft.async)
      return say_usage_error(command, {Errc::refused, "--no-allocate runs one program, and waits for it"});
    say_info(command, "do not allocate resources");
    return run(command, *all, *settings);
  }
  if (draft.async && (!job || parts->size() > 1 || draft.pty || draft.interactive_step))
    return say_usage_error(
        command, {Errc::refused,
                  !job ? "--async starts a step of a job; here srun runs in none (sbatch, salloc, --jobid)"
                  : parts->size() > 1 ? "--async over several components is not built yet in Millrace"
                                      : "--async leaves a step to itself; --pty and --interactive need somebody"});
  if (parts->size() > 1) return run_srun_parts(command, *parts, *settings, job);
  if (job && draft.async)
    return run_async(command, draft, [&](int tell) { return run_step(command, *all, *settings, *job, tell); });
  if (job) return run_step(command, *all, *settings, *job);
  if (draft.het_group)
    return say_usage_error(
        command, {Errc::refused, "--het-group names components of the job srun runs in; here it runs in none"});
  if (draft.interactive_step)
    return say_usage_error(command,
                           {Errc::refused, "--interactive starts the shell of an allocation; here is none (salloc)"});
  if (draft.first_node) return say_usage_error(command, not_built("--relative outside an allocation").error());
  if (draft.bcast)
    return say_usage_error(
        command,
        {Errc::refused, "--bcast copies to the nodes of the job srun runs in; here it runs in none (salloc first)"});
  if (draft.resv_ports)
    return run_srun_parts(command, *parts, *settings,
                          job);  // nodes first: only then is it known which ports are free there
  return run(command, *all, *settings);
}

}  // namespace millrace
