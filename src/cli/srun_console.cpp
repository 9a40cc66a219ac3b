// src/cli/srun_console.cpp - see srun_console.h.
#include "cli/srun_console.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr std::int64_t queue_notice_us = 200'000;  // said only of a job that really waits
constexpr std::int64_t last_words_us = 2'000'000;  // for tasks' last messages after the controller said the job ended
constexpr std::int64_t interrupt_pair_us = 1'000'000;

constexpr int caught[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM};

}  // namespace

std::int64_t SrunConsole::now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1000;
}

std::string expand_own_pattern(const std::string& pattern, std::uint32_t job_id, const std::string& job_name,
                               std::uint32_t step_id) {
  if (pattern.find('\\') != std::string::npos) {
    std::string plain;
    for (const char c : pattern)
      if (c != '\\') plain += c;
    return plain;
  }
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 >= pattern.size()) {
      out += pattern[i];
      continue;
    }
    std::size_t width = 0;
    for (++i; i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9'; ++i)
      width = std::min<std::size_t>(10, width * 10 + static_cast<std::size_t>(pattern[i] - '0'));
    if (i >= pattern.size()) break;
    const auto pad = [&](const std::string& number) {
      return number.size() < width ? std::string(width - number.size(), '0') + number : number;
    };
    const auto variable = [](const char* name, const std::string& otherwise) {
      const char* value = getenv(name);
      return value != nullptr ? std::string{value} : otherwise;
    };
    const std::string padded = pad(std::to_string(job_id));
    const std::string index = variable("SLURM_ARRAY_TASK_ID", "4294967294");
    switch (pattern[i]) {
      case '%':
        out += '%';
        break;
      case 'j':
        out += padded;
        break;
      case 'A':
        out += pad(variable("SLURM_ARRAY_JOB_ID", std::to_string(job_id)));
        break;
      case 'a':
        out += pad(index);
        break;
      case 'b':
        out += pad(index.substr(index.size() - 1));
        break;
      case 'J':
        out += padded + "." + std::to_string(step_id);
        break;
      case 's':
        out += pad(std::to_string(step_id));
        break;
      case 'r':
        out += pad(variable("SLURM_RESTART_COUNT", "0"));
        break;
      case 'x':
        out += job_name;
        break;
      case 'u': {
        const passwd* entry = getpwuid(getuid());
        out += entry != nullptr ? entry->pw_name : std::to_string(getuid());
        break;
      }
      default:
        out += '%';
        out += pattern[i];
    }
  }
  return out;
}

SrunConsole::SrunConsole(const Command& command, const SrunPlan& plan)
    : command_(command), plan_(plan), streams_(plan.secret, plan.streams) {
  if (plan_.tasks) streams_.set_task_count(*plan_.tasks);
  if (plan_.display) streams_.open_display(*plan_.display);
}

SrunConsole::~SrunConsole() {
  give_back_terminal();
  if (signals_ >= 0) close(signals_);
  if (input_ > STDERR_FILENO) close(input_);
}

// Every key goes to the program as it is typed, Ctrl-C too.
void SrunConsole::take_terminal() {
  termios now{};
  if (!plan_.pty || terminal_ || isatty(input_) == 0 || tcgetattr(input_, &now) != 0) return;
  terminal_ = now;
  cfmakeraw(&now);
  tcsetattr(input_, TCSADRAIN, &now);
}

void SrunConsole::give_back_terminal() {
  if (terminal_) tcsetattr(STDIN_FILENO, TCSADRAIN, &*terminal_);
  terminal_.reset();
}

void SrunConsole::catch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : caught) sigaddset(&set, number);
  if (plan_.pty) sigaddset(&set, SIGWINCH);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTTIN, SIG_IGN);  // in the background, reading the terminal then fails instead of stopping us
}

Result<void> SrunConsole::open_outputs() {
  const auto open_one = [&](const std::string& pattern) -> Result<int> {
    const std::string path = expand_own_pattern(pattern, job_id_, plan_.job_name, step_id_);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (plan_.append ? O_APPEND : O_TRUNC), 0666);
    if (fd < 0) return fail(Errc::io, "Could not open stdout file " + path + ": " + std::strerror(errno));
    return fd;
  };
  int output = STDOUT_FILENO, error = STDERR_FILENO;
  if (!plan_.output_pattern.empty()) {
    MR_TRY(output, open_one(plan_.output_pattern));
    error = output;  // stderr goes where stdout goes unless it is sent elsewhere
  }
  if (!plan_.error_pattern.empty()) {
    if (plan_.error_pattern != plan_.output_pattern) {
      MR_TRY(error, open_one(plan_.error_pattern));
    }
  }
  streams_.set_descriptors(output, error);
  return {};
}

void SrunConsole::watch_job(Session& session) {
  if (!parts_.empty() && !awaits_nodes_) return ask_parts(session, true);
  wire::Request request;
  if (step_ask_ && !awaits_nodes_)
    *request.mutable_create_step() = *step_ask_;  // asked again it is the same step, by its secret
  else
    request.mutable_wait_job()->set_job_id(job_id_), request.mutable_wait_job()->set_as_client(true);
  watching_ = session.send(request).has_value();
  watch_again_us_ = now_us() + watch_retry_us;
  ask_again_us_ = now_us() + ask_again_us;
}

bool SrunConsole::is_asking() const {
  if (!step_ask_ || awaits_nodes_ || !watching_ || job_ended_us_ != 0) return false;
  return parts_.empty() ? !created_
                        : !std::ranges::all_of(parts_, [](const Part& part) { return part.started || part.ended; });
}

void SrunConsole::take_progress(const wire::JobProgress& progress) {
  if (progress.tasks_per_node_size() > 0) {
    std::uint32_t tasks = 0;
    for (const std::uint32_t count : progress.tasks_per_node()) tasks += count;
    streams_.set_task_count(tasks);
  }
  if (progress.state() == wire::RUNNING) started_ = true;
  if (started_ && plan_.verbose > 0)
    tell_nodes(progress.nodes(), {}, {progress.tasks_per_node().begin(), progress.tasks_per_node().end()});
  if (progress.lost_nodes() != lost_nodes_) {
    lost_nodes_ = progress.lost_nodes();
    say_error(command_, "Node failure on " + lost_nodes_);
    take_lost({progress.lost_tasks().begin(), progress.lost_tasks().end()});
  }
  if (progress.ended() && job_ended_us_ == 0) job_ended_us_ = now_us();
  last_ = progress;
}

void SrunConsole::take_news(const wire::StepNews& news) {
  for (const std::string& note : news.notes()) say_info(command_, note);
  switch (news.kind()) {
    case wire::StepNews::WAITING:
      if (!created_ && !std::exchange(waited_, true))
        say_info(command_, "Job " + std::to_string(job_id_) + " step creation temporarily disabled, retrying (" +
                               news.problem() + ")");
      if (news.ask_again()) watch_again_us_ = now_us() + busy_retry_us;
      return;
    case wire::StepNews::CREATED:
      step_id_ = news.step_id();
      if (news.tasks() > 0) streams_.set_task_count(news.tasks());
      started_ = true;
      if (waited_) say_info(command_, "Step created for " + step());
      if (plan_.verbose > 0)
        tell_nodes(news.nodes(), {news.cpus_per_node().begin(), news.cpus_per_node().end()},
                   {news.tasks_per_node().begin(), news.tasks_per_node().end()});
      waited_ = false;
      if (created_) return;
      created_ = true;
      if (const auto opened = open_outputs(); !opened) {
        say_error(command_, opened.error().story);
        failed_ = true;
      } else if (plan_.when_created) {
        plan_.when_created(step_id_);
      }
      return;
    case wire::StepNews::NODE_LOST:
      return take_lost_of(news);
    default:
      step_problem_ = news.problem();
      if (job_ended_us_ == 0) job_ended_us_ = now_us();
  }
}

// The tasks there count as killed; the others go on, or end as their nodes are told.
void SrunConsole::take_lost(const std::vector<std::uint32_t>& tasks) {
  streams_.lose(tasks);
  worst_signal_ = std::max<std::uint32_t>(worst_signal_, SIGKILL);
  if (plan_.kill_on_bad_exit && !streams_.all_ended()) end_others();
}

// A node that the job gave up has not failed.
void SrunConsole::take_lost_of(const wire::StepNews& news) {
  if (!news.given_up()) say_error(command_, "Node failure on " + news.nodes());
  take_lost({news.lost_tasks().begin(), news.lost_tasks().end()});
}

// jobid 12: nodes(2):`n[1-2]', cpu counts: 4(x2)
void SrunConsole::tell_nodes(const std::string& nodes, std::vector<std::uint32_t> cpus,
                             std::vector<std::uint32_t> tasks) {
  if (nodes_told_ || nodes.empty()) return;
  nodes_told_ = true;
  told_nodes_ = nodes;
  told_tasks_ = std::move(tasks);
  if (cpus.empty()) {
    Session session(options_);
    wire::Request request;
    request.mutable_query_jobs()->add_jobs()->set_job_id(job_id_);
    const auto reply = session.call(request);
    if (reply && reply->jobs().jobs_size() > 0)
      cpus.assign(reply->jobs().jobs(0).cpus_per_allocated_node().begin(),
                  reply->jobs().jobs(0).cpus_per_allocated_node().end());
  }
  const auto names = expand_hostlist(nodes);
  say_info(command_, "jobid " + std::to_string(job_id_) + ": nodes(" + std::to_string(names ? names->size() : 1) +
                         "):`" + nodes + "', cpu counts: " + compress_counts(cpus));
}

void SrunConsole::tell_started() {
  const auto names = expand_hostlist(told_nodes_);
  std::uint32_t all = 0;
  for (const std::uint32_t count : told_tasks_) all += count;
  if (start_told_ || !names || all == 0 || streams_.tasks_started() < all) return;
  start_told_ = true;
  for (std::size_t i = 0; i < std::min(names->size(), told_tasks_.size()); ++i)
    say_info(command_, "Node " + (*names)[i] + ", " + std::to_string(told_tasks_[i]) + " tasks started");
}

void SrunConsole::tell_ends(const std::vector<TaskEnd>& ends) {
  for (const TaskEnd& end : ends) {
    char status[16];
    std::snprintf(status, sizeof status, "0x%04x", (end.exit_code & 0xff) << 8 | (end.exit_signal & 0x7f));
    say_info(command_, "Received task exit notification for 1 task of " + step() + " (status=" + status + ").");
    if (end.exit_code == 0 && end.exit_signal == 0)
      say_info(command_, end.node + ": task " + std::to_string(end.task) + ": Completed");
  }
}

void SrunConsole::take_ends() {
  const auto ends = streams_.take_ends();
  if (ends.empty()) return;
  if (first_end_us_ == 0) first_end_us_ = now_us();
  if (plan_.verbose > 0) {
    tell_started();
    tell_ends(ends);
  }
  bool failed = false;
  for (const TaskEnd& end : ends) {
    worst_code_ = std::max(worst_code_, end.exit_code);
    worst_signal_ = std::max(worst_signal_, end.exit_signal);
    failed = failed || end.exit_code != 0 || end.exit_signal != 0;
    if (end.out_of_memory) last_words_until_us_ = now_us() + 5 * last_words_us;
  }
  if (plan_.say_ends)
    for (const std::string& line : end_lines(ends)) say_error(command_, line);
  if (failed && plan_.kill_on_bad_exit && !streams_.all_ended()) end_others();
}

// Killed by us, on every node at once: the one that aborts may never hear of the others again.
void SrunConsole::take_abort() {
  const auto abort = streams_.take_abort();
  if (!abort || abort_code_) return;
  abort_code_ = std::max(abort->what.exit_code() & 0xff, 1u);
  say_error(command_, abort->node + ": task " + std::to_string(abort->what.task()) + " aborted " + step() +
                          " with exit code " + std::to_string(abort->what.exit_code()) +
                          (abort->what.text().empty() ? "" : ": " + abort->what.text()));
  streams_.send_signal(SIGKILL);
}

void SrunConsole::take_input() {
  std::string buffer(plan_.input_block, '\0');
  const ssize_t got = read(input_, buffer.data(), buffer.size());
  if (got > 0) return streams_.send_input(std::string_view{buffer}.substr(0, static_cast<std::size_t>(got)));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  streams_.end_input();
  input_open_ = false;
}

void SrunConsole::cancel_job(std::string_view why) {
  if (cancelled_) return;
  cancelled_ = true;
  if (!why.empty()) say_info(command_, why);
  if (step_ask_ && !own_job_) {
    doomed_ = true;  // also those of its tasks that have yet to begin
    return streams_.send_signal(SIGKILL);
  }
  SessionOptions options = options_;
  options.patience = seconds(0);
  Session session(options);
  wire::Request request;
  request.mutable_cancel()->add_jobs()->set_job_id(job_id_);
  if (const auto reply = session.call(request); !reply)
    say_error(command_, "Unable to cancel job " + std::to_string(job_id_) + ": " + reply.error().story);
}

void SrunConsole::end_others() {
  if (cancelled_ || kill_at_us_ != 0) return;
  say_info(command_, "Terminating " + step());
  aborted_said_ = true;
  kill_at_us_ = now_us() + plan_.kill_wait_seconds * 1'000'000;
}

// To everybody who has begun since it was last said.
void SrunConsole::send_end() {
  if ((!doomed_ && kill_at_us_ == 0) || killed_at_ == streams_.tasks_started()) return;
  killed_at_ = streams_.tasks_started();
  if (doomed_) return streams_.send_signal(SIGKILL);
  streams_.send_signal(SIGCONT);
  streams_.send_signal(SIGTERM);
}

void SrunConsole::say_aborted() {
  constexpr std::int64_t beyond_kill_wait = 2;
  if (std::exchange(aborted_said_, true)) return;
  say_info(command_, "Job step aborted: Waiting up to " + std::to_string(plan_.kill_wait_seconds + beyond_kill_wait) +
                         " seconds for job step to finish.");
}

void SrunConsole::give_up_step(int signal) {
  say_info(command_, "Cancelled pending job step with signal " + std::to_string(signal));
  say_error(command_,
            "Unable to create step for job " + std::to_string(job_id_) + ": Job/step already completing or completed");
  failed_ = true;
}

// A job that is not there, or not any more, most likely comes from a variable that outlived it.
void SrunConsole::say_refusal(const wire::Failure& failure) {
  constexpr std::uint32_t invalid_job_id = 2017, already_done = 2021;
  const std::string job = std::to_string(job_id_);
  if (failure.code() != invalid_job_id && failure.code() != already_done)
    return say_error(command_, "Unable to create step for job " + job + ": " + failure.text());
  say_error(command_, failure.code() == already_done
                          ? "Slurm job " + job + " has expired"
                          : "Unable to confirm allocation for job " + job + ": " + failure.text());
  say_info(command_, "Check SLURM_JOB_ID environment variable. Expired or invalid job " + job);
}

void SrunConsole::say_status() {
  IndexSet tasks;
  for (const std::uint32_t task : streams_.running()) tasks.insert(task);
  if (!tasks.empty())
    say_info(command_, step() + (tasks.size() == 1 ? " task " : " tasks ") + format_index_set(tasks) + ": running");
}

void SrunConsole::interrupt() {
  if (awaits_step()) return give_up_step(SIGINT);
  if (streams_.tasks_started() == 0 && !started_) {
    cancel_job("");
    say_info(command_, "Job allocation " + std::to_string(job_id_) + " has been revoked");
    say_info(command_, "Force Terminated JobId=" + std::to_string(job_id_));
    worst_code_ = 1;
    job_ended_us_ = now_us() - last_words_us;
    return;
  }
  const std::int64_t now = now_us();
  if (plan_.disable_status) return streams_.send_signal(SIGINT);
  if (!plan_.quit_on_interrupt && (last_interrupt_us_ == 0 || now - last_interrupt_us_ > interrupt_pair_us)) {
    last_interrupt_us_ = now;
    say_info(command_, "interrupt (one more within 1 sec to abort)");
    return say_status();
  }
  say_info(command_, "sending Ctrl-C to " + step());
  streams_.send_signal(SIGINT);
  cancel_job("forcing job termination");
  say_aborted();
}

void SrunConsole::terminate(int signal) {
  if (awaits_step()) return give_up_step(signal);
  if (cancelled_) return;
  cancel_job("forcing job termination");
  if (streams_.tasks_started() > 0) say_aborted();
}

void SrunConsole::take_signal() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (std::ranges::find(plan_.ignored_signals, info.ssi_signo) != plan_.ignored_signals.end()) continue;
    winsize size{};
    if (number == SIGWINCH && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
      streams_.send_window(size.ws_row, size.ws_col);
    else if (number == SIGWINCH)
      continue;
    else if (number == SIGINT)
      interrupt();
    else if (number == SIGTERM || number == SIGQUIT || number == SIGHUP)
      terminate(number);
    else if (number != SIGCONT)
      streams_.send_signal(static_cast<std::uint32_t>(number));
  }
}

// Everything that happens because time passed.
void SrunConsole::check_clock() {
  const std::int64_t now = now_us();
  const bool running = started_ || streams_.tasks_started() > 0 || (step_ask_ && !awaits_nodes_);
  if (!running && !queued_said_ && now - submitted_us_ >= queue_notice_us && job_ended_us_ == 0) {
    queued_said_ = true;
    say_info(command_, "job " + std::to_string(job_id_) + " queued and waiting for resources");
  }
  if (running && queued_said_) {
    queued_said_ = false;
    submitted_us_ = INT64_MAX / 2;  // never again
    say_info(command_, "job " + std::to_string(job_id_) + " has been allocated resources");
  }
  const bool step_waits = step_ask_ && !created_ && !awaits_nodes_ && parts_.empty();
  if (step_waits && plan_.start_within_seconds && !failed_ &&
      now - submitted_us_ >= *plan_.start_within_seconds * 1'000'000) {
    late_ = failed_ = true;
    say_error(command_, "Unable to create step for job " + std::to_string(job_id_) + ": Requested nodes are busy");
  }
  if (!running && plan_.start_within_seconds && !cancelled_ && job_ended_us_ == 0 &&
      now - submitted_us_ >= *plan_.start_within_seconds * 1'000'000) {
    cancel_job("");
    late_ = true;
    say_info(command_, "Job allocation " + std::to_string(job_id_) + " has been revoked.");
    say_error(command_, "Unable to allocate resources: Immediate execution impossible, insufficient priority");
    job_ended_us_ = now - last_words_us;
  }
  if (plan_.wait_seconds > 0 && first_end_us_ != 0 && !cancelled_ && !streams_.all_ended() &&
      now - first_end_us_ >= plan_.wait_seconds * 1'000'000) {
    say_info(command_, "First task exited " + std::to_string(plan_.wait_seconds) + "s ago");
    say_status();
    aborted_said_ = true;
    cancel_job("Terminating " + step());
  }
  if (kill_at_us_ != 0 && !doomed_ && now >= kill_at_us_) {
    doomed_ = true;
    killed_at_ = 0;
  }
  send_end();
}

int SrunConsole::poll_timeout_ms() const {
  std::int64_t wake = streams_.due_us();
  const std::int64_t now = now_us();
  if (is_asking()) wake = std::min(wake, ask_again_us_);
  if (!started_ && (!step_ask_ || awaits_nodes_) && streams_.tasks_started() == 0 && !queued_said_ &&
      submitted_us_ < now)
    wake = std::min(wake, submitted_us_ + queue_notice_us);
  if (plan_.start_within_seconds && !started_ && !cancelled_ && submitted_us_ < now)
    wake = std::min(wake, submitted_us_ + *plan_.start_within_seconds * 1'000'000);
  if (plan_.wait_seconds > 0 && first_end_us_ != 0 && !cancelled_)
    wake = std::min(wake, first_end_us_ + plan_.wait_seconds * 1'000'000);
  if (kill_at_us_ != 0 && !doomed_) wake = std::min(wake, kill_at_us_);
  if (job_ended_us_ != 0) wake = std::min(wake, job_ended_us_ + last_words_us);
  if (streams_.all_ended()) wake = std::min(wake, last_words_until_us_);
  if (!watching_ && job_ended_us_ == 0) wake = std::min(wake, watch_again_us_);
  if (wake == INT64_MAX) return -1;
  return static_cast<int>(std::clamp<std::int64_t>((wake - now + 999) / 1000, 0, INT_MAX));
}

bool SrunConsole::finished() {
  // How many were killed for want of memory is counted, and told, once everybody is dead.
  if (streams_.all_ended()) return !streams_.has_connections() || now_us() >= last_words_until_us_;
  if (job_ended_us_ == 0) return false;
  // A short step or job may be over before its nodes' connections were even looked at.
  const bool ran = last_ && (last_->state() == wire::COMPLETED || last_->state() == wire::FAILED);
  const bool may_still_come = (step_ask_ ? step_problem_.empty() : ran) && streams_.tasks_started() == 0;
  return (!streams_.has_connections() && !may_still_come) || now_us() - job_ended_us_ >= last_words_us;
}

int SrunConsole::exit_code() {
  if (late_) return immediate_code();
  if (out_of_time_) say_info(command_, "Force Terminated " + step());
  const bool complete = streams_.all_ended();
  if (!complete && step_ask_) {
    if (!step_problem_.empty()) say_error(command_, "Task launch for " + step() + " failed on node " + step_problem_);
    if (worst_code_ == 0 && worst_signal_ == 0) worst_code_ = 1;
  }
  if (!complete && last_ && last_->ended()) {
    if (last_->state() == wire::NODE_FAIL)
      say_error(command_, "Node failure on " + last_->nodes());
    else if (last_->state() == wire::CANCELLED || last_->state() == wire::TIMEOUT)
      say_info(command_,
               "Force Terminated " + (streams_.tasks_started() > 0 ? step() : "JobId=" + std::to_string(job_id_)));
    else if (streams_.tasks_started() == 0)
      say_error(command_, "Job " + std::to_string(job_id_) + " ended before its tasks started: " + last_->reason());
    if (worst_code_ == 0 && worst_signal_ == 0) {
      worst_code_ = last_->exit_code();
      worst_signal_ = last_->exit_signal();
    }
    if (worst_code_ == 0 && worst_signal_ == 0) worst_code_ = 1;
  }
  if (abort_code_) return static_cast<int>(*abort_code_);
  const std::uint32_t of_signal = worst_signal_ == 0 ? 0 : 128 + worst_signal_;
  return static_cast<int>(std::min(std::max(worst_code_, of_signal), 255u));
}

int SrunConsole::run(Session& session, const SessionOptions& options, std::uint32_t job_id) {
  job_id_ = job_id;
  options_ = options;
  submitted_us_ = now_us();
  input_ = plan_.input_fd >= 0        ? plan_.input_fd
           : plan_.input_path.empty() ? STDIN_FILENO
                                      : open(plan_.input_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (input_ < 0) {
    say_error(command_, "Unable to open file " + plan_.input_path + ": " + std::strerror(errno));
    cancel_job("");
    return error_code();
  }
  input_open_ = true;
  if (const auto opened = open_outputs(); !opened) {
    say_error(command_, opened.error().story);
    cancel_job("");
    return error_code();
  }
  return loop(session);
}

int SrunConsole::run_step(Session& session, const SessionOptions& options, wire::CreateStep ask) {
  job_id_ = ask.job_id();
  step_ask_ = std::move(ask);
  options_ = options;
  submitted_us_ = now_us();
  input_ = plan_.input_fd >= 0        ? plan_.input_fd
           : plan_.input_path.empty() ? STDIN_FILENO
                                      : open(plan_.input_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (input_ < 0) {
    say_error(command_, "Unable to open file " + plan_.input_path + ": " + std::strerror(errno));
    return error_code();
  }
  input_open_ = true;
  return loop(session);
}

int SrunConsole::loop(Session& session) {
  watch_job(session);
  if (step_ask_ && !watching_) {
    say_trouble(command_, session);
    say_error(command_, "Unable to create step for job " + std::to_string(job_id_) +
                            ": Unable to contact slurm controller (connect failure)");
    return error_code();
  }
  std::vector<pollfd> entries;
  for (;;) {
    if (failed_) {
      streams_.send_signal(SIGKILL);
      return late_ ? immediate_code() : error_code();
    }
    if (streams_.tasks_started() > 0 && !streams_.all_ended()) take_terminal();
    if (streams_.all_ended()) give_back_terminal();
    take_abort();
    if (plan_.verbose > 0) tell_started();
    take_ends();
    if (const int problem = streams_.take_write_problem(); problem != 0) {
      say_error(command_, std::string{"output of the tasks cannot be written: "} + std::strerror(problem));
      worst_code_ = std::max(worst_code_, 1u);
    }
    for (const std::string& note : streams_.take_notes()) {
      if (note.find(" *** STEP ") != std::string::npos && note.find(" CANCELLED AT ") != std::string::npos)
        say_aborted();
      say_plain(note);
      out_of_time_ = out_of_time_ || (step_ask_ && note.ends_with("DUE TO TIME LIMIT ***"));
    }
    if (finished()) return exit_code();
    check_clock();
    if (!watching_ && job_ended_us_ == 0 && now_us() >= watch_again_us_) watch_job(session);
    if (is_asking() && now_us() >= ask_again_us_) parts_.empty() ? watch_job(session) : ask_parts(session, false);
    entries.assign(1, {signals_, POLLIN, 0});
    entries.push_back({watching_ ? session.descriptor() : -1, POLLIN, 0});
    entries.push_back({input_open_ && hears_tasks() && !streams_.input_is_slow() ? input_ : -1, POLLIN, 0});
    streams_.set_ready(hears_tasks());
    streams_.add_to(entries);
    if (poll(entries.data(), entries.size(), poll_timeout_ms()) < 0 && errno != EINTR) return error_code();
    if (entries[0].revents != 0) take_signal();
    if (entries[2].revents != 0) take_input();
    streams_.handle(entries);
    if (entries[1].revents == 0) continue;
    for (;;) {
      const auto reply = session.take_ready();
      if (!reply) watching_ = false;
      if (!reply || !*reply) break;
      if (!parts_.empty()) {
        if (const auto code = take_part_reply(session, **reply)) return *code;
        if (!watching_) break;
        continue;
      }
      watching_ = (*reply)->more();
      if ((*reply)->has_failure() && step_ask_) {
        for (const std::string& note : (*reply)->failure().notes()) say_error(command_, note);
        if (created_) {  // asked again after a break, and the step manager has gone: the tasks say the rest
          if (job_ended_us_ == 0) job_ended_us_ = now_us();
          break;
        }
        say_refusal((*reply)->failure());
        return step_ask_->immediate() ? immediate_code() : error_code();
      }
      if ((*reply)->has_step()) take_news((*reply)->step());
      if ((*reply)->has_failure() && job_ended_us_ == 0) {  // the controller knows no such job any more
        say_error(command_, "Unable to confirm allocation for job " + std::to_string(job_id_) + ": " +
                                (*reply)->failure().text());
        job_ended_us_ = now_us();
        worst_code_ = std::max(worst_code_, 1u);
      }
      if ((*reply)->has_job_progress()) take_progress((*reply)->job_progress());
      if (!watching_) break;
    }
  }
}

}  // namespace millrace
