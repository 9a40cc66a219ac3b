// src/agent/spool_supervisors.cpp - see spool_supervisors.h.
#include "agent/spool_supervisors.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/leftovers.h"
#include "agent/node_isolation.h"
#include "agent/supervisor_words.h"
#include "wire/report_words.h"
#include "wire/step_busy.h"

namespace millrace {

namespace {

// Most of what is left dies of the first round. What is still there after a minute will hardly ever.
constexpr Duration sweep_soon = milliseconds(20), sweep_later = milliseconds(200), sweep_seldom = seconds(1);
constexpr int sweeps_soon_max = 50;
constexpr int never_began_max = 3;

}  // namespace

SpoolSupervisors::SpoolSupervisors(Loop& loop, Readiness& readiness, SpoolDirectory spool, Settings settings)
    : loop_(loop),
      readiness_(readiness),
      spool_(std::move(spool)),
      settings_(std::move(settings)),
      starter_(settings_.step_program) {}

SpoolSupervisors::~SpoolSupervisors() {
  for (const auto& [name, sweeps] : sweeps_) loop_.cancel(sweeps.timer);
  for (auto& [name, attempt] : attempts_) detach(attempt);
  starter_.reap();
}

std::vector<wire::AttemptStatus> SpoolSupervisors::adopt(SupervisorObserver& observer) {
  for (const AttemptName name : spool_.list()) {
    Attempt& attempt = attempts_[name];
    attempt.status.set_job_key(name.job_key);
    attempt.status.set_attempt(name.attempt);
    if (name.is_step()) attempt.status.set_step(static_cast<std::uint32_t>(name.step));
    attempt.status.set_state(wire::AttemptStatus::RUNNING_NOW);
    adopt_one(name, attempt);
  }
  observer_ = &observer;
  std::vector<wire::AttemptStatus> statuses;
  for (const auto& [name, attempt] : attempts_) statuses.push_back(attempt.status);
  return statuses;
}

void SpoolSupervisors::adopt_one(AttemptName name, Attempt& attempt) {
  auto record = spool_.read(name);
  if (!record) {
    const auto given_up = spool_.give_up(name);
    if (!given_up) settings_.log(given_up.error().story);
    if (!given_up || *given_up)
      return end_as(name, wire::AttemptStatus::SUPERVISOR_LOST, "the agent stopped before the supervisor began");
    record = spool_.read(name);
  }
  if (record && !record->end.empty() && attempt.status.ParseFromString(record->end)) return;
  if (record && record->boot_id == settings_.boot_id && connect_to_supervisor(name, attempt, *record)) return;
  sweep(name);
}

bool SpoolSupervisors::connect_to_supervisor(AttemptName name, Attempt& attempt, const AttemptRecord& record) {
  if (record.supervisor.pid <= 0 || start_time_of(record.supervisor.pid) != record.supervisor.start_time) return false;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(record.socket.size(), sizeof address.sun_path - 1);
  record.socket.copy(address.sun_path + 1, length);
  ucred peer{};
  socklen_t peer_length = sizeof peer;
  // The name of a dead supervisor's socket may belong to anybody by now.
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address),
              static_cast<socklen_t>(sizeof(sa_family_t) + 1 + length)) != 0 ||
      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_length) != 0 || peer.pid != record.supervisor.pid) {
    close(fd);
    return false;
  }
  attach(name, attempt, fd);
  wire::ToStep message;
  *message.mutable_log() = settings_.log_wish();
  send(name, message);
  return true;
}

void SpoolSupervisors::attach(AttemptName name, Attempt& attempt, int fd) {
  detach(attempt);
  attempt.fd = fd;
  attempt.reader = FrameReader{supervisor_frame_max};
  attempt.watch = readiness_.watch(fd, [this, name] { read_some(name); }, [this, name] { write_some(name); });
  attempt.watch->want_readable();
}

void SpoolSupervisors::detach(Attempt& attempt) {
  attempt.watch.reset();
  if (attempt.fd >= 0) close(attempt.fd);
  attempt.fd = -1;
  attempt.unsent.clear();
  attempt.sent = 0;
}

// For what others than the controller cause. One that is stopped, or slow, must not fill our memory.
bool SpoolSupervisors::Attempt::has_room_for(std::size_t bytes) const {
  const std::size_t waiting = unsent.size() - sent;
  return waiting == 0 || waiting + bytes <= step_manager_backlog_max;
}

void SpoolSupervisors::launch(const wire::LaunchPlan& plan, const wire::Credential& credential) {
  starter_.reap();
  const AttemptName name = name_of(plan);
  Attempt& attempt = attempts_[name];
  attempt.status.set_job_key(name.job_key);
  attempt.status.set_attempt(name.attempt);
  if (name.is_step()) attempt.status.set_step(static_cast<std::uint32_t>(name.step));
  attempt.status.set_state(wire::AttemptStatus::RUNNING_NOW);
  attempt.status.set_started_at_us(loop_.now().value);
  if (const auto created = spool_.create(name); !created)
    return end_as(name, wire::AttemptStatus::LAUNCH_FAILED, created.error().story, wire::AttemptStatus::OF_NODE);
  const auto fd = starter_.start_supervisor();
  if (!fd) return end_as(name, wire::AttemptStatus::LAUNCH_FAILED, fd.error().story, wire::AttemptStatus::OF_NODE);
  attach(name, attempt, *fd);
  wire::ToStep order;
  *order.mutable_run() = plan;
  *order.mutable_identity() = credential;
  order.set_spool(spool_.path_of(name));
  *order.mutable_log() = settings_.log_wish();
  if (settings_.isolation) *order.mutable_isolation() = settings_.isolation(plan);
  // Admission sees to it that it fits. A supervisor that refused it would be found and told again for ever.
  if (const std::size_t size = order.ByteSizeLong(); size > supervisor_frame_max) {
    detach(attempt);
    return end_as(name, wire::AttemptStatus::LAUNCH_FAILED,
                  "the launch has " + std::to_string(size) + " bytes, more than a supervisor takes");
  }
  const wire::AttemptStatus status = attempt.status;
  send(name, order);
  observer_->attempt_changed(status);
}

void SpoolSupervisors::send(AttemptName name, const wire::ToStep& message) {
  const auto found = attempts_.find(name);
  if (found == attempts_.end() || found->second.fd < 0) return;
  found->second.unsent += frame(message.SerializeAsString());
  write_some(name);
}

bool SpoolSupervisors::send_if_room(AttemptName name, const wire::ToStep& message) {
  const auto found = attempts_.find(name);
  if (found != attempts_.end() && !found->second.has_room_for(message.ByteSizeLong())) return false;
  send(name, message);
  return true;
}

void SpoolSupervisors::write_some(AttemptName name) {
  const auto found = attempts_.find(name);
  if (found == attempts_.end()) return;
  Attempt& attempt = found->second;
  while (attempt.fd >= 0 && attempt.sent < attempt.unsent.size()) {
    const ssize_t count = ::send(attempt.fd, attempt.unsent.data() + attempt.sent, attempt.unsent.size() - attempt.sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return attempt.watch->want_writable();
    if (count < 0) return;  // gone: the read side hears of it
    attempt.sent += static_cast<std::size_t>(count);
    if (attempt.sent > attempt.unsent.size() / 2) attempt.unsent.erase(0, std::exchange(attempt.sent, 0));
  }
}

void SpoolSupervisors::read_some(AttemptName name) {
  const auto found = attempts_.find(name);
  if (found == attempts_.end() || found->second.fd < 0) return;
  Attempt& attempt = found->second;
  char buffer[4096];
  const ssize_t count = recv(attempt.fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return connection_lost(name);
  const std::size_t got = count > 0 ? static_cast<std::size_t>(count) : 0;
  attempt.watch->want_readable();
  const auto words = hear_supervisor(attempt.reader, name, {buffer, got});
  if (!words) return connection_lost(name);
  for (const wire::LogLine& line : words->lines) settings_.said(line);
  for (const wire::StepSample& sample : words->samples) observer_->step_sampled(sample);
  for (const wire::StepFromNode& step : words->steps) {
    observer_->step_manager_said(step);
    if (!attempts_.contains(name)) return;  // whoever heard it may have let go of this one
  }
  if (!words->status) return;
  never_began_ = 0;
  if (attempt.status.state() == wire::AttemptStatus::ENDED) return;
  const wire::AttemptStatus& latest = *words->status;
  attempt.status = latest;
  // A supervisor that could not use its directory could not record its end either.
  if (latest.state() == wire::AttemptStatus::ENDED && latest.end() == wire::AttemptStatus::LAUNCH_FAILED)
    if (const auto record = spool_.read(name); !record) {
      static_cast<void>(spool_.give_up(name));
      static_cast<void>(spool_.write_end(name, latest));
    }
  observer_->attempt_changed(latest);
}

void SpoolSupervisors::connection_lost(AttemptName name) {
  Attempt& attempt = attempts_.at(name);
  detach(attempt);
  starter_.reap();
  if (attempt.status.state() == wire::AttemptStatus::ENDED) return;
  auto record = spool_.read(name);
  if (!record) {
    const auto given_up = spool_.give_up(name);
    if (!given_up || *given_up) return end_unbegun(name);
    record = spool_.read(name);
  }
  never_began_ = 0;
  wire::AttemptStatus end;
  if (record && !record->end.empty() && end.ParseFromString(record->end)) {
    attempt.status = end;
    return observer_->attempt_changed(end);
  }
  if (record && connect_to_supervisor(name, attempt, *record)) return;
  sweep(name);
}

// Killed, or there was no room for another process: nothing of the job ran, and it is not to blame. When several in a
// row do not begin, it is the node or the program.
void SpoolSupervisors::end_unbegun(AttemptName name) {
  if (++never_began_ < never_began_max)
    return end_as(name, wire::AttemptStatus::LAUNCH_FAILED, "the supervisor ended before it began",
                  wire::AttemptStatus::UNCLEAR);
  end_as(name, wire::AttemptStatus::LAUNCH_FAILED,
         std::to_string(never_began_) + " supervisors in a row ended before they began; does " +
             settings_.step_program + " run here?",
         wire::AttemptStatus::OF_NODE);
}

// Kills and looks again until nothing is left; only then has the attempt ended. A process of the same user may carry
// the attempt's name without being of it: where it has a cgroup, that decides.
void SpoolSupervisors::sweep(AttemptName name) {
  const auto record = spool_.read(name);
  if (record && record->boot_id == settings_.boot_id) {
    std::size_t cut_short = 0;
    const auto left = find_leftovers(*record, spool_.path_of(name), &cut_short);
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    const bool cleared = clear_isolation(record->isolation);
    if (!cleared || (!left.empty() && !has_cgroup(record->isolation))) return sweep_again(name);
    if (cut_short > 0)
      settings_.log("attempt " + text_of(name) + ": the environments of " + std::to_string(cut_short) +
                    " processes are too long to be read to their ends; none of them is taken for a part of it");
  }
  sweeps_.erase(name);
  end_as(name, wire::AttemptStatus::SUPERVISOR_LOST, "the supervisor of the attempt was lost");
}

// What does not end, or comes again, is reported as other processes are that cannot be killed.
void SpoolSupervisors::sweep_again(AttemptName name) {
  Sweeps& sweeps = sweeps_[name];
  const int done = ++sweeps.done;
  const Duration wait = done < sweeps_soon_max ? sweep_soon : done < settings_.sweeps_max ? sweep_later : sweep_seldom;
  sweeps.timer = loop_.after(wait, [this, name] { sweep(name); });
  if (done != settings_.sweeps_max) return;
  settings_.log("attempt " + text_of(name) + ": " + kill_failed + ": what its lost supervisor left does not end");
  wire::AttemptStatus& status = attempts_.at(name).status;
  status.set_problem(kill_failed);
  if (observer_ != nullptr) observer_->attempt_changed(wire::AttemptStatus{status});
}

void SpoolSupervisors::end_as(AttemptName name, wire::AttemptStatus::End end, std::string problem,
                              wire::AttemptStatus::Cause cause) {
  Attempt& attempt = attempts_.at(name);
  settings_.log("attempt " + text_of(name) + ": " + problem);
  attempt.status.set_state(wire::AttemptStatus::ENDED);
  attempt.status.set_end(end);
  attempt.status.set_ended_at_us(loop_.now().value);
  if (end == wire::AttemptStatus::LAUNCH_FAILED) attempt.status.set_exit_signal(53);  // as Slurm's accounting shows it
  attempt.status.set_problem(std::move(problem));
  attempt.status.set_cause(cause);
  // Best effort: an end we cannot write is found out again, with the same result, by the agent after us.
  if (const auto written = spool_.write_end(name, attempt.status); !written) settings_.log(written.error().story);
  const wire::AttemptStatus status = attempt.status;
  if (observer_ != nullptr) observer_->attempt_changed(status);
}

void SpoolSupervisors::log_wish_changed() {
  wire::ToStep message;
  *message.mutable_log() = settings_.log_wish();
  for (const auto& [name, attempt] : attempts_)
    if (attempt.status.state() != wire::AttemptStatus::ENDED) send(name, message);
}

bool SpoolSupervisors::is_idle() const {
  return std::ranges::all_of(attempts_,
                             [](const auto& each) { return each.second.status.state() == wire::AttemptStatus::ENDED; });
}

void SpoolSupervisors::kill(const wire::Kill& kill) {
  wire::ToStep message;
  *message.mutable_kill() = kill;
  send(name_of(kill), message);
}

void SpoolSupervisors::signal(const wire::SignalAttempt& signal) {
  wire::ToStep message;
  *message.mutable_signal() = signal;
  send_if_room(name_of(signal), message);
}

void SpoolSupervisors::suspend(const wire::Suspend& suspend) {
  wire::ToStep message;
  *message.mutable_suspend() = suspend;
  send(name_of(suspend), message);
}

void SpoolSupervisors::tell_step_manager(const wire::StepToNode& step) {
  wire::ToStep message;
  *message.mutable_step() = step;
  const AttemptName step_manager{step.job_key(), step.attempt()};
  if (!is_from_client(step)) return send(step_manager, message);
  if (send_if_room(step_manager, message)) return;
  if (const auto answer = busy_answer(step)) observer_->step_manager_said(*answer);
}

void SpoolSupervisors::tell_step(const wire::StepOrder& order) {
  wire::ToStep message;
  *message.mutable_order() = order;
  send_if_room(name_of(order), message);
}

void SpoolSupervisors::tell_all(const wire::GpuReadings& readings) {
  wire::ToStep message;
  *message.mutable_gpus() = readings;
  std::vector<AttemptName> running;  // one whose connection breaks leaves the map
  for (const auto& [name, attempt] : attempts_)
    if (attempt.fd >= 0 && attempt.status.state() != wire::AttemptStatus::ENDED) running.push_back(name);
  for (const AttemptName& name : running) send_if_room(name, message);
}

void SpoolSupervisors::forget(const wire::Forget& forget) {
  const AttemptName name = name_of(forget);
  const auto found = attempts_.find(name);
  if (found == attempts_.end() || found->second.status.state() != wire::AttemptStatus::ENDED) return;
  wire::ToStep message;
  *message.mutable_forget() = forget;
  send(name, message);  // for one that stayed because it could not write its end
  detach(found->second);
  attempts_.erase(found);
  spool_.forget(name);
  starter_.reap();
}

}  // namespace millrace
