// src/cli/task_talk.h - what srun and the nodes of its step say to each other, as bytes; the sockets are TaskStreams'.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output_lines.h"
#include "mpi/exchange_hub.h"
#include "task.pb.h"
#include "wire/frame.h"
#include "wire/stream_proof.h"

namespace millrace {

// A peer is nobody until both sides have proved the secret (wire/stream_proof): of a stranger one small frame at a time
// is read, and nothing but a proof is told to it.
class TaskTalk {
 public:
  struct Peer {
    FrameReader reader;
    SrunProof proof;
    bool challenged = false, proved = false, known = false;
    std::string node;
    std::vector<std::uint32_t> tasks;
    std::uint32_t position = 0;
    std::string unsent;                 // for the peer; whoever has the connection takes it from here
    std::list<Peer>::iterator place{};  // among all of them
  };
  struct FromDisplay {
    std::uint32_t node = 0;
    wire::X11Piece piece;
  };
  struct Abort {
    std::string node;
    wire::MpiAbort what;
  };

  TaskTalk(std::string secret, StreamOptions options);

  Peer& join();                                   // somebody calls
  bool take(Peer& peer, std::string_view bytes);  // false: it is not welcome any more
  bool take_frames(Peer& peer);                   // of what was taken before: once we are ready
  void leave(Peer& peer);                         // ends the reference
  // Until we are, peers prove who they are and what they say then is left unread.
  void set_ready(bool ready) { ready_ = ready; }
  bool is_ready() const { return ready_; }
  bool take_news() { return std::exchange(news_, false); }  // there is more to send to some of the peers

  void send_input(std::string_view data);  // to every task, also of nodes that connect later
  void end_input();
  bool input_is_slow() const;  // too much waits to be sent: do not read more
  bool is_slow() const;        // likewise of one peer
  void send_signal(std::uint32_t signal);
  void send_window(std::uint32_t rows, std::uint32_t columns);
  void send_x11(std::uint32_t node, wire::X11Piece piece);
  void want_x11() { wants_x11_ = true; }  // else what comes from displays is dropped
  std::vector<FromDisplay> take_x11() { return std::exchange(x11_, {}); }

  void set_task_count(std::uint32_t tasks);
  void set_descriptors(int output, int error) { lines_.set_descriptors(output, error); }
  std::optional<std::uint32_t> task_count() const { return task_count_; }
  std::uint32_t tasks_started() const { return started_; }
  std::uint32_t tasks_ended() const { return ended_; }
  bool has_terminal() const { return terminal_; }
  void lose(const std::vector<std::uint32_t>& tasks);  // with their node: nothing more is heard of them
  bool has_connections() const;
  std::map<std::string, std::vector<std::uint32_t>> tasks_by_node() const;  // of those that have connected
  std::vector<TaskEnd> take_ends() { return std::exchange(ends_, {}); }
  std::vector<std::uint32_t> running() const;
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  int take_write_problem() { return lines_.take_problem(); }
  std::optional<Abort> take_abort() { return std::exchange(abort_, {}); }

 private:
  bool take_proof(Peer& peer, const wire::StreamProof& proof);
  bool take_hello(Peer& peer, const wire::StdioHello& hello);
  void take_message(Peer& peer, const wire::FromTask& message);
  void take_mpi(Peer& peer, const wire::MpiFromNode& message);
  void queue(Peer& peer, const wire::ToTask& message);
  void queue_to_known(const wire::ToTask& message);
  std::vector<wire::ToTask> pieces_of(std::string_view input) const;

  std::string secret_;
  std::optional<std::uint32_t> only_input_to_;
  OutputLines lines_;
  std::list<Peer> peers_;
  std::optional<std::uint32_t> task_count_;
  std::uint32_t started_ = 0, ended_ = 0;
  enum class TaskState : std::uint8_t { unknown, running, ended };
  TaskState& state_of(std::uint32_t task);
  std::vector<TaskState> states_;  // of the tasks up to the highest that is known
  std::vector<TaskEnd> ends_;
  std::vector<std::string> notes_;
  std::string early_input_;  // until every task is there
  bool input_ended_ = false;
  bool terminal_ = false;
  bool ready_ = true;
  bool news_ = false;
  bool wants_x11_ = false;
  std::vector<FromDisplay> x11_;
  ExchangeHub hub_;                                          // where the nodes of a parallel program meet
  std::multimap<std::uint32_t, wire::MpiToNode> early_mpi_;  // for nodes that have not connected yet
  std::optional<Abort> abort_;
};

}  // namespace millrace
