// src/cli/task_talk.cpp - see task_talk.h.
#include "cli/task_talk.h"

#include <algorithm>
#include <iterator>

#include "core/model/request_limits.h"
#include "wire/limits.h"

namespace millrace {
namespace {

constexpr std::size_t message_max = request_size_max;  // what a node brings to an exchange of a parallel program
constexpr std::size_t unsent_max = 1u << 20;

}  // namespace

TaskTalk::TaskTalk(std::string secret, StreamOptions options)
    : secret_(std::move(secret)), only_input_to_(options.only_input_to), lines_(options) {}

TaskTalk::Peer& TaskTalk::join() {
  Peer& peer = peers_.emplace_back(FrameReader(proof_frame_max), SrunProof(secret_));
  peer.place = std::prev(peers_.end());
  return peer;
}

void TaskTalk::leave(Peer& peer) {
  for (const std::uint32_t task : peer.tasks) lines_.flush(task);
  peers_.erase(peer.place);
}

bool TaskTalk::take(Peer& peer, std::string_view bytes) {
  peer.reader.feed(bytes);
  return take_frames(peer);
}

bool TaskTalk::take_frames(Peer& peer) {
  while (!peer.proved || ready_) {
    const auto bytes = peer.reader.next();
    if (!bytes) return false;
    if (!*bytes) return true;
    wire::FromTask message;
    if (!message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size()))) return false;
    if (peer.known) {
      take_message(peer, message);
      continue;
    }
    const bool good = peer.proved ? message.has_hello() && take_hello(peer, message.hello())
                                  : message.has_proof() && take_proof(peer, message.proof());
    if (!good) return false;
  }
  return true;
}

bool TaskTalk::take_proof(Peer& peer, const wire::StreamProof& proof) {
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

// Below the number of tasks that a step may have: it grows with them.
TaskTalk::TaskState& TaskTalk::state_of(std::uint32_t task) {
  if (task >= states_.size()) states_.resize(std::size_t{task} + 1);
  return states_[task];
}

bool TaskTalk::take_hello(Peer& peer, const wire::StdioHello& hello) {
  if (hello.ranks().empty() && std::uint64_t{hello.first_task()} + hello.tasks() > tasks_max) return false;
  if (hello.ranks_size() > static_cast<int>(tasks_max)) return false;
  if (std::ranges::any_of(hello.ranks(), [](std::uint32_t rank) { return rank >= tasks_max; })) return false;
  peer.known = true;
  peer.node = hello.node_name();
  peer.position = hello.node_position();
  terminal_ = terminal_ || hello.terminal();
  peer.tasks.assign(hello.ranks().begin(), hello.ranks().end());
  for (std::uint32_t i = 0; i < hello.tasks() && hello.ranks_size() == 0; ++i)
    peer.tasks.push_back(hello.first_task() + i);
  for (const std::uint32_t task : peer.tasks)
    if (TaskState& state = state_of(task); state == TaskState::unknown) {
      state = TaskState::running;
      ++started_;
    }
  for (const wire::ToTask& piece : pieces_of(early_input_)) queue(peer, piece);
  if (input_ended_) {
    wire::ToTask end;
    end.set_input_ended(true);
    queue(peer, end);
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

void TaskTalk::take_message(Peer& peer, const wire::FromTask& message) {
  if (message.has_output()) lines_.take(message.output().task(), message.output().is_error(), message.output().data());
  if (message.has_mpi()) take_mpi(peer, message.mpi());
  if (message.has_x11() && wants_x11_) x11_.push_back({peer.position, message.x11()});
  if (message.body_case() == wire::FromTask::kNote) notes_.push_back(message.note());
  if (message.has_ended()) {
    const wire::TaskEnded& ended = message.ended();
    lines_.flush(ended.task());
    if (ended.task() >= states_.size() || states_[ended.task()] != TaskState::running) return;
    states_[ended.task()] = TaskState::ended;
    ++ended_;
    ends_.push_back(
        {ended.task(), peer.node, ended.exit_code(), ended.exit_signal(), ended.core_dumped(), ended.out_of_memory()});
  }
}

void TaskTalk::take_mpi(Peer& peer, const wire::MpiFromNode& message) {
  hub_.take(peer.position, message);
  if (auto abort = hub_.take_abort(); abort && !abort_) abort_ = Abort{peer.node, *std::move(abort)};
  auto outgoing = hub_.take_outgoing();
  if (outgoing.empty()) return;
  std::map<std::uint32_t, Peer*> by_position;
  for (Peer& other : peers_)
    if (other.known) by_position[other.position] = &other;
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

void TaskTalk::queue(Peer& peer, const wire::ToTask& message) {
  peer.unsent += frame(message.SerializeAsString());
  news_ = true;
}

void TaskTalk::queue_to_known(const wire::ToTask& message) {
  for (Peer& peer : peers_)
    if (peer.known) queue(peer, message);
}

void TaskTalk::send_input(std::string_view data) {
  const bool all_here = task_count_ && started_ >= *task_count_;
  if (!all_here) early_input_ += data;
  for (const wire::ToTask& piece : pieces_of(data)) queue_to_known(piece);
}

std::vector<wire::ToTask> TaskTalk::pieces_of(std::string_view input) const {
  std::vector<wire::ToTask> out;
  for (; !input.empty(); input.remove_prefix(std::min(input.size(), input_piece_max))) {
    wire::ToTask& piece = out.emplace_back();
    piece.set_input(std::string{input.substr(0, input_piece_max)});
    if (only_input_to_) piece.set_input_task(*only_input_to_);
  }
  return out;
}

void TaskTalk::end_input() {
  input_ended_ = true;
  wire::ToTask message;
  message.set_input_ended(true);
  queue_to_known(message);
}

bool TaskTalk::is_slow() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) { return peer.unsent.size() > unsent_max; });
}

bool TaskTalk::input_is_slow() const { return early_input_.size() > unsent_max || is_slow(); }

void TaskTalk::send_window(std::uint32_t rows, std::uint32_t columns) {
  wire::ToTask message;
  message.mutable_window()->set_rows(rows);
  message.mutable_window()->set_columns(columns);
  queue_to_known(message);
}

void TaskTalk::send_signal(std::uint32_t signal) {
  wire::ToTask message;
  message.set_signal(signal);
  queue_to_known(message);
}

void TaskTalk::send_x11(std::uint32_t node, wire::X11Piece piece) {
  const auto peer = std::ranges::find_if(peers_, [&](const Peer& one) { return one.known && one.position == node; });
  if (peer == peers_.end()) return;
  wire::ToTask message;
  *message.mutable_x11() = std::move(piece);
  queue(*peer, message);
}

void TaskTalk::set_task_count(std::uint32_t tasks) {
  task_count_ = tasks;
  lines_.set_task_count(tasks);
}

void TaskTalk::lose(const std::vector<std::uint32_t>& tasks) {
  for (const std::uint32_t task : tasks) {
    if (task >= tasks_max) continue;
    const TaskState before = std::exchange(state_of(task), TaskState::ended);
    if (before == TaskState::unknown) ++started_;
    if (before == TaskState::ended) continue;
    ++ended_;
    lines_.flush(task);
  }
}

bool TaskTalk::has_connections() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) {
    return peer.known && !peer.tasks.empty();
  });  // one without tasks only sees whether we live
}

std::map<std::string, std::vector<std::uint32_t>> TaskTalk::tasks_by_node() const {
  std::map<std::string, std::vector<std::uint32_t>> out;
  for (const Peer& peer : peers_)
    if (peer.known) out[peer.node] = peer.tasks;
  return out;
}

std::vector<std::uint32_t> TaskTalk::running() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t task = 0; task < states_.size(); ++task)
    if (states_[task] == TaskState::running) out.push_back(task);
  return out;
}

}  // namespace millrace
