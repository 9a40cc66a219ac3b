// src/cli/task_streams.h - srun's side of its tasks: connections of the nodes, output lines, labels, ends and input.
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/srun_endpoint.h"
#include "cli/x11_relay.h"
#include "mpi/exchange_hub.h"
#include "task.pb.h"
#include "wire/frame.h"
#include "wire/stream_proof.h"

namespace millrace {

struct StreamOptions {
  bool label = false;
  bool unbuffered = false;
  int output_fd = 1;
  int error_fd = 2;
  std::optional<std::uint32_t> only_output_of;                    // -o with a task's number
  std::optional<std::uint32_t> only_error_of{}, only_input_to{};  // sattach's filters
};

struct TaskEnd {
  std::uint32_t task = 0;
  std::string node;
  std::uint32_t exit_code = 0, exit_signal = 0;
  bool core_dumped = false;
  bool out_of_memory = false;
};

// Puts bytes of many tasks on two descriptors, line by line, so that lines of different tasks do not mix.
class OutputLines {
 public:
  explicit OutputLines(StreamOptions options) : options_(options) {}
  void set_task_count(std::uint32_t tasks) { tasks_ = tasks; }
  void set_descriptors(int output, int error) { options_.output_fd = output, options_.error_fd = error; }
  void take(std::uint32_t task, bool is_error, std::string_view data);
  void flush(std::uint32_t task);                            // what has no newline at the end of a task
  int take_problem() { return std::exchange(problem_, 0); }  // errno, once: what came since is lost

 private:
  void put(std::uint32_t task, bool is_error, std::string_view whole_lines);
  void write_out(int fd, std::string_view text);
  StreamOptions options_;
  std::uint32_t tasks_ = 1;
  int problem_ = 0;
  bool problem_known_ = false;
  std::map<std::pair<std::uint32_t, bool>, std::string> partial_;
};

// "srun: error: c[1-2]: tasks 0-3: Exited with exit code 2", one line per kind of end, zero exits left out.
std::vector<std::string> end_lines(const std::vector<TaskEnd>& ends);

// The listener and everything accepted on it. A peer is nobody until both sides have proved the secret
// (wire/stream_proof): it gets one small frame and half a minute, and of many such the oldest makes room.
class TaskStreams {
 public:
  TaskStreams(std::string secret, StreamOptions options)
      : secret_(std::move(secret)), only_input_to_(options.only_input_to), lines_(options) {}
  ~TaskStreams();
  TaskStreams(const TaskStreams&) = delete;
  TaskStreams& operator=(const TaskStreams&) = delete;

  Result<std::uint16_t> listen(const Endpoint& endpoint);
  void open_display(X11Display display) { x11_.emplace(std::move(display)); }  // for windows of the tasks'

  // For the caller's poll(): adds our descriptors; handle() gets the same entries back.
  void add_to(std::vector<pollfd>& entries) const;
  void handle(const std::vector<pollfd>& entries);
  std::int64_t due_us() const;  // monotonic: when handle() is wanted though nothing has come; INT64_MAX: not at all
  // Until we are, peers prove who they are and what they say then is left unread.
  void set_ready(bool ready);

  void send_input(std::string_view data);  // to every task, also of nodes that connect later
  void end_input();
  bool input_is_slow() const;  // too much waits to be sent: do not read more
  void send_signal(std::uint32_t signal);
  void send_window(std::uint32_t rows, std::uint32_t columns);

  void set_task_count(std::uint32_t tasks);
  void set_descriptors(int output, int error) { lines_.set_descriptors(output, error); }
  std::optional<std::uint32_t> task_count() const { return task_count_; }
  std::uint32_t tasks_started() const { return started_; }
  std::uint32_t tasks_ended() const { return ended_; }
  bool all_ended() const { return task_count_ && ended_ >= *task_count_; }
  void lose(const std::vector<std::uint32_t>& tasks);  // with their node: nothing more is heard of them
  bool has_connections() const;
  bool has_terminal() const { return terminal_; }                           // a task of those that have connected
  std::map<std::string, std::vector<std::uint32_t>> tasks_by_node() const;  // of those that have connected
  std::vector<TaskEnd> take_ends();                                         // those not yet taken
  std::vector<std::uint32_t> running() const;
  std::vector<std::string> take_notes();  // lines for srun's stderr
  struct Abort {
    std::string node;
    wire::MpiAbort what;
  };
  int take_write_problem() { return lines_.take_problem(); }
  std::optional<Abort> take_abort() { return std::exchange(abort_, {}); }  // a task ends the whole step

 private:
  struct Peer {
    int fd = -1;
    FrameReader reader;
    SrunProof proof;
    std::int64_t prove_by_us = 0;
    bool challenged = false, proved = false, known = false;
    std::string node;
    std::vector<std::uint32_t> tasks;
    std::string unsent;
    std::uint32_t position = 0;
  };
  void accept_all();
  void read_from(Peer& peer);
  bool take_frames(Peer& peer);  // false: it is not welcome any more
  bool take_proof(Peer& peer, const wire::StreamProof& proof);
  bool take_hello(Peer& peer, const wire::StdioHello& hello);
  bool take_message(Peer& peer, const wire::FromTask& message);
  bool drop_oldest_stranger();
  void drop_silent();
  void queue(Peer& peer, const wire::ToTask& message);
  void take_mpi(Peer& peer, const wire::MpiFromNode& message);
  void move_x11();
  void flush(Peer& peer);
  void close_peer(Peer& peer);

  std::string secret_;
  std::optional<std::uint32_t> only_input_to_;
  OutputLines lines_;
  int listener_ = -1;
  std::list<Peer> peers_;
  std::optional<std::uint32_t> task_count_;
  std::uint32_t started_ = 0, ended_ = 0;
  std::map<std::uint32_t, bool> task_running_;
  std::vector<TaskEnd> ends_;
  std::vector<std::string> notes_;
  std::string early_input_;  // until every task is there
  bool input_ended_ = false;
  bool terminal_ = false;
  bool ready_ = true;
  ExchangeHub hub_;                                          // where the nodes of a parallel program meet
  std::multimap<std::uint32_t, wire::MpiToNode> early_mpi_;  // for nodes that have not connected yet
  std::optional<Abort> abort_;
  std::optional<X11Relay> x11_;
};

}  // namespace millrace
