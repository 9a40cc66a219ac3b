// src/step/stdio/srun_streams.h - the standard streams of srun's tasks on this node: pipes to the tasks, one connection
// to srun.
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent.pb.h"
#include "base/result.h"
#include "step/attempt/channel.h"
#include "step/launch/launch.h"
#include "step/stdio/stream_call.h"
#include "step/stdio/task_input.h"
#include "task.pb.h"

namespace millrace {

class SrunStreams {
 public:
  SrunStreams() = default;
  SrunStreams(const SrunStreams&) = delete;
  SrunStreams& operator=(const SrunStreams&) = delete;
  ~SrunStreams();

  // Calls srun; nothing here blocks. is_calling() until srun has proved who it is, then is_connected(), or
  // call_problem() says why not.
  void call(const wire::LaunchPlan& plan, std::int64_t now_us);
  // One more who sees everything from now on and may give input (sattach), once it has proved who it is. One that does
  // not read is let go.
  void attach(const wire::LaunchPlan& plan, const wire::StdioEndpoint& peer, std::int64_t now_us);
  // Pipes for the next task; streams of `spec` that name a file stay as they are. Call task_started() after the fork.
  Result<void> prepare_task(std::uint32_t rank, TaskSpec& spec);
  // The same with a terminal instead of pipes (srun --pty).
  Result<void> prepare_terminal(std::uint32_t rank, std::uint32_t rows, std::uint32_t columns, TaskSpec& spec);
  void task_started(const TaskSpec& spec);

  void add_polls(std::vector<pollfd>& polls) const;
  void handle(const pollfd& ready, std::int64_t now_us);
  std::int64_t due_us() const;  // INT64_MAX: nothing is waited for
  void on_time(std::int64_t now_us);
  // A message of srun's, and of one who attached. False: it is none, and its connection is of no use.
  bool hear(std::string_view bytes);
  bool hear_attached(std::string_view bytes);
  // Sends what the task wrote before its end, then the end.
  void task_ended(std::uint32_t rank, int wait_status, bool out_of_memory = false);
  void note(std::string_view line);
  void close_outputs();  // every process is gone: nothing more can come
  void end_sending();
  void give_up();

  bool is_calling() const { return srun_call_ != nullptr; }
  const std::string& call_problem() const { return call_problem_; }
  bool is_connected() const { return srun_.is_open(); }
  bool has_listeners() const;  // srun, or somebody who attached
  bool is_flushed() const;
  void send_mpi(const wire::MpiFromNode& message);
  std::vector<wire::MpiToNode> take_mpi();  // from the other nodes of the step
  void send_x11(const wire::X11Piece& piece);
  std::vector<wire::X11Piece> take_x11() { return std::exchange(x11_, {}); }
  bool is_slow() const;  // srun does not read fast enough: what could be sent must wait
  std::vector<std::uint32_t> take_signals() { return std::exchange(signals_, {}); }  // srun asks us to send them

 private:
  struct TaskPipes {
    std::uint32_t rank = 0;
    int in = -1, out = -1, err = -1;  // our ends
    bool terminal = false;
  };
  struct AttachCall {
    std::unique_ptr<StreamCall> call;
    std::string hello;
  };
  void take_calls();  // those that were answered, or failed
  void send(const wire::FromTask& message);
  void send_to_attached(const std::string& bytes);
  void read_srun();
  void read_attached(Channel& peer);
  void resize_terminals(const wire::Terminal& window) const;
  bool give_input(const wire::ToTask& message);                 // false: it is more than srun sends at once
  bool read_output(TaskPipes& task, int& pipe, bool is_error);  // false: nothing there now
  void add_task(std::uint32_t rank);
  void write_input(std::size_t task);
  void close_input(std::size_t task);
  bool is_input_backed_up() const;

  std::unique_ptr<StreamCall> srun_call_;
  std::string srun_hello_, call_problem_;
  Channel srun_;
  std::list<AttachCall> attach_calls_;
  std::list<Channel> attached_;
  std::vector<std::string> ends_;  // told to those who attach later
  std::vector<TaskPipes> tasks_;
  TaskInput input_;  // its readers have the places of their tasks
  std::vector<std::uint32_t> signals_;
  std::vector<wire::MpiToNode> mpi_;
  std::vector<wire::X11Piece> x11_;
  bool input_ended_ = false;
  bool parallel_ = false;
};

}  // namespace millrace
