// src/step/attempt/supervisor.h - runs one attempt of a job on this node and answers for its end; the whole of
// millrace-step.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent.pb.h"
#include "step/attempt/attempt_isolation.h"
#include "step/attempt/attempt_usage.h"
#include "step/attempt/channel.h"
#include "step/attempt/errand.h"
#include "step/attempt/freezer.h"
#include "step/attempt/gpus.h"
#include "step/attempt/reaper.h"
#include "step/attempt/running_task.h"
#include "step/attempt/spool.h"
#include "step/attempt/step_log.h"
#include "step/attempt/step_port.h"
#include "step/attempt/traced.h"
#include "step/launch/launch.h"
#include "step/mpi/step_mpi.h"
#include "step/stdio/srun_streams.h"
#include "step/step_manager/step_manager.h"
#include "step/x11/x11_forward.h"
#include "task.pb.h"

namespace millrace {

// One thread, one poll loop, no clock of its own but kill waits. The agent may come and go; only the work, a Kill, or
// the loss of srun ends it. It is the subreaper of everything the job starts, so what daemonises still comes back to
// it.
class Supervisor final {
 public:
  Supervisor(wire::ToStep order, AttemptSpool spool, Channel agent, int listener, int child_signals);
  ~Supervisor();
  int run();                          // exit code of the process
  void begin();                       // run() does it first
  bool hear(std::string_view bytes);  // a message of the agent's; false: it is none

 private:
  struct Killing {
    std::int64_t kill_at_us = 0;  // monotonic; SIGKILL from then on
    std::int64_t term_at_us = 0;  // SIGTERM then; 0: it was sent
    std::int64_t look_at_us = 0;  // when to look again for tasks that a tracer holds beyond their end
  };

  // Starting
  Result<void> start();
  void look_at_srun();
  void fail_launch(Error why);
  Result<void> add_compat_variables();
  Result<void> start_batch();
  Result<void> contain(TaskSpec& spec, std::uint32_t rank, const std::string& script) const;
  Result<void> start_tasks();
  Result<void> start_programs();
  void remember_tasks();
  TaskSpec common_spec() const;
  void choose_batch_files(TaskSpec& spec) const;
  void choose_task_files(TaskSpec& spec, std::uint32_t rank) const;
  void add_hooks(TaskSpec& spec) const;
  bool start_epilog(RunningTask& task);  // false: none is left
  Result<void> start_one(const TaskSpec& spec, std::uint32_t rank);
  Result<void> start_mpi();
  Result<void> start_when_mpi_is_ready();
  void look_at_mpi();
  void move_mpi();              // what its parts have to say to each other
  Result<void> open_display();  // --x11
  void move_x11();

  // Events
  void wait_for_events();
  int timeout_ms() const;
  void handle(const pollfd& ready);
  void accept_agent();
  void read_agent();
  void obey(const wire::ToStep& message);
  void take_report(RunningTask& task);
  void reap();
  void take_held_ends(std::int64_t now_us);                // of tasks that somebody traces
  void process_ended(RunningTask& task, int wait_status);  // its program, or one of its epilogs
  void end_if_nobody_left();
  void on_time();

  // Steps of this job: a step manager keeps them where this is its first node.
  void hear_of_steps(const wire::StepToNode& message);
  void finish_after_steps();  // whose ends may be on their way
  bool finish_if_steps_are_over();

  void answer_inquiry(std::uint64_t number);

  // Ending
  void begin_kill(const wire::Kill& kill);
  void begin_kill(std::uint32_t wait_seconds, std::int64_t patience_us = 0);
  void end_politely();
  void send_signal(const wire::SignalAttempt& signal);
  void signal_all(int number);
  void suspend(bool suspended);
  void write_note(const std::string& line);
  bool all_tasks_ended() const;
  bool is_childless() const;
  void finish();
  void tell_agent();

  wire::ToStep order_;
  Gpus gpus_;
  const wire::LaunchPlan& plan_;
  AttemptSpool spool_;
  Channel agent_;
  int listener_;
  int child_signals_;
  SrunStreams streams_;
  mutable StepLog log_;           // last of these: it speaks through the two above
  std::unique_ptr<StepMpi> mpi_;  // none: the tasks do not know each other
  X11Forward x11_;
  std::vector<wire::X11Piece> x11_to_srun_;
  std::optional<ExchangeHub> own_hub_;  // the step has one node: nobody else need hear of it
  Environment environment_;
  AttemptIsolation isolation_;
  std::vector<RunningTask> tasks_;
  std::optional<Killing> killing_;
  Freezer freezer_;
  TracerBreaker tracers_;
  JobNotes notes_;
  bool holds_allocation_ = false;  // no task here: only a Kill ends it
  bool awaits_srun_ = false;       // its tasks begin when srun has proved who it is
  bool awaits_mpi_ = false;        // ... and that its PMIx server is ready
  bool killed_before_start_ = false;
  bool hangs_on_srun_ = false;     // ... or the end of the srun that it was made for,
  std::int64_t srun_gone_us_ = 0;  // which was seen then; what it said last may still be on its way
  bool children_left_ = false;  // descendants of ended tasks that are being killed, or waited for (--wait-for-children)
  struct UntoldEnd {
    std::uint32_t rank = 0;
    int wait_status = 0;
    bool short_of_memory = false;
  };
  std::int64_t look_left_us_ = 0;       // when they may be looked for again
  std::vector<UntoldEnd> untold_ends_;  // of tasks whose children are waited for: srun would leave
  bool spares_children() const { return plan_.job().step_options().wait_for_children() && !killing_; }
  void tell_end(const UntoldEnd& end) { streams_.task_ended(end.rank, end.wait_status, end.short_of_memory); }
  std::string problem_;
  bool unfit_ = false;  // and the machine is to blame for it
  StepPort step_port_;
  std::optional<StepManager> step_manager_;
  AttemptUsage usage_;
  std::uint32_t allocation_exit_code_ = 0;
  wire::AttemptStatus status_;
  bool ended_ = false;
  bool told_of_end_ = false;  // --signal
  bool recorded_ = false;
  bool forgotten_ = false;
  std::int64_t srun_patience_until_us_ = 0;
  std::vector<pollfd> polls_;
};

}  // namespace millrace
