// src/cli/task_streams.cpp - see task_streams.h.
#include "cli/task_streams.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "cli/console.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

constexpr std::size_t message_max = request_size_max;  // what a node brings to an exchange of a parallel program
constexpr std::size_t unsent_max = 1u << 20;
constexpr std::size_t partial_max = 64u << 10;  // a line longer than this is passed on in pieces
constexpr std::size_t peers_max = 65536;
constexpr std::size_t strangers_max = 8192;  // of a large step many nodes call at once
constexpr std::int64_t prove_within_us = 30'000'000;

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

std::size_t digits(std::uint32_t number) { return std::to_string(number).size(); }

}  // namespace

// A full disk does not stop the tasks: they may have better places to write to. Nobody reading (srun | head) is no
// trouble at all.
void OutputLines::write_out(int fd, std::string_view text) {
  if (write_all(fd, text) || errno == EPIPE || problem_known_) return;
  problem_ = errno;
  problem_known_ = true;
}

void OutputLines::put(std::uint32_t task, bool is_error, std::string_view text) {
  const int fd = is_error ? options_.error_fd : options_.output_fd;
  if (!options_.label) {
    write_out(fd, text);
    return;
  }
  char label[32];
  const int width = static_cast<int>(digits(tasks_ == 0 ? 0 : tasks_ - 1));
  std::snprintf(label, sizeof label, "%0*u: ", width, task);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    out += label;
    out += line;
    text.remove_prefix(line.size());
  }
  if (!out.empty() && out.back() != '\n') out += '\n';
  write_out(fd, out);
}

void OutputLines::take(std::uint32_t task, bool is_error, std::string_view data) {
  const auto& only = is_error ? options_.only_error_of : options_.only_output_of;
  if (only && *only != task) return;
  // One task's lines cannot mix with another's: pass them on as they come.
  if (options_.unbuffered || (tasks_ == 1 && !options_.label)) return put(task, is_error, data);
  std::string& rest = partial_[{task, is_error}];
  rest += data;
  std::size_t whole = rest.rfind('\n') + 1;  // 0 when there is none
  if (whole == 0 && rest.size() >= partial_max) whole = rest.size();
  if (whole == 0) return;
  put(task, is_error, std::string_view{rest}.substr(0, whole));
  rest.erase(0, whole);
}

void OutputLines::flush(std::uint32_t task) {
  for (const bool is_error : {false, true}) {
    const auto it = partial_.find({task, is_error});
    if (it == partial_.end()) continue;
    if (!it->second.empty()) put(task, is_error, it->second);
    partial_.erase(it);
  }
}

std::vector<std::string> end_lines(const std::vector<TaskEnd>& ends) {
  struct Kind {
    std::uint32_t code, signal;
    bool core, out_of_memory;
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, std::pair<std::vector<std::string>, IndexSet>> kinds;
  for (const TaskEnd& end : ends) {
    if (end.exit_code == 0 && end.exit_signal == 0) continue;
    auto& [nodes, tasks] = kinds[{end.exit_code, end.exit_signal, end.core_dumped, end.out_of_memory}];
    if (std::ranges::find(nodes, end.node) == nodes.end()) nodes.push_back(end.node);
    tasks.insert(end.task);
  }
  std::vector<std::string> out;
  for (const auto& [kind, group] : kinds) {
    const auto& [nodes, tasks] = group;
    std::string line =
        compress_hostlist_sorted(nodes) + (tasks.size() == 1 ? ": task " : ": tasks ") + format_index_set(tasks) + ": ";
    if (kind.out_of_memory) {
      line += "Out Of Memory";
    } else if (kind.signal != 0) {
      const char* words = sigdescr_np(static_cast<int>(kind.signal));
      line += words != nullptr ? words : "Unknown signal " + std::to_string(kind.signal);
      if (kind.core) line += " (core dumped)";
    } else {
      line += "Exited with exit code " + std::to_string(kind.code);
    }
    out.push_back(std::move(line));
  }
  return out;
}

TaskStreams::~TaskStreams() {
  for (Peer& peer : peers_) close_peer(peer);
  if (listener_ >= 0) close(listener_);
}

Result<std::uint16_t> TaskStreams::listen(const Endpoint& endpoint) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  // Of a range the first that is free, from a place of our own on: others look too.
  const std::uint32_t ports = endpoint.last_port - endpoint.first_port + 1u;
  bool bound = false;
  for (std::uint32_t i = 0; i < ports && !bound; ++i) {
    address.sin_port =
        htons(static_cast<std::uint16_t>(endpoint.first_port + (static_cast<std::uint32_t>(getpid()) + i) % ports));
    bound = bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (!bound && errno != EADDRINUSE) break;
  }
  socklen_t size = sizeof address;
  if (listener_ < 0 || !bound || ::listen(listener_, 1024) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail(Errc::io, std::string{"cannot listen for tasks: "} + strerror(errno) +
                              (endpoint.first_port == 0 ? ""
                                                        : " (SrunPortRange=" + std::to_string(endpoint.first_port) +
                                                              "-" + std::to_string(endpoint.last_port) + ")"));
  return ntohs(address.sin_port);
}

void TaskStreams::add_to(std::vector<pollfd>& entries) const {
  entries.push_back({listener_, POLLIN, 0});
  for (const Peer& peer : peers_) {
    if (peer.fd < 0) continue;
    if (peer.proved && !ready_ && peer.unsent.empty()) continue;
    entries.push_back({peer.fd, static_cast<short>(peer.unsent.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
  if (x11_)
    x11_->add_to(entries,
                 std::ranges::none_of(peers_, [](const Peer& peer) { return peer.unsent.size() > unsent_max; }));
}

void TaskStreams::handle(const std::vector<pollfd>& entries) {
  for (const pollfd& entry : entries) {
    if (entry.revents == 0) continue;
    if (entry.fd == listener_) accept_all();
    for (Peer& peer : peers_) {
      if (peer.fd != entry.fd || peer.fd < 0) continue;
      if ((entry.revents & POLLOUT) != 0) flush(peer);
      if (peer.fd >= 0 && (entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(peer);
      break;
    }
  }
  if (x11_) {
    x11_->handle(entries);
    move_x11();
  }
  drop_silent();
  peers_.remove_if([](const Peer& peer) { return peer.fd < 0; });
}

void TaskStreams::move_x11() {
  for (X11Relay::Outgoing& out : x11_->take_outgoing()) {
    const auto peer = std::ranges::find_if(
        peers_, [&](const Peer& one) { return one.known && one.fd >= 0 && one.position == out.node; });
    if (peer == peers_.end()) continue;
    wire::ToTask message;
    *message.mutable_x11() = std::move(out.piece);
    queue(*peer, message);
  }
}

void TaskStreams::accept_all() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && drop_oldest_stranger()) continue;
    if (fd < 0) return;
    if (peers_.size() >= peers_max) {
      close(fd);
      continue;
    }
    const int on = 1, idle_s = 30, every_s = 10, times = 3, unacknowledged_ms = 60'000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on,
               sizeof on);  // a node that lost its cable is noticed after about a minute
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
    if (std::ranges::count_if(peers_, [](const Peer& peer) { return peer.fd >= 0 && !peer.proved; }) >=
        static_cast<std::ptrdiff_t>(strangers_max))
      drop_oldest_stranger();
    Peer& peer = peers_.emplace_back(fd, FrameReader(proof_frame_max), SrunProof(secret_));
    peer.prove_by_us = now_us() + prove_within_us;
    read_from(peers_.back());  // its greeting is usually here already
  }
}

// Of strangers the one that came first: who knows the secret needs no more than a moment.
bool TaskStreams::drop_oldest_stranger() {
  const auto oldest = std::ranges::find_if(peers_, [](const Peer& peer) { return peer.fd >= 0 && !peer.proved; });
  if (oldest == peers_.end()) return false;
  close_peer(*oldest);
  return true;
}

std::int64_t TaskStreams::due_us() const {
  const auto first = std::ranges::find_if(peers_, [](const Peer& peer) { return peer.fd >= 0 && !peer.proved; });
  return first == peers_.end() ? INT64_MAX : first->prove_by_us;  // they are in the order in which they came
}

void TaskStreams::drop_silent() {
  const std::int64_t now = now_us();
  while (due_us() <= now) drop_oldest_stranger();
}

void TaskStreams::set_ready(bool ready) {
  if (std::exchange(ready_, ready) || !ready) return;
  for (Peer& peer : peers_)
    if (peer.fd >= 0 && peer.proved && !take_frames(peer)) close_peer(peer);
}

void TaskStreams::read_from(Peer& peer) {
  char buffer[65536];
  for (;;) {
    if (peer.proved && !ready_) return;
    const ssize_t got = recv(peer.fd, buffer, peer.proved ? sizeof buffer : frame_header_size + proof_frame_max, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) return close_peer(peer);
    peer.reader.feed({buffer, static_cast<std::size_t>(got)});
    if (!take_frames(peer)) return close_peer(peer);
  }
}

bool TaskStreams::take_frames(Peer& peer) {
  while (!peer.proved || ready_) {
    const auto bytes = peer.reader.next();
    if (!bytes) return false;
    if (!*bytes) return true;
    wire::FromTask message;
    if (!message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size()))) return false;
    const bool good = !peer.proved  ? message.has_proof() && take_proof(peer, message.proof())
                      : !peer.known ? message.has_hello() && take_hello(peer, message.hello())
                                    : take_message(peer, message);
    if (!good) return false;
  }
  return true;
}

bool TaskStreams::take_proof(Peer& peer, const wire::StreamProof& proof) {
  if (!std::exchange(peer.challenged, true)) {
    auto answer = peer.proof.answer(proof);
    if (!answer) return false;
    wire::ToTask message;
    *message.mutable_proof() = *std::move(answer);
    queue(peer, message);
    return true;
  }
  if (!peer.proof.check(proof)) return false;
  peer.proved = true;
  peer.reader.set_size_max(message_max);
  return true;
}

bool TaskStreams::take_hello(Peer& peer, const wire::StdioHello& hello) {
  peer.known = true;
  peer.node = hello.node_name();
  peer.position = hello.node_position();
  terminal_ = terminal_ || hello.terminal();
  if (hello.tasks() > tasks_max) return false;
  peer.tasks.assign(hello.ranks().begin(), hello.ranks().end());
  for (std::uint32_t i = 0; i < hello.tasks() && hello.ranks_size() == 0; ++i)
    peer.tasks.push_back(hello.first_task() + i);
  for (const std::uint32_t task : peer.tasks)
    if (task_running_.try_emplace(task, true).second) ++started_;
  wire::ToTask input;
  if (!early_input_.empty()) {
    input.set_input(early_input_);
    queue(peer, input);
  }
  if (input_ended_) {
    input.set_input_ended(true);
    queue(peer, input);
  }
  if (task_count_ && started_ >= *task_count_) early_input_ = {};
  const auto [first, last] = early_mpi_.equal_range(peer.position);
  for (auto it = first; it != last; ++it) {
    wire::ToTask early;
    *early.mutable_mpi() = it->second;
    queue(peer, early);
  }
  early_mpi_.erase(first, last);
  return true;
}

bool TaskStreams::take_message(Peer& peer, const wire::FromTask& message) {
  if (message.has_output()) lines_.take(message.output().task(), message.output().is_error(), message.output().data());
  if (message.has_mpi()) take_mpi(peer, message.mpi());
  if (message.has_x11() && x11_) x11_->take(peer.position, message.x11());
  if (message.body_case() == wire::FromTask::kNote) notes_.push_back(message.note());
  if (message.has_ended()) {
    const wire::TaskEnded& ended = message.ended();
    lines_.flush(ended.task());
    const auto it = task_running_.find(ended.task());
    if (it == task_running_.end() || !it->second) return true;
    it->second = false;
    ++ended_;
    ends_.push_back(
        {ended.task(), peer.node, ended.exit_code(), ended.exit_signal(), ended.core_dumped(), ended.out_of_memory()});
  }
  return true;
}

void TaskStreams::take_mpi(Peer& peer, const wire::MpiFromNode& message) {
  hub_.take(peer.position, message);
  if (auto abort = hub_.take_abort(); abort && !abort_) abort_ = Abort{peer.node, *std::move(abort)};
  auto outgoing = hub_.take_outgoing();
  if (outgoing.empty()) return;
  std::map<std::uint32_t, Peer*> by_position;
  for (Peer& other : peers_)
    if (other.known && other.fd >= 0) by_position[other.position] = &other;
  for (ExchangeHub::Outgoing& out : outgoing) {
    const auto found = by_position.find(out.node);
    if (found == by_position.end()) {
      early_mpi_.emplace(out.node, std::move(out.message));
      continue;
    }
    wire::ToTask envelope;
    *envelope.mutable_mpi() = std::move(out.message);
    queue(*found->second, envelope);
  }
}

void TaskStreams::queue(Peer& peer, const wire::ToTask& message) {
  peer.unsent += frame(message.SerializeAsString());
  flush(peer);
}

void TaskStreams::flush(Peer& peer) {
  while (!peer.unsent.empty()) {
    const ssize_t sent = send(peer.fd, peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL);
    if (sent > 0)
      peer.unsent.erase(0, static_cast<std::size_t>(sent));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return;
    else if (errno != EINTR) {
      peer.unsent.clear();  // reading says that it is gone
      return;
    }
  }
}

void TaskStreams::close_peer(Peer& peer) {
  if (peer.fd >= 0) close(peer.fd);
  peer.fd = -1;
  if (x11_ && peer.known) x11_->drop_node(peer.position);
  for (const std::uint32_t task : peer.tasks) lines_.flush(task);
}

void TaskStreams::send_input(std::string_view data) {
  const bool all_here = task_count_ && started_ >= *task_count_;
  if (!all_here) early_input_ += data;
  wire::ToTask message;
  message.set_input(std::string{data});
  if (only_input_to_) message.set_input_task(*only_input_to_);
  for (Peer& peer : peers_)
    if (peer.known && peer.fd >= 0) queue(peer, message);
}

std::map<std::string, std::vector<std::uint32_t>> TaskStreams::tasks_by_node() const {
  std::map<std::string, std::vector<std::uint32_t>> out;
  for (const Peer& peer : peers_)
    if (peer.known) out[peer.node] = peer.tasks;
  return out;
}

void TaskStreams::end_input() {
  input_ended_ = true;
  wire::ToTask message;
  message.set_input_ended(true);
  for (Peer& peer : peers_)
    if (peer.known && peer.fd >= 0) queue(peer, message);
}

bool TaskStreams::input_is_slow() const {
  return early_input_.size() > unsent_max ||
         std::ranges::any_of(peers_, [](const Peer& peer) { return peer.unsent.size() > unsent_max; });
}

void TaskStreams::send_window(std::uint32_t rows, std::uint32_t columns) {
  wire::ToTask message;
  message.mutable_window()->set_rows(rows);
  message.mutable_window()->set_columns(columns);
  for (Peer& peer : peers_)
    if (peer.known) queue(peer, message);
}

void TaskStreams::send_signal(std::uint32_t signal) {
  wire::ToTask message;
  message.set_signal(signal);
  for (Peer& peer : peers_)
    if (peer.known && peer.fd >= 0) queue(peer, message);
}

void TaskStreams::set_task_count(std::uint32_t tasks) {
  task_count_ = tasks;
  lines_.set_task_count(tasks);
}

void TaskStreams::lose(const std::vector<std::uint32_t>& tasks) {
  for (const std::uint32_t task : tasks) {
    const auto [it, fresh] = task_running_.try_emplace(task, true);
    if (fresh) ++started_;
    if (!std::exchange(it->second, false)) continue;
    ++ended_;
    lines_.flush(task);
  }
}

bool TaskStreams::has_connections() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) {
    return peer.known && peer.fd >= 0 && !peer.tasks.empty();
  });  // one without tasks only sees whether we live
}

std::vector<TaskEnd> TaskStreams::take_ends() { return std::exchange(ends_, {}); }
std::vector<std::string> TaskStreams::take_notes() { return std::exchange(notes_, {}); }

std::vector<std::uint32_t> TaskStreams::running() const {
  std::vector<std::uint32_t> out;
  for (const auto& [task, is_running] : task_running_)
    if (is_running) out.push_back(task);
  return out;
}

}  // namespace millrace
