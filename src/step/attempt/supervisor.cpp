// src/step/attempt/supervisor.cpp - see supervisor.h: the loop and the end of an attempt; its start is in
// supervisor_start.cpp, signals to it in supervisor_signals.cpp.
#include "step/attempt/supervisor.h"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "step/attempt/note_texts.h"
#include "step/attempt/proc.h"
#include "wire/limits.h"

namespace millrace {

namespace {

constexpr std::int64_t kill_again_us = 100'000;  // a fork bomb needs several rounds
constexpr std::int64_t record_again_us = 5'000'000;
constexpr std::int64_t srun_patience_us = 5'000'000;
constexpr int note_patience_ms = 2'000;  // everything has ended; only a last line of ours is still to be written
constexpr std::int64_t epilog_patience_us = 5'000'000;  // of one task: meant to be short

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

constexpr std::int64_t look_at_held_us = 500'000;  // no signal tells us of those that a tracer holds

bool has_no_child() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

}  // namespace

Supervisor::Supervisor(wire::ToStep order, AttemptSpool spool, Channel agent, int listener, int child_signals)
    : order_(std::move(order)),
      plan_(order_.run()),
      spool_(std::move(spool)),
      agent_(std::move(agent)),
      listener_(listener),
      child_signals_(child_signals),
      log_(order_, agent_, streams_),
      isolation_(plan_, order_.isolation()),
      step_port_(spool_, agent_),
      usage_(plan_.sample_every_seconds()) {
  status_.set_job_key(plan_.job_key());
  status_.set_attempt(plan_.attempt());
  if (plan_.has_step()) status_.set_step(plan_.step());
  status_.set_state(wire::AttemptStatus::RUNNING_NOW);
  status_.set_started_at_us(clock_us(CLOCK_REALTIME));
}

Supervisor::~Supervisor() {
  for (RunningTask& task : tasks_) close_fd(task.report);
  close_fd(listener_);
  close_fd(child_signals_);
}

int Supervisor::run() {
  log_.verbose([&] {
    return "supervisor " + std::to_string(getpid()) + " for UID=" + std::to_string(order_.identity().uid()) + " on " +
           plan_.node_name() + ", node " + std::to_string(plan_.node_position()) + " of " + plan_.nodes();
  });
  begin();
  read_agent();  // what came in one piece with the order makes no descriptor readable again
  look_at_srun();
  // After the end we stay only for what nobody else holds yet: output on its way to srun, an end that could not be
  // written.
  if (plan_.sample_every_seconds() > 0) usage_.look(tasks_, clock_us(CLOCK_MONOTONIC));
  while (!forgotten_ && (!ended_ || !recorded_ || streams_.has_listeners())) wait_for_events();
  return 0;
}

void Supervisor::begin() {
  if (auto started = start(); !started) fail_launch(std::move(started).error());
}

void Supervisor::fail_launch(Error why) {
  problem_ = std::move(why.story);
  unfit_ = why.code == Errc::unfit;
  log_.error([&] { return std::string_view{problem_}; });
  // Of a step the step manager tells srun.
  if (plan_.job().interactive() && !plan_.has_step())
    streams_.note("slurmstepd: error: " + plan_.node_name() + ": " + problem_);
  if (tasks_.empty() && has_no_child()) return finish();
  begin_kill(0);  // some of several tasks run already, or the PMIx server and what it began
}

int Supervisor::timeout_ms() const {
  std::int64_t until = INT64_MAX;
  if (killing_ && !ended_) until = killing_->term_at_us != 0 ? killing_->term_at_us : killing_->kill_at_us;
  if (killing_ && !ended_) until = std::min(until, killing_->look_at_us);
  if (ended_ && streams_.has_listeners()) until = srun_patience_until_us_;
  if (awaits_mpi_) until = std::min(until, mpi_->start_by_us());
  if (!ended_) until = std::min(until, freezer_.due_us());
  for (const RunningTask& task : tasks_)
    if (task.epilog_until_us != 0) until = std::min(until, task.epilog_until_us);
  const std::int64_t now = clock_us(CLOCK_MONOTONIC);
  until = std::min(until, streams_.due_us());
  if (children_left_) until = std::min(until, now + kill_again_us);
  if (ended_ && !recorded_) until = std::min(until, now + record_again_us);
  if (!ended_ && srun_gone_us_ != 0) until = std::min(until, srun_gone_us_ + srun_patience_us);
  if (!ended_ && step_manager_) until = std::min(until, step_manager_->due_us());
  if (!ended_) until = std::min(until, usage_.due_us());
  if (until == INT64_MAX) return -1;
  return static_cast<int>(std::clamp<std::int64_t>((until - now + 999) / 1000, 0, 60'000));
}

void Supervisor::wait_for_events() {
  polls_.clear();
  polls_.push_back({child_signals_, POLLIN, 0});
  polls_.push_back({listener_, POLLIN, 0});
  if (agent_.is_open())
    polls_.push_back({agent_.fd(), static_cast<short>(agent_.unsent() > 0 ? POLLIN | POLLOUT : POLLIN), 0});
  for (const RunningTask& task : tasks_)
    if (task.report >= 0) polls_.push_back({task.report, POLLIN, 0});
  streams_.add_polls(polls_);
  if (mpi_) mpi_->add_polls(polls_, !streams_.is_slow());
  if (x11_.is_open()) x11_.add_polls(polls_, !streams_.is_slow());
  const int ready = poll(polls_.data(), polls_.size(), timeout_ms());
  if (ready > 0)
    for (const pollfd& one : polls_)
      if (one.revents != 0) handle(one);
  if (mpi_) move_mpi();
  look_at_mpi();
  if (x11_.is_open()) move_x11();
  for (const std::uint32_t number : streams_.take_signals()) signal_all(static_cast<int>(number));
  streams_.on_time(clock_us(CLOCK_MONOTONIC));
  look_at_srun();
  on_time();
}

// It answered our call, or did not, or is gone since.
void Supervisor::look_at_srun() {
  if (streams_.is_calling() || ended_) return;
  if (std::exchange(awaits_srun_, false))
    if (auto started = start_tasks(); !started) fail_launch(std::move(started).error());
  if (ended_ || streams_.is_connected()) return;
  if (plan_.job().interactive() && !holds_allocation_ && !killing_)
    begin_kill(plan_.kill_wait_seconds());  // nobody can see it any more
  if (!std::exchange(hangs_on_srun_, false)) return;
  if (!streams_.call_problem().empty()) return fail_launch({Errc::unavailable, streams_.call_problem()});
  srun_gone_us_ = clock_us(CLOCK_MONOTONIC);
}

void Supervisor::handle(const pollfd& ready) {
  if (ready.fd == child_signals_) return reap();
  if (ready.fd == listener_) return accept_agent();
  if (ready.fd == agent_.fd()) {
    if ((ready.revents & POLLOUT) != 0) agent_.flush();
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_agent();
    return;
  }
  for (RunningTask& task : tasks_)
    if (ready.fd == task.report) return take_report(task);
  if (mpi_ && mpi_->handle(ready)) return;
  if (x11_.is_open() && x11_.handle(ready, x11_to_srun_)) return;
  streams_.handle(ready, clock_us(CLOCK_MONOTONIC));
}

void Supervisor::on_time() {
  if (!ended_) {
    const std::int64_t now = clock_us(CLOCK_MONOTONIC);
    if (killing_ && killing_->term_at_us != 0 && now >= killing_->term_at_us) end_politely();
    if (killing_ && now >= killing_->kill_at_us) {
      signal_all(SIGKILL);
      killing_->kill_at_us = clock_us(CLOCK_MONOTONIC) + kill_again_us;
    }
    if (killing_ && now >= killing_->look_at_us) take_held_ends(now);
    if (ended_) return;
    if (children_left_)
      end_if_nobody_left();  // what is in the cgroup need not be our child, whose end we would hear of
    for (const RunningTask& task : tasks_)
      if (task.epilog_until_us != 0 && now >= task.epilog_until_us) kill(-task.pid, SIGKILL);
    freezer_.on_time(now);
    if (srun_gone_us_ != 0 && now >= srun_gone_us_ + srun_patience_us) {
      srun_gone_us_ = 0;
      if (!step_manager_ || !step_manager_->awaits_ends()) allocation_exit_code_ = 1;
      begin_kill(plan_.kill_wait_seconds());
      if (ended_) return;
    }
    if (step_manager_) step_manager_->on_time();
    if (finish_if_steps_are_over()) return;
    if (now >= usage_.due_us()) usage_.look(tasks_, now);
    return;
  }
  if (!recorded_) recorded_ = spool_.write_end(status_).has_value();
  // srun closes when it has read everything; closing first would throw away what it has not read yet.
  if (streams_.is_flushed()) streams_.end_sending();
  if (clock_us(CLOCK_MONOTONIC) >= srun_patience_until_us_) streams_.give_up();
}

void Supervisor::accept_agent() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  // Anybody on this machine can find the socket; only whoever runs us may speak.
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != geteuid()) {
    close(fd);
    return;
  }
  agent_ = Channel{fd, supervisor_frame_max};  // the newest agent is the only one
  log_.debug([] { return "an agent has come back"; });
  tell_agent();
  if (step_manager_) step_manager_->agent_is_back();
}

void Supervisor::read_agent() {
  agent_.fill();
  while (const auto bytes = agent_.next())
    if (!hear(*bytes)) return agent_.close();
}

bool Supervisor::hear(std::string_view bytes) {
  wire::ToStep message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  obey(message);
  return true;
}

void Supervisor::obey(const wire::ToStep& message) {
  if (message.has_log()) log_.take_wish(message.log());
  if (message.has_kill()) begin_kill(message.kill());
  if (message.has_signal()) send_signal(message.signal());
  if (message.has_suspend()) suspend(message.suspend().suspended());
  if (message.has_step()) hear_of_steps(message.step());
  if (message.has_order() && message.order().has_attach() && plan_.job().interactive() && !ended_)
    streams_.attach(plan_, message.order().attach(), clock_us(CLOCK_MONOTONIC));
  if (message.has_order() && message.order().has_note() && !ended_)
    write_note((plan_.job().interactive() ? "srun: " : "slurmstepd: error: ") + message.order().note());
  if (message.has_order() && message.order().has_inquiry()) answer_inquiry(message.order().inquiry());
  if (message.has_gpus() && !ended_) usage_.take_gpus(plan_, message.gpus());
  if (message.has_forget() && ended_) forgotten_ = true;
}

void Supervisor::answer_inquiry(std::uint64_t number) {
  usage_.look(tasks_, clock_us(CLOCK_MONOTONIC));
  wire::FromStep message;
  wire::StepSample& sample = *message.mutable_sample();
  sample = usage_.sample(tasks_, descendants(getpid()));
  sample.set_job_key(plan_.job_key());
  sample.set_attempt(plan_.attempt());
  if (plan_.has_step()) sample.set_step(plan_.step());
  sample.set_inquiry(number);
  agent_.send(message.SerializeAsString());
}

void Supervisor::take_report(RunningTask& task) {
  const auto report = read_report(task.report);
  close_fd(task.report);
  if (!report) return;
  if (report->error_file >= 0) notes_.set_file(report->error_file);
  if (report->problem.empty() || !problem_.empty()) return;
  problem_ = report->problem;
  unfit_ = report->unfit;
  if (tasks_.size() > 1) begin_kill(0);
}

void Supervisor::reap() {
  signalfd_siginfo ignored[2];
  [[maybe_unused]] const ssize_t taken = read(child_signals_, ignored, sizeof ignored);
  const auto task_with = [&](pid_t pid) {
    return std::ranges::find_if(tasks_, [&](const RunningTask& task) { return task.pid == pid && !task.wait_status; });
  };
  for (const EndedChild& child : reap_some([&](pid_t pid) { return task_with(pid) != tasks_.end(); })) {
    if (notes_.ended(child.pid, child.wait_status)) continue;
    usage_.take_end(tasks_, child.pid, child.used, child.io);
    if (const auto task = task_with(child.pid); task != tasks_.end()) process_ended(*task, child.wait_status);
  }
  end_if_nobody_left();
}

void Supervisor::process_ended(RunningTask& task, int wait_status) {
  if (task.report >= 0) take_report(task);
  if (!task.program_status) {
    task.program_status = wait_status;
    if (mpi_) mpi_->task_ended(task.rank, wait_status != 0);
  }
  task.epilog_until_us = 0;
  const pid_t pid = task.pid;
  if (start_epilog(task)) {
    task.epilog_until_us = clock_us(CLOCK_MONOTONIC) + epilog_patience_us;
    return;
  }
  wait_status = *task.program_status;
  log_.debug([&] {
    return "task " + std::to_string(task.rank) + " (" + std::to_string(pid) + ") " +
           (WIFSIGNALED(wait_status) ? "was killed by signal " + std::to_string(WTERMSIG(wait_status))
                                     : "exited with " + std::to_string(WEXITSTATUS(wait_status)));
  });
  task.wait_status = wait_status;
  const bool short_of_memory =
      WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL && isolation_.oom_kills() > 0;
  const UntoldEnd end{task.rank, wait_status, short_of_memory};
  if (plan_.job().interactive()) spares_children() ? untold_ends_.push_back(end) : tell_end(end);
  if (short_of_memory && plan_.job().oom_kill_step()) begin_kill(0);  // where the kernel has not done so itself
}

void Supervisor::take_held_ends(std::int64_t now_us) {
  killing_->look_at_us = now_us + look_at_held_us;
  for (RunningTask& task : tasks_) {
    const auto wait_status = task.wait_status ? std::nullopt : held_end(task.pid);
    if (!wait_status) continue;
    const ProcessUsage io = process_usage(task.pid);
    rusage used{};
    used.ru_utime = {io.user_us / 1'000'000, io.user_us % 1'000'000};
    used.ru_stime = {io.system_us / 1'000'000, io.system_us % 1'000'000};
    usage_.take_end(tasks_, task.pid, used, io);
    process_ended(task, *wait_status);
  }
  end_if_nobody_left();
}

// Nobody survives the last task: what it left behind is killed, and only then has the attempt ended.
void Supervisor::end_if_nobody_left() {
  if (!all_tasks_ended() || ended_ || holds_allocation_ || awaits_mpi_) return;
  // A look takes the longer the more there are, and while it lasts nobody is reaped: of both half of the time.
  const std::int64_t begin = clock_us(CLOCK_MONOTONIC);
  if (begin < look_left_us_ && !has_no_child()) return;
  const bool nobody = is_childless() && isolation_.is_empty();
  if (nobody || !spares_children())
    for (const UntoldEnd& end : std::exchange(untold_ends_, {})) tell_end(end);
  if (nobody) return finish_after_steps();
  children_left_ = true;
  if (!spares_children()) signal_all(SIGKILL);
  const std::int64_t end = clock_us(CLOCK_MONOTONIC);
  look_left_us_ = end + (end - begin);
}

// Somebody who writes a note of ours is none of the job's, and may never come back. Nor may one that has ended and that
// a tracer holds; one that waits for us to reap it does.
bool Supervisor::is_childless() const {
  if (has_no_child()) return true;
  siginfo_t ended{};
  if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0) return false;
  return std::ranges::all_of(descendants(getpid()), [&](pid_t pid) { return pid == notes_.writer() || is_dead(pid); });
}

bool Supervisor::all_tasks_ended() const {
  return std::ranges::all_of(tasks_, [](const RunningTask& task) { return task.wait_status.has_value(); });
}

void Supervisor::write_note(const std::string& line) {
  if (plan_.job().interactive()) return streams_.note(line);
  for (RunningTask& task : tasks_)
    if (task.report >= 0) take_report(task);  // it may bring the file
  notes_.write(common_spec().user, line);
}

void Supervisor::hear_of_steps(const wire::StepToNode& message) {
  if (!step_manager_) return;
  step_manager_->hear(message);
  if (message.has_end() && holds_allocation_ && !ended_) {
    allocation_exit_code_ = message.end().exit_code();
    step_manager_->end();
  }
  finish_if_steps_are_over();
}

void Supervisor::finish_after_steps() {
  if (!step_manager_) return finish();
  step_manager_->end();
  finish_if_steps_are_over();
}

bool Supervisor::finish_if_steps_are_over() {
  if (ended_ || !step_manager_ || !step_manager_->is_over()) return false;
  finish();
  return true;
}

void Supervisor::finish() {
  if (step_manager_) step_manager_->stop();
  children_left_ = false;
  const std::uint64_t kills_for_memory = isolation_.oom_kills();
  if (kills_for_memory > 0) write_note(oom_note(plan_, kills_for_memory));
  if (mpi_) {
    mpi_->end();
    move_mpi();
  }
  x11_.close();
  isolation_.end();
  if (plan_.job().interactive()) streams_.close_outputs();
  int worst = killed_before_start_ ? SIGTERM : 0;  // as Slurm: the highest wait status of all tasks
  for (const RunningTask& task : tasks_) worst = std::max(worst, task.wait_status.value_or(0) & 0xff7f);
  status_.set_state(wire::AttemptStatus::ENDED);
  status_.set_suspended(false);
  status_.set_ended_at_us(clock_us(CLOCK_REALTIME));
  if (step_manager_)
    for (wire::StepFact& fact : step_manager_->unheard_facts()) *status_.add_steps() = std::move(fact);
  *status_.mutable_usage() = usage_.total();
  if (problem_.empty() && kills_for_memory > 0) {
    status_.set_end(wire::AttemptStatus::OUT_OF_MEMORY);
    status_.set_exit_signal(125);  // as Slurm counts it
  } else if (problem_.empty()) {
    status_.set_end(wire::AttemptStatus::EXITED);
    status_.set_exit_code(holds_allocation_ ? allocation_exit_code_ : static_cast<std::uint32_t>(worst >> 8));
    status_.set_exit_signal(static_cast<std::uint32_t>(worst & 0x7f));
  } else {
    status_.set_end(wire::AttemptStatus::LAUNCH_FAILED);
    status_.set_exit_signal(53);  // what Slurm's accounting shows for a job that could not be set up
    status_.set_problem(problem_);
    status_.set_cause(unfit_ ? wire::AttemptStatus::OF_NODE : wire::AttemptStatus::OF_JOB);
  }
  notes_.finish(note_patience_ms);
  recorded_ = spool_.write_end(status_).has_value();
  ended_ = true;
  log_.verbose([&] {
    return "done with " + std::to_string(status_.exit_code()) + ":" + std::to_string(status_.exit_signal()) +
           (problem_.empty() ? "" : ": " + problem_);
  });
  srun_patience_until_us_ = clock_us(CLOCK_MONOTONIC) + srun_patience_us;
  tell_agent();
  if (streams_.is_flushed()) streams_.end_sending();
}

void Supervisor::tell_agent() {
  wire::FromStep message;
  *message.mutable_status() = status_;
  message.set_supervisor_pid(static_cast<std::uint32_t>(getpid()));
  if (!tasks_.empty()) message.set_task_pid(static_cast<std::uint32_t>(tasks_.front().pid));
  agent_.send(message.SerializeAsString());
}

}  // namespace millrace
