// src/step/srun_streams.cpp - see srun_streams.h.
#include "step/srun_streams.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent.pb.h"
#include "step/environment.h"
#include "task.pb.h"

namespace millrace {

namespace {

// A slow srun stops its tasks, and a task that does not read stops srun's input; neither fills our memory.
constexpr std::size_t unsent_output_max = 1u << 20;
constexpr std::size_t unsent_input_max = 1u << 18;
// The parts of a parallel program talk over the same connection: it must be read although a task does not read its
// input.
constexpr std::size_t unsent_input_max_parallel = 64u << 20;
constexpr std::size_t attached_max = 16;

void close_end(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// A host of srun that lost power or its cable ends the step, after about a minute of silence.
void set_options(int fd) {
  const int on = 1, idle_s = 30, every_s = 10, times = 3, unacknowledged_ms = 60'000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

Result<int> connect_to(const sockaddr* address, socklen_t length) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(Errc::io, std::strerror(errno));
  const timeval patience{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // also limits connect()
  if (::connect(fd, address, length) == 0) {
    set_options(fd);
    return fd;
  }
  const int problem = errno;
  close(fd);
  return fail(Errc::unavailable, std::strerror(problem));
}

Result<int> connect_to_host(const std::string& host, std::uint32_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1)
    return connect_to(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1)
    return connect_to(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  // A name costs the resolver's libraries, so srun should send an address; this process has nobody else to serve.
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (problem != 0) return fail(Errc::not_found, gai_strerror(problem));
  Result<int> fd = fail(Errc::not_found, "no address");
  for (const addrinfo* one = found; one != nullptr && !fd; one = one->ai_next)
    fd = connect_to(one->ai_addr, one->ai_addrlen);
  freeaddrinfo(found);
  return fd;
}

// For one who attaches: the loop must not wait for him.
int begin_connect(const std::string& host, std::uint32_t port) {
  sockaddr_storage address{};
  socklen_t length = 0;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof v6;
  } else {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0 || found == nullptr) return -1;
    std::memcpy(&address, found->ai_addr, found->ai_addrlen);
    length = found->ai_addrlen;
    freeaddrinfo(found);
  }
  const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 || errno == EINPROGRESS) {
    set_options(fd);
    return fd;
  }
  close(fd);
  return -1;
}

wire::FromTask hello_of(const wire::LaunchPlan& plan, const std::string& secret) {
  wire::FromTask message;
  wire::StdioHello* hello = message.mutable_hello();
  const bool only_holds = plan.job().allocation_only() && !plan.has_step();
  const std::vector<std::uint32_t> ranks = only_holds ? std::vector<std::uint32_t>{} : ranks_of_node(plan);
  hello->set_secret(secret);
  hello->set_node_position(only_holds ? UINT32_MAX : plan.node_position());  // it is no place in the step
  hello->set_first_task(ranks.empty() ? 0 : ranks.front());
  hello->set_tasks(static_cast<std::uint32_t>(ranks.size()));
  if (plan.ranks_size() > 0) hello->mutable_ranks()->Add(ranks.begin(), ranks.end());
  hello->set_node_name(plan.node_name());
  hello->set_terminal(plan.job().has_pty());
  return message;
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

Result<void> SrunStreams::connect(const wire::LaunchPlan& plan) {
  const wire::StdioEndpoint& endpoint = plan.job().stdio();
  MR_TRY(const int fd, in_context(connect_to_host(endpoint.host(), endpoint.port()),
                                  "connect to srun at " + endpoint.host() + ":" + std::to_string(endpoint.port())));
  srun_ = Channel{fd};
  parallel_ = !plan.job().step_options().mpi().empty();
  send(hello_of(plan, endpoint.secret()));
  return {};
}

void SrunStreams::attach(const wire::LaunchPlan& plan, const wire::StdioEndpoint& peer) {
  if (attached_.size() >= attached_max) return;
  const int fd = begin_connect(peer.host(), peer.port());
  if (fd < 0) return;
  Channel& channel = attached_.emplace_back(fd);
  channel.send(hello_of(plan, peer.secret()).SerializeAsString());
  for (const std::string& end : ends_) channel.send(end);
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
  srun_.close();
  attached_.clear();
}

Result<void> SrunStreams::prepare_task(std::uint32_t rank, TaskSpec& spec) {
  tasks_.emplace_back().rank = rank;
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
  MR_TRY_VOID(make(spec.out, task.out, false));
  if (!spec.err_is_out) {
    MR_TRY_VOID(make(spec.err, task.err, false));
  }
  return {};
}

Result<void> SrunStreams::prepare_terminal(std::uint32_t rank, std::uint32_t rows, std::uint32_t columns,
                                           TaskSpec& spec) {
  const auto failed = [] { return fail(Errc::unavailable, std::string{"make a terminal: "} + std::strerror(errno)); };
  tasks_.emplace_back().rank = rank;
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
  return std::ranges::any_of(tasks_, [&](const TaskPipes& t) {
    return t.unsent_input.size() > (parallel_ ? unsent_input_max_parallel : unsent_input_max);
  });
}

void SrunStreams::add_polls(std::vector<pollfd>& polls) const {
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
  for (const TaskPipes& task : tasks_) {
    if (task.in >= 0 && !task.unsent_input.empty()) polls.push_back({task.in, POLLOUT, 0});
    if (is_slow()) continue;
    if (task.out >= 0) polls.push_back({task.out, POLLIN, 0});
    if (task.err >= 0) polls.push_back({task.err, POLLIN, 0});
  }
}

void SrunStreams::handle(const pollfd& ready) {
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
  for (TaskPipes& task : tasks_) {
    if (ready.fd == task.in) return write_input(task);
    if (ready.fd == task.out) return void(read_output(task, task.out, false));
    if (ready.fd == task.err) return void(read_output(task, task.err, true));
  }
}

void SrunStreams::read_srun() {
  srun_.fill();
  while (const auto bytes = srun_.next()) {
    wire::ToTask message;
    if (!message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) return srun_.close();
    if (message.has_signal()) signals_.push_back(message.signal());
    if (message.has_mpi()) {
      mpi_.push_back(std::move(*message.mutable_mpi()));
      continue;
    }
    if (message.has_x11()) {
      x11_.push_back(std::move(*message.mutable_x11()));
      continue;
    }
    if (message.has_input_ended()) input_ended_ = true;
    if (message.has_window()) resize_terminals(message.window());
    give_input(message);
  }
}

void SrunStreams::resize_terminals(const wire::Terminal& window) const {
  for (const TaskPipes& task : tasks_)
    if (task.terminal && task.in >= 0) resize(task.in, window.rows(), window.columns());
}

void SrunStreams::give_input(const wire::ToTask& message) {
  for (TaskPipes& task : tasks_) {
    if (task.in < 0 || (message.has_input_task() && message.input_task() != task.rank)) continue;
    if (message.has_input()) task.unsent_input += message.input();
    write_input(task);
  }
}

// Input and the window (sattach --pty), nothing else: the end of the input and signals are srun's.
void SrunStreams::read_attached(Channel& peer) {
  peer.fill();
  while (const auto bytes = peer.next()) {
    wire::ToTask message;
    if (!message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) return peer.close();
    if (message.has_input()) give_input(message);
    if (message.has_window()) resize_terminals(message.window());
  }
}

void SrunStreams::write_input(TaskPipes& task) {
  while (!task.unsent_input.empty()) {
    const ssize_t count = write(task.in, task.unsent_input.data(), task.unsent_input.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {  // the task does not want it
      task.unsent_input.clear();
      return close_end(task.in);
    }
    task.unsent_input.erase(0, static_cast<std::size_t>(count));
  }
  if (!input_ended_) return;
  if (task.terminal) {  // closing it would hang up
    const char end_of_file = 4;
    [[maybe_unused]] const ssize_t ignored = write(task.in, &end_of_file, 1);
    input_ended_ = false;
    return;
  }
  close_end(task.in);
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
  for (TaskPipes& task : tasks_) {
    if (task.rank != rank) continue;
    // What it wrote is in the pipe (64 KiB at most); what its children still write comes later.
    for (const bool is_error : {false, true}) {
      int& pipe = is_error ? task.err : task.out;
      // Bounded: a child that goes on writing must not keep the end of its parent from being told.
      for (int round = 0; round < 16 && pipe >= 0 && read_output(task, pipe, is_error); ++round) continue;
    }
    close_end(task.in);
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
