// src/cli/task_streams.h - srun's side of its tasks: the connections of the nodes; what is said on them is TaskTalk's.
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cli/output_lines.h"
#include "cli/srun_endpoint.h"
#include "cli/task_talk.h"
#include "cli/x11_relay.h"

namespace millrace {

// Of callers that have not proved who they are, at a time. A host may run many nodes of a job, and of a large step many
// nodes call at once.
struct StrangersMax {
  std::size_t all = 8192, of_host = 1024;
};

// The listener and everything accepted on it. Anybody can call. A peer has half a minute for each of its two words that
// prove who it is. Of too many strangers the oldest makes room, of the same host where that has too many, first of
// those that said nothing. In each turn those that have proved themselves are served first, and few new ones are
// accepted.
class TaskStreams {
 public:
  using Abort = TaskTalk::Abort;
  TaskStreams(std::string secret, StreamOptions options, StrangersMax strangers_max = {})
      : talk_(std::move(secret), options), strangers_max_(strangers_max) {}
  ~TaskStreams();
  TaskStreams(const TaskStreams&) = delete;
  TaskStreams& operator=(const TaskStreams&) = delete;

  Result<std::uint16_t> listen(const Endpoint& endpoint);
  void open_display(X11Display display);  // for windows of the tasks'

  // For the caller's poll(): adds our descriptors; handle() gets the same entries back.
  void add_to(std::vector<pollfd>& entries) const;
  void handle(const std::vector<pollfd>& entries);
  std::int64_t due_us() const;  // monotonic: when handle() is wanted though nothing has come; INT64_MAX: not at all
  // Until we are, peers prove who they are and what they say then is left unread.
  void set_ready(bool ready);

  void send_input(std::string_view data);  // to every task, also of nodes that connect later
  void end_input();
  bool input_is_slow() const { return talk_.input_is_slow(); }  // too much waits to be sent: do not read more
  void send_signal(std::uint32_t signal);
  void send_window(std::uint32_t rows, std::uint32_t columns);

  void set_task_count(std::uint32_t tasks) { talk_.set_task_count(tasks); }
  void set_descriptors(int output, int error) { talk_.set_descriptors(output, error); }
  std::optional<std::uint32_t> task_count() const { return talk_.task_count(); }
  std::uint32_t tasks_started() const { return talk_.tasks_started(); }
  std::uint32_t tasks_ended() const { return talk_.tasks_ended(); }
  bool all_ended() const { return task_count() && tasks_ended() >= *task_count(); }
  void lose(const std::vector<std::uint32_t>& tasks) { talk_.lose(tasks); }  // nothing more is heard of them
  bool has_connections() const { return talk_.has_connections(); }
  bool has_terminal() const { return talk_.has_terminal(); }  // a task of those that have connected
  std::map<std::string, std::vector<std::uint32_t>> tasks_by_node() const { return talk_.tasks_by_node(); }
  std::vector<TaskEnd> take_ends() { return talk_.take_ends(); }  // those not yet taken
  std::vector<std::uint32_t> running() const { return talk_.running(); }
  std::vector<std::string> take_notes() { return talk_.take_notes(); }  // lines for srun's stderr
  int take_write_problem() { return talk_.take_write_problem(); }
  std::optional<Abort> take_abort() { return talk_.take_abort(); }  // a task ends the whole step

 private:
  enum class Standing : std::uint8_t { silent, talking, proved };
  struct Connection {
    int fd = -1;
    TaskTalk::Peer* peer = nullptr;  // there as long as it is open
    std::uint32_t host = 0;
    Standing standing = Standing::silent;
    std::int64_t prove_by_us = 0;
  };
  using Connections = std::list<Connection>;  // each in the order in which they came there
  void accept_some();
  bool accept_one(int fd, std::uint32_t host);  // false: there is no room
  void serve(const std::vector<pollfd>& entries, bool proved);
  Connections& of(Standing standing) { return connections_[static_cast<std::size_t>(standing)]; }
  const Connections& of(Standing standing) const { return connections_[static_cast<std::size_t>(standing)]; }
  void move_up(Connection& connection);
  void stranger_left(std::uint32_t host);
  void read_from(Connection& connection);
  bool drop_oldest_stranger(std::optional<std::uint32_t> host = {});
  void drop_silent();
  void take_from_displays();
  void flush_all();
  void flush(Connection& connection);
  void close_connection(Connection& connection);

  TaskTalk talk_;
  const StrangersMax strangers_max_;
  int listener_ = -1;
  Connections connections_[3], closed_;
  std::unordered_map<int, Connections::iterator> by_descriptor_;
  std::unordered_map<std::uint32_t, std::size_t> strangers_of_;  // by host
  std::optional<X11Relay> x11_;
};

}  // namespace millrace
