// src/step/stdio/srun_streams.cpp - see srun_streams.h.
#include "step/stdio/srun_streams.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent.pb.h"
#include "step/environment/environment.h"
#include "task.pb.h"
#include "wire/limits.h"

namespace millrace {

namespace {

// A slow srun stops its tasks, and a task that does not read stops srun's input; neither fills our memory.
constexpr std::size_t unsent_output_max = 1u << 20;
constexpr std::size_t unsent_input_max = 1u << 18;
// The parts of a parallel program talk over the same connection: it must be read although a task does not read its
// input. Of all tasks of the step together, for this is not the job's memory.
constexpr std::size_t unsent_input_max_parallel = 16u << 20;
constexpr std::size_t attached_max = 16;

void close_end(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

StreamParty party_of(const wire::LaunchPlan& plan) {
  StreamParty out{plan.job_id(), {}, plan.node_name().substr(0, proof_node_name_max)};
  if (plan.has_step()) out.step = plan.step();
  return out;
}

std::string hello_of(const wire::LaunchPlan& plan) {
  wire::FromTask message;
  wire::StdioHello* hello = message.mutable_hello();
  const bool only_holds = plan.job().allocation_only() && !plan.has_step();
  const std::vector<std::uint32_t> ranks = only_holds ? std::vector<std::uint32_t>{} : ranks_of_node(plan);
  hello->set_node_position(only_holds ? UINT32_MAX : plan.node_position());  // it is no place in the step
  hello->set_first_task(ranks.empty() ? 0 : ranks.front());
  hello->set_tasks(static_cast<std::uint32_t>(ranks.size()));
  if (plan.ranks_size() > 0) hello->mutable_ranks()->Add(ranks.begin(), ranks.end());
  hello->set_node_name(plan.node_name());
  hello->set_terminal(plan.job().has_pty());
  return message.SerializeAsString();
}

void resize(int terminal, std::uint32_t rows, std::uint32_t columns) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(std::min(rows, 65535u));
  size.ws_col = static_cast<unsigned short>(std::min(columns, 65535u));
  ioctl(terminal, TIOCSWINSZ, &size);
}

}  // namespace

SrunStreams::~SrunStreams() {
  for (TaskPipes& task : tasks_) {
    close_end(task.in);
    close_end(task.out);
    close_end(task.err);
  }
}

void SrunStreams::call(const wire::LaunchPlan& plan, std::int64_t now_us) {
  parallel_ = !plan.job().step_options().mpi().empty();
  srun_hello_ = hello_of(plan);
  srun_call_ = std::make_unique<StreamCall>(plan.job().stdio(), party_of(plan), now_us);
  take_calls();
}

void SrunStreams::attach(const wire::LaunchPlan& plan, const wire::StdioEndpoint& peer, std::int64_t now_us) {
  if (attached_.size() + attach_calls_.size() >= attached_max) return;
  attach_calls_.push_back({std::make_unique<StreamCall>(peer, party_of(plan), now_us), hello_of(plan)});
  take_calls();
}

void SrunStreams::take_calls() {
  if (srun_call_ && srun_call_->state() != StreamCall::State::under_way) {
    const auto call = std::move(srun_call_);
    call_problem_ = call->problem();
    if (call->state() == StreamCall::State::answered) {
      srun_ = Channel{call->take_socket()};
      srun_.send(srun_hello_);
    }
  }
  for (auto it = attach_calls_.begin(); it != attach_calls_.end();) {
    if (it->call->state() == StreamCall::State::under_way) {
      ++it;
      continue;
    }
    if (it->call->state() == StreamCall::State::answered) {
      Channel& channel = attached_.emplace_back(it->call->take_socket());
      channel.send(it->hello);
      for (const std::string& end : ends_) channel.send(end);
    }
    it = attach_calls_.erase(it);
  }
}

std::int64_t SrunStreams::due_us() const {
  std::int64_t due = srun_call_ ? srun_call_->deadline_us() : INT64_MAX;
  for (const AttachCall& one : attach_calls_) due = std::min(due, one.call->deadline_us());
  return due;
}

void SrunStreams::on_time(std::int64_t now_us) {
  if (now_us < due_us()) return;
  if (srun_call_) srun_call_->on_time(now_us);
  for (AttachCall& one : attach_calls_) one.call->on_time(now_us);
  take_calls();
}

void SrunStreams::send_to_attached(const std::string& bytes) {
  for (Channel& peer : attached_) {
    peer.send(bytes);
    if (peer.unsent() > unsent_output_max) peer.close();
  }
  std::erase_if(attached_, [](const Channel& peer) { return !peer.is_open(); });
}

bool SrunStreams::has_listeners() const { return srun_.is_open() || !attached_.empty(); }

bool SrunStreams::is_flushed() const {
  return srun_.unsent() == 0 && std::ranges::all_of(attached_, [](const Channel& peer) { return peer.unsent() == 0; });
}

void SrunStreams::end_sending() {
  srun_.end_sending();
  for (Channel& peer : attached_) peer.end_sending();
}

void SrunStreams::give_up() {
  srun_call_.reset();
  attach_calls_.clear();
  srun_.close();
  attached_.clear();
}

void SrunStreams::add_task(std::uint32_t rank) {
  tasks_.emplace_back().rank = rank;
  input_.add_reader(rank);
}

Result<void> SrunStreams::prepare_task(std::uint32_t rank, TaskSpec& spec) {
  add_task(rank);
  TaskPipes& task = tasks_.back();
  const auto make = [](StreamSpec& stream, int& ours, bool to_task) -> Result<void> {
    if (!stream.path.empty()) return {};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return fail(Errc::unavailable, std::string{"make a pipe: "} + std::strerror(errno));
    ours = ends[to_task ? 1 : 0];
    stream.fd = ends[to_task ? 0 : 1];
    fcntl(ours, F_SETFL, O_NONBLOCK);
    return {};
  };
  MR_TRY_VOID(make(spec.in, task.in, true));
  if (task.in < 0) input_.close(tasks_.size() - 1);
  MR_TRY_VOID(make(spec.out, task.out, false));
  if (!spec.err_is_out) {
    MR_TRY_VOID(make(spec.err, task.err, false));
  }
  return {};
}

Result<void> SrunStreams::prepare_terminal(std::uint32_t rank, std::uint32_t rows, std::uint32_t columns,
                                           TaskSpec& spec) {
  const auto failed = [] { return fail(Errc::unavailable, std::string{"make a terminal: "} + std::strerror(errno)); };
  add_task(rank);
  TaskPipes& task = tasks_.back();
  task.terminal = true;
  task.in = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (task.in < 0 || grantpt(task.in) != 0 || unlockpt(task.in) != 0) return failed();
  char name[64];
  if (ptsname_r(task.in, name, sizeof name) != 0) return failed();
  spec.in.fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (spec.in.fd < 0) return failed();
  if (geteuid() == 0 && fchown(spec.in.fd, spec.user.uid, static_cast<gid_t>(-1)) != 0) return failed();
  spec.out.fd = dup(spec.in.fd);
  task.out = fcntl(task.in, F_DUPFD_CLOEXEC, 0);
  if (spec.out.fd < 0 || task.out < 0) return failed();
  fcntl(spec.out.fd, F_SETFD, FD_CLOEXEC);
  fcntl(task.in, F_SETFL, O_NONBLOCK);  // of both: they are one terminal
  spec.err_is_out = true;
  spec.controls_terminal = true;
  resize(task.in, rows, columns);
  return {};
}

void SrunStreams::task_started(const TaskSpec& spec) {
  for (const StreamSpec* stream : {&spec.in, &spec.out, &spec.err})
    if (stream->path.empty() && stream->fd >= 0) close(stream->fd);
}

void SrunStreams::send(const wire::FromTask& message) {
  const std::string bytes = message.SerializeAsString();
  if (message.has_ended()) ends_.push_back(bytes);
  srun_.send(bytes);
  const bool for_people = message.has_output() || message.has_ended() || message.has_note();
  if (for_people && !attached_.empty()) send_to_attached(bytes);
}

void SrunStreams::note(std::string_view line) {
  wire::FromTask message;
  message.set_note(std::string{line});
  send(message);
}

void SrunStreams::send_mpi(const wire::MpiFromNode& message) {
  wire::FromTask envelope;
  *envelope.mutable_mpi() = message;
  send(envelope);
}

void SrunStreams::send_x11(const wire::X11Piece& piece) {
  wire::FromTask envelope;
  *envelope.mutable_x11() = piece;
  send(envelope);
}

bool SrunStreams::is_slow() const { return srun_.unsent() > unsent_output_max; }

std::vector<wire::MpiToNode> SrunStreams::take_mpi() { return std::exchange(mpi_, {}); }

bool SrunStreams::is_input_backed_up() const {
  return input_.bytes() > (parallel_ ? unsent_input_max_parallel : unsent_input_max);
}

void SrunStreams::add_polls(std::vector<pollfd>& polls) const {
  if (srun_call_) polls.push_back({srun_call_->fd(), srun_call_->events(), 0});
  for (const AttachCall& one : attach_calls_) polls.push_back({one.call->fd(), one.call->events(), 0});
  if (srun_.is_open()) {
    short events = POLLRDHUP;
    if (!is_input_backed_up()) events |= POLLIN;
    if (srun_.unsent() > 0) events |= POLLOUT;
    polls.push_back({srun_.fd(), events, 0});
  }
  for (const Channel& peer : attached_) {
    short events = POLLRDHUP;
    if (!is_input_backed_up()) events |= POLLIN;
    if (peer.unsent() > 0) events |= POLLOUT;
    polls.push_back({peer.fd(), events, 0});
  }
  for (std::size_t number = 0; number < tasks_.size(); ++number) {
    const TaskPipes& task = tasks_[number];
    if (task.in >= 0 && input_.has_more(number)) polls.push_back({task.in, POLLOUT, 0});
    if (is_slow()) continue;
    if (task.out >= 0) polls.push_back({task.out, POLLIN, 0});
    if (task.err >= 0) polls.push_back({task.err, POLLIN, 0});
  }
}

void SrunStreams::handle(const pollfd& ready, std::int64_t now_us) {
  if (srun_call_ && ready.fd == srun_call_->fd()) {
    srun_call_->handle(now_us);
    return take_calls();
  }
  for (AttachCall& one : attach_calls_) {
    if (ready.fd != one.call->fd()) continue;
    one.call->handle(now_us);
    return take_calls();
  }
  if (ready.fd == srun_.fd()) {
    if ((ready.revents & POLLOUT) != 0) srun_.flush();
    if ((ready.revents & POLLIN) != 0)
      read_srun();
    else if ((ready.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
      srun_.close();
    return;
  }
  for (auto peer = attached_.begin(); peer != attached_.end(); ++peer) {
    if (ready.fd != peer->fd()) continue;
    if ((ready.revents & POLLOUT) != 0) peer->flush();
    if ((ready.revents & POLLIN) != 0)
      read_attached(*peer);
    else if ((ready.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
      peer->close();
    if (!peer->is_open()) attached_.erase(peer);
    return;
  }
  for (std::size_t number = 0; number < tasks_.size(); ++number) {
    TaskPipes& task = tasks_[number];
    if (ready.fd == task.in) return write_input(number);
    if (ready.fd == task.out) return void(read_output(task, task.out, false));
    if (ready.fd == task.err) return void(read_output(task, task.err, true));
  }
}

void SrunStreams::read_srun() {
  srun_.fill();
  while (const auto bytes = srun_.next())
    if (!hear(*bytes)) return srun_.close();
}

bool SrunStreams::hear(std::string_view bytes) {
  wire::ToTask message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (message.has_signal()) signals_.push_back(message.signal());
  if (message.has_mpi()) {
    mpi_.push_back(std::move(*message.mutable_mpi()));
    return true;
  }
  if (message.has_x11()) {
    x11_.push_back(std::move(*message.mutable_x11()));
    return true;
  }
  if (message.has_input_ended()) input_ended_ = true;
  if (message.has_window()) resize_terminals(message.window());
  return give_input(message);
}

void SrunStreams::resize_terminals(const wire::Terminal& window) const {
  for (const TaskPipes& task : tasks_)
    if (task.terminal && task.in >= 0) resize(task.in, window.rows(), window.columns());
}

bool SrunStreams::give_input(const wire::ToTask& message) {
  if (message.input().size() > input_piece_max) return false;
  const auto only_to = message.has_input_task() ? std::optional{message.input_task()} : std::nullopt;
  if (message.has_input()) input_.add(message.input(), only_to);
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    if (tasks_[task].in >= 0 && (!only_to || *only_to == tasks_[task].rank)) write_input(task);
  return true;
}

void SrunStreams::read_attached(Channel& peer) {
  peer.fill();
  while (const auto bytes = peer.next())
    if (!hear_attached(*bytes)) return peer.close();
}

// Input and the window (sattach --pty), nothing else: the end of the input and signals are srun's.
bool SrunStreams::hear_attached(std::string_view bytes) {
  wire::ToTask message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (message.has_input() && !give_input(message)) return false;
  if (message.has_window()) resize_terminals(message.window());
  return true;
}

void SrunStreams::close_input(std::size_t number) {
  close_end(tasks_[number].in);
  input_.close(number);
}

void SrunStreams::write_input(std::size_t number) {
  TaskPipes& task = tasks_[number];
  for (std::string_view next = input_.next(number); !next.empty(); next = input_.next(number)) {
    const ssize_t count = write(task.in, next.data(), next.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return close_input(number);  // the task does not want it
    input_.took(number, static_cast<std::size_t>(count));
  }
  if (!input_ended_) return;
  if (task.terminal) {  // closing it would hang up
    const char end_of_file = 4;
    [[maybe_unused]] const ssize_t ignored = write(task.in, &end_of_file, 1);
    input_ended_ = false;
    return;
  }
  close_input(number);
}

bool SrunStreams::read_output(TaskPipes& task, int& pipe, bool is_error) {
  char buffer[65536];
  const ssize_t count = read(pipe, buffer, sizeof buffer);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (count <= 0) {
    close_end(pipe);
    return false;
  }
  wire::FromTask message;
  wire::TaskOutput* output = message.mutable_output();
  output->set_task(task.rank);
  output->set_is_error(is_error);
  output->set_data(buffer, static_cast<std::size_t>(count));
  send(message);
  return true;
}

void SrunStreams::task_ended(std::uint32_t rank, int wait_status, bool out_of_memory) {
  for (std::size_t number = 0; number < tasks_.size(); ++number) {
    TaskPipes& task = tasks_[number];
    if (task.rank != rank) continue;
    // What it wrote is in the pipe (64 KiB at most); what its children still write comes later.
    for (const bool is_error : {false, true}) {
      int& pipe = is_error ? task.err : task.out;
      // Bounded: a child that goes on writing must not keep the end of its parent from being told.
      for (int round = 0; round < 16 && pipe >= 0 && read_output(task, pipe, is_error); ++round) continue;
    }
    close_input(number);
  }
  wire::FromTask message;
  wire::TaskEnded* ended = message.mutable_ended();
  ended->set_task(rank);
  ended->set_out_of_memory(out_of_memory);
  if (WIFEXITED(wait_status)) ended->set_exit_code(static_cast<std::uint32_t>(WEXITSTATUS(wait_status)));
  if (WIFSIGNALED(wait_status)) {
    ended->set_exit_signal(static_cast<std::uint32_t>(WTERMSIG(wait_status)));
    ended->set_core_dumped(WCOREDUMP(wait_status));
  }
  send(message);
}

void SrunStreams::close_outputs() {
  for (TaskPipes& task : tasks_)
    for (const bool is_error : {false, true}) {
      int& pipe = is_error ? task.err : task.out;
      while (pipe >= 0 && has_listeners() && read_output(task, pipe, is_error)) continue;
      close_end(pipe);
    }
}

}  // namespace millrace
