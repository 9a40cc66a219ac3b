// src/cli/salloc.cpp - gets nodes, runs a command or a shell beside them for as long as it takes, and gives them back.
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_options.h"
#include "cli/submission.h"
#include "cli/told_options.h"
#include "cli/x11_relay.h"
#include "client.pb.h"

namespace millrace {
namespace {

constexpr ManualHead salloc_head{
    "salloc", "get nodes and run a command beside them", "[options [: options]...] [command [arguments]]",
    "Waits for nodes, runs the command, or a shell, on this host with the variables of the job, "
    "and gives the nodes back when it ends. "
    "srun inside it runs programs on the nodes."};
constexpr int queue_notice_ms = 200, ready_retry_ms = 500;
constexpr std::int64_t long_wait_ms = 10'000;  // after that the terminal rings

// srun with what the site wants it to start, in the words of a shell: $SHELL is the user's.
Result<std::vector<std::string>> interactive_step_words(const std::string& options) {
  wordexp_t found{};
  if (wordexp(options.c_str(), &found, WRDE_NOCMD) != 0)
    return fail(Errc::invalid, "'" + options + "' cannot be read as words of a shell");
  std::vector<std::string> words{"srun"};
  for (std::size_t i = 0; i < found.we_wordc; ++i) words.emplace_back(found.we_wordv[i]);
  wordfree(&found);
  return words;
}

std::int64_t now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

class Allocation {
 public:
  Allocation(const Command& command, const Submission& all, const ClientSettings& settings)
      : command_(command),
        all_(all),
        settings_(settings),
        options_(*session_options(settings, command)),
        session_(options_) {}
  ~Allocation() {
    if (signals_ >= 0) close(signals_);
  }
  int run(wire::SubmitJob ask);

 private:
  bool submit(wire::SubmitJob ask);
  bool wait_for_nodes();
  bool wait_until_ready();
  bool give_up_waiting();
  bool start_command();
  int wait_for_command();
  void take_news();
  void take_signals();
  void watch();
  void cancel();
  void give_back(int exit_code);
  void say_end();
  std::string id() const { return std::to_string(job_id_); }
  void set_variables();
  void set_asked(const wire::JobView& view);
  void set_component(const wire::JobView& job);

  const Command& command_;
  const Submission& all_;
  const ClientSettings& settings_;
  SessionOptions options_;
  Session session_;
  int signals_ = -1;
  std::uint32_t job_id_ = 0;
  bool watching_ = false, started_ = false, ended_ = false, said_queued_ = false, late_ = false;
  int interrupted_ = 0;
  wire::JobProgress last_;
  pid_t child_ = -1;
  bool owns_terminal_ = false;
  std::optional<int> child_status_;
};

bool Allocation::submit(wire::SubmitJob ask) {
  const auto reply = session_.submit(std::move(ask));
  if (reply && !reply->has_failure()) {
    for (const std::string& note : reply->submitted().notes()) say_info(command_, note);
    job_id_ = reply->submitted().job_id();
    say_more(command_, 1, "Submitted job " + id());
    return true;
  }
  if (!reply)
    say_trouble(command_, session_);
  else
    for (const std::string& note : reply->failure().notes()) say_error(command_, note);
  const std::string text = reply ? reply->failure().text() : reply.error().story;
  say_error(command_, "Job submit/allocate failed: " + text);
  return false;
}

void Allocation::watch() {
  wire::Request request;
  request.mutable_wait_job()->set_job_id(job_id_), request.mutable_wait_job()->set_as_client(true);
  watching_ = session_.send(request).has_value();
}

void Allocation::take_news() {
  for (;;) {
    const auto reply = session_.take_ready();
    if (!reply) watching_ = false;
    if (!reply || !*reply) return;
    watching_ = (*reply)->more();
    if ((*reply)->has_failure()) ended_ = true;
    if ((*reply)->has_job_progress()) {
      last_ = (*reply)->job_progress();
      started_ = started_ || last_.state() == wire::RUNNING;
      ended_ = ended_ || last_.ended();
    }
    if (!watching_) return;
  }
}

void Allocation::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) {
      int status = 0;
      if (child_ > 0 && waitpid(child_, &status, WNOHANG) == child_) child_status_ = status;
    } else if (child_ < 0) {
      interrupted_ = number;
    } else if (number != SIGINT) {  // the terminal sends Ctrl-C to the command itself
      kill(child_, number);
    }
  }
}

bool Allocation::wait_for_nodes() {
  watch();
  const std::int64_t since_ms = now_ms();
  const std::int64_t until_ms =
      all_.draft.immediate ? since_ms + std::int64_t{all_.draft.immediate_seconds} * 1000 : INT64_MAX;
  int wait_ms = queue_notice_ms;
  while (!started_ && !ended_ && interrupted_ == 0) {
    pollfd entries[] = {{signals_, POLLIN, 0}, {watching_ ? session_.descriptor() : -1, POLLIN, 0}};
    if (now_ms() >= until_ms) return give_up_waiting();
    const auto left_ms = static_cast<int>(std::min<std::int64_t>(until_ms - now_ms(), 1'000'000));
    const int pause_ms = watching_ ? wait_ms : 1000;
    const int ready = poll(entries, 2,
                           until_ms == INT64_MAX ? pause_ms
                           : pause_ms < 0        ? left_ms
                                                 : std::min(pause_ms, left_ms));
    if (ready == 0 && !watching_) watch();
    if (ready == 0 && !said_queued_ && now_ms() - since_ms >= queue_notice_ms) {
      said_queued_ = true;
      wait_ms = -1;
      say_info(command_, "Pending job allocation " + id());
      say_info(command_, "job " + id() + " queued and waiting for resources");
    }
    if (entries[0].revents != 0) take_signals();
    if (entries[1].revents != 0) take_news();
  }
  if (interrupted_ != 0) {
    cancel();
    say_info(command_, "Job allocation " + id() + " has been revoked.");
    say_error(command_, "Interrupted by signal. Allocation request rescinded.");
    return false;
  }
  if (!started_) {
    say_end();
    return false;
  }
  if (said_queued_) say_info(command_, "job " + id() + " has been allocated resources");
  say_info(command_, "Granted job allocation " + id());
  if (!wait_until_ready()) return false;
  const bool rings = all_.draft.bell.value_or(now_ms() - since_ms >= long_wait_ms);
  if (rings && isatty(STDOUT_FILENO) == 1) print_bytes("\a");
  return true;
}

// Nodes that boot, and prologs, take their time; without a controller to ask nobody knows better than that the job has
// started.
bool Allocation::wait_until_ready() {
  for (bool told = false;; told = true) {
    Session session(options_);
    wire::Request request;
    request.mutable_query_jobs()->add_jobs()->set_job_id(job_id_);
    const auto reply = session.call(request);
    const bool configuring =
        reply && reply->has_jobs() &&
        std::ranges::any_of(reply->jobs().jobs(), [](const wire::JobView& job) { return job.configuring(); });
    if (!configuring) break;
    if (!told) say_info(command_, "Waiting for resource configuration");
    pollfd entries[] = {{signals_, POLLIN, 0}, {watching_ ? session_.descriptor() : -1, POLLIN, 0}};
    poll(entries, 2, ready_retry_ms);
    if (entries[0].revents != 0) take_signals();
    if (entries[1].revents != 0) take_news();
    if (interrupted_ != 0) {
      cancel();
      say_info(command_, "Job aborted due to signal");
      return false;
    }
    if (ended_) {
      say_end();
      return false;
    }
  }
  say_info(command_, "Nodes " + last_.nodes() + " are ready for job");
  return true;
}

// --immediate: the nodes were not there in time.
bool Allocation::give_up_waiting() {
  cancel();
  late_ = true;
  say_info(command_, "Job allocation " + id() + " has been revoked.");
  say_error(command_, "Unable to allocate resources: Immediate execution impossible, insufficient priority");
  return false;
}

void Allocation::cancel() {
  SessionOptions options = options_;
  options.patience = seconds(0);
  Session session(options);
  wire::Request request;
  request.mutable_cancel()->add_jobs()->set_job_id(job_id_);
  if (const auto reply = session.call(request); !reply)
    say_error(command_, "Unable to cancel job " + id() + ": " + reply.error().story);
}

void Allocation::give_back(int exit_code) {
  say_info(command_, "Relinquishing job allocation " + id());
  Session session(options_);
  wire::Request request;
  request.mutable_end_allocation()->set_job_id(job_id_);
  request.mutable_end_allocation()->set_exit_code(static_cast<std::uint32_t>(exit_code));
  const auto reply = session.call(request);
  if (reply && !reply->has_failure()) return;
  if (reply && reply->failure().code() == 2021) return;  // it has ended already
  cancel();
}

void Allocation::say_end() {
  if (last_.state() == wire::TIMEOUT)
    say_info(command_, "Job " + id() + " has exceeded its time limit and its allocation has been revoked.");
  else
    say_info(command_, "Job allocation " + id() + " has been revoked.");
}

// The variables of the job, as a script of it would have them.
void Allocation::set_variables() {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  const wire::JobDescription& asked = all_.draft.job;
  Session session(options_);
  wire::Request request;
  request.mutable_query_jobs()->add_jobs()->set_job_id(job_id_);
  const auto reply = session.call(request);
  wire::JobView view;
  if (reply && reply->has_jobs())
    for (const wire::JobView& job : reply->jobs().jobs())
      if (job.het_job_id() == 0 || job.het_job_offset() == 0) view = job;
  if (reply && reply->has_jobs() && view.het_job_id() != 0) {
    set("SLURM_HET_SIZE", std::to_string(view.het_job_size()));
    for (const wire::JobView& job : reply->jobs().jobs()) set_component(job);
  }
  const std::vector<std::uint32_t> tasks(last_.tasks_per_node().begin(), last_.tasks_per_node().end());
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) set(name, id());
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) set(name, last_.nodes());
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) set(name, std::to_string(tasks.size()));
  set("SLURM_TASKS_PER_NODE", compress_counts(tasks));
  set("SLURM_JOB_CPUS_PER_NODE",
      compress_counts({view.cpus_per_allocated_node().begin(), view.cpus_per_allocated_node().end()}));
  set("SLURM_JOB_NAME", asked.name());
  set("SLURM_JOB_PARTITION", view.partition());
  set("SLURM_JOB_ACCOUNT", view.account());
  set("SLURM_JOB_QOS", view.qos());
  set("SLURM_SUBMIT_DIR", current_directory());
  set("SLURM_SUBMIT_HOST", own_host_name());
  set("SLURM_CLUSTER_NAME", settings_.cluster_name);
  set("SLURM_CONF", settings_.path);
  set_asked(view);
  if (asked.step_options().has_x11()) {
    const auto nodes = asked.step_options().x11().nodes();
    set("MILLRACE_X11", nodes == wire::X11Wish::FIRST ? "first" : nodes == wire::X11Wish::LAST ? "last" : "all");
  }
  if (asked.tasks() != 0 || asked.tasks_per_node() != 0)
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"}) set(name, std::to_string(view.tasks()));
  if (asked.tasks_per_node() != 0) set("SLURM_NTASKS_PER_NODE", std::to_string(asked.tasks_per_node()));
  if (asked.cpus_per_task() != 0) set("SLURM_CPUS_PER_TASK", std::to_string(asked.cpus_per_task()));
  if (asked.has_memory_per_cpu_mib()) set("SLURM_MEM_PER_CPU", std::to_string(asked.memory_per_cpu_mib()));
  if (asked.has_memory_per_node_mib()) set("SLURM_MEM_PER_NODE", std::to_string(asked.memory_per_node_mib()));
}

// What was asked for beside nodes, tasks, processors and memory.
void Allocation::set_asked(const wire::JobView& view) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  const auto number = [&](const char* name, std::uint64_t value) {
    set(name, value == 0 ? std::string{} : std::to_string(value));
  };
  const wire::JobDescription& asked = all_.draft.job;
  const wire::ResourceWishes& wishes = asked.resources();
  const wire::JobExtras& extras = asked.extras();
  set("SLURM_JOB_RESERVATION", view.resources().reservation());
  set("SLURM_JOB_DEPENDENCY", asked.dependency());
  set("SLURM_JOB_LICENSES", view.resources().licenses_allocated());
  set("SLURM_GPUS", wishes.gpus());
  set("SLURM_GPUS_PER_NODE", wishes.gpus_per_node());
  set("SLURM_GPUS_PER_TASK", wishes.gpus_per_task());
  set("SLURM_GPUS_PER_SOCKET", wishes.gpus_per_socket());
  set("SLURM_GPU_BIND", asked.gpu_bind());
  set("SLURM_GPU_FREQ", extras.gpu_freq());
  number("SLURM_CPUS_PER_GPU", wishes.cpus_per_gpu());
  number("SLURM_MEM_PER_GPU", wishes.memory_per_gpu_mib());
  number("SLURM_NTASKS_PER_CORE", wishes.tasks_per_core());
  number("SLURM_NTASKS_PER_SOCKET", wishes.tasks_per_socket());
  number("SLURM_NTASKS_PER_GPU", wishes.tasks_per_gpu());
  number("SLURM_THREADS_PER_CORE", wishes.threads_per_core());
  number("SLURM_JOB_SEGMENT_SIZE", wishes.segment());
  set("SLURM_HINT", wishes.hint());
  set("SLURM_DISTRIBUTION", wishes.distribution());
  set("SLURM_NETWORK", extras.network());
  set("SLURM_PROFILE", extras.profile());
  set("SLURM_ACCTG_FREQ", extras.acctg_freq());
  set("SLURM_CPU_FREQ_REQ", extras.cpu_freq());
  set("SLURM_OVERCOMMIT", extras.overcommit() ? "1" : "");
}

// The same of each component, with its place as a suffix.
void Allocation::set_component(const wire::JobView& job) {
  const std::uint32_t place = job.het_job_offset();
  const wire::JobDescription& asked = place == 0 || place > all_.more.size() ? all_.draft.job : all_.more[place - 1];
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) setenv((std::string{name} + "_HET_GROUP_" + std::to_string(place)).c_str(), value.c_str(), 1);
  };
  const std::string nodes = std::to_string(job.cpus_per_allocated_node_size());
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) set(name, std::to_string(job.job_id()));
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) set(name, job.nodes());
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) set(name, nodes);
  set("SLURM_JOB_CPUS_PER_NODE",
      compress_counts({job.cpus_per_allocated_node().begin(), job.cpus_per_allocated_node().end()}));
  set("SLURM_JOB_NAME", job.name());
  set("SLURM_JOB_PARTITION", job.partition());
  set("SLURM_JOB_ACCOUNT", job.account());
  set("SLURM_JOB_QOS", job.qos());
  if (asked.tasks() != 0 || asked.tasks_per_node() != 0)
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"}) set(name, std::to_string(job.tasks()));
  if (asked.tasks_per_node() != 0) set("SLURM_NTASKS_PER_NODE", std::to_string(asked.tasks_per_node()));
  if (asked.cpus_per_task() != 0) set("SLURM_CPUS_PER_TASK", std::to_string(asked.cpus_per_task()));
  if (asked.has_memory_per_cpu_mib()) set("SLURM_MEM_PER_CPU", std::to_string(asked.memory_per_cpu_mib()));
  if (asked.has_memory_per_node_mib()) set("SLURM_MEM_PER_NODE", std::to_string(asked.memory_per_node_mib()));
}

bool Allocation::start_command() {
  set_variables();
  std::vector<std::string> words;
  for (const std::string_view word : all_.operands) words.emplace_back(word);
  const passwd* user = getpwuid(getuid());
  const std::string shell =
      user != nullptr && user->pw_shell != nullptr && *user->pw_shell != '\0' ? user->pw_shell : "/bin/sh";
  if (words.empty() && settings_.use_interactive_step) {
    setenv("SHELL", shell.c_str(), 0);
    auto found = interactive_step_words(settings_.interactive_step_options);
    if (!found) {
      say_error(command_, "InteractiveStepOptions of " + settings_.path + ": " + found.error().story);
      return false;
    }
    words = *std::move(found);
  } else if (words.empty() && !settings_.salloc_command.empty()) {
    words = {"/bin/sh", "-c", settings_.salloc_command};
  } else if (words.empty()) {
    words.push_back(shell);
  }
  const bool interactive = all_.operands.empty() && settings_.use_interactive_step;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  say_more(command_, 2, "starting " + words[0]);
  owns_terminal_ = isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp();
  int trouble[2];
  if (pipe2(trouble, O_CLOEXEC) != 0) return false;
  child_ = fork();
  if (child_ == 0) {
    if (owns_terminal_) {
      setpgid(0, 0);
      signal(SIGTTOU, SIG_IGN);
      tcsetpgrp(STDIN_FILENO, getpid());
      signal(SIGTTOU, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // The srun that belongs to us, wherever it is installed; another may be in the path.
    if (interactive)
      execv("/proc/self/exe", arguments.data());
    else
      execvp(arguments[0], arguments.data());
    const int problem = errno;
    [[maybe_unused]] const ssize_t told = write(trouble[1], &problem, sizeof problem);
    _exit(127);
  }
  close(trouble[1]);
  int problem = 0;
  const bool failed = child_ < 0 || read(trouble[0], &problem, sizeof problem) == static_cast<ssize_t>(sizeof problem);
  close(trouble[0]);
  if (!failed) return true;
  say_error(command_, "Unable to find command \"" + words[0] + "\"");
  return false;
}

int Allocation::wait_for_command() {
  bool told = false;
  while (!child_status_) {
    // First of all: its end may have come with the news of its start.
    if (ended_ && !told) {
      told = true;
      say_end();
      // A command without -K goes on: its steps have ended, what it does with their results is its own affair. A shell
      // is hung up.
      if (all_.draft.kill_signal)
        kill(child_, static_cast<int>(*all_.draft.kill_signal));
      else if (all_.operands.empty() || owns_terminal_)
        kill(child_, SIGHUP);
    }
    pollfd entries[] = {{signals_, POLLIN, 0}, {watching_ ? session_.descriptor() : -1, POLLIN, 0}};
    if (poll(entries, 2, watching_ || ended_ ? -1 : 2000) == 0 && !ended_) watch();
    if (entries[0].revents != 0) take_signals();
    if (entries[1].revents != 0) take_news();
  }
  if (ended_ && !told) say_end();  // both ended at once
  if (owns_terminal_) {
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, getpgrp());
  }
  return WIFEXITED(*child_status_) ? WEXITSTATUS(*child_status_) : 128 + WTERMSIG(*child_status_);
}

int Allocation::run(wire::SubmitJob ask) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  signal(SIGPIPE, SIG_IGN);
  if (!submit(std::move(ask)) || !wait_for_nodes()) return late_ ? immediate_code() : error_code();
  if (all_.draft.no_shell) return 0;
  if (!start_command()) {
    give_back(1);
    return error_code();
  }
  const int code = wait_for_command();
  return ended_ ? code : (give_back(code), code);
}

}  // namespace

std::vector<OptionText> salloc_options() { return option_texts(job_options(), salloc); }
std::string salloc_manual() { return man_page(salloc_head, option_texts(job_options(), salloc)); }

int run_salloc(Command& command) {
  auto all = read_all_layers(command, salloc, {});
  if (!all) return say_usage_error(command, all.error());
  JobDraft& draft = all->draft;
  if (answer_common({draft.help, draft.usage, draft.version}, salloc_head, option_texts(job_options(), salloc)))
    return 0;
  command.quiet = draft.quiet;
  command.verbose = draft.verbose;
  if (draft.job.step_options().has_x11())
    if (const auto display = find_display(); !display) return say_usage_error(command, display.error());
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (answer_gres_help(draft, *settings)) return 0;
  if (const auto reached = check_clusters(draft, *settings); !reached) return say_usage_error(command, reached.error());
  describe_submitter(command, draft, *settings);
  tell_options(command, draft);
  if (!draft.name_given) draft.job.set_name(draft.no_shell ? "no-shell" : "interactive");
  // Before anything is allocated: the command could not run there.
  if (!draft.no_shell && !draft.job.work_dir().empty() && chdir(draft.job.work_dir().c_str()) != 0)
    return say_usage_error(command, {Errc::refused, "chdir(" + draft.job.work_dir() + "): " + std::strerror(errno)});
  draft.job.set_allocation_only(true), draft.job.set_client_waits(true);
  describe_components(command, *all, *settings);
  for (wire::JobDescription& component : all->more) component.set_allocation_only(true);
  wire::SubmitJob ask;
  ask.set_environment(job_environment(draft));
  *ask.mutable_job() = draft.job;
  for (const wire::JobDescription& component : all->more) *ask.add_more_components() = component;
  return Allocation(command, *all, *settings).run(std::move(ask));
}

}  // namespace millrace
