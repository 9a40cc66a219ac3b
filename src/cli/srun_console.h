// src/cli/srun_console.h - srun while its job lives: one loop over tasks, terminal, signals and the controller's news.
#pragma once

#include <termios.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/task_streams.h"
#include "client.pb.h"

namespace millrace {

struct SrunPlan {
  StreamOptions streams;
  std::string secret;
  std::string output_pattern, error_pattern;  // files srun itself opens, once it knows the job's id
  std::string input_path;                     // empty: standard input
  int input_fd = -1;                          // instead of both; closed by the console
  std::size_t input_block = 16384;            // read at once
  bool say_ends = true;                       // of tasks that failed
  std::string job_name;
  bool append = false;
  bool kill_on_bad_exit = false;
  std::int64_t kill_wait_seconds = 30;
  std::int64_t wait_seconds = 0;
  bool disable_status = false;
  bool quit_on_interrupt = false;
  std::vector<std::uint32_t> ignored_signals{};
  std::optional<std::int64_t> start_within_seconds{};  // --immediate of a job of its own
  bool pty = false;
  int verbose = 0;
  std::optional<X11Display> display{};                        // --x11
  std::optional<std::uint32_t> tasks;                         // where the request leaves no choice
  std::function<void(std::uint32_t step_id)> when_created{};  // a step, whose files are open
};

class SrunConsole {
 public:
  SrunConsole(const Command& command, const SrunPlan& plan);
  ~SrunConsole();
  SrunConsole(const SrunConsole&) = delete;
  SrunConsole& operator=(const SrunConsole&) = delete;

  Result<std::uint16_t> listen(const Endpoint& endpoint) { return streams_.listen(endpoint); }
  void catch_signals();  // before the submission, so that none is lost
  // Until every task ended, or the job did; srun's exit code.
  int run(Session& session, const SessionOptions& options, std::uint32_t job_id);
  // The same for a step inside an allocation, which it asks for.
  int run_step(Session& session, const SessionOptions& options, wire::CreateStep ask);
  // The same over several components of a heterogeneous job (srun_parts.cpp); of one that was made for it, once that
  // has its nodes.
  enum class JobOf : std::uint8_t { somebody, srun };
  int run_parts(Session& session, const SessionOptions& options, std::vector<wire::CreateStep> asks, JobOf job_of);

 private:
  // What a node was told may be lost with its agent; and a step manager gives up parts whose srun it has not heard of
  // for some minutes.
  static constexpr std::int64_t ask_again_us = 20'000'000;
  static constexpr std::int64_t watch_retry_us = 1'000'000;
  static constexpr std::int64_t busy_retry_us = 5'000'000;  // nobody keeps our request
  struct Part {
    wire::CreateStep ask;
    std::optional<wire::StepNews> prepared{};
    bool started = false, ended = false;
  };
  static std::int64_t now_us();
  void ask_parts(Session& session, bool also_of_started);
  bool is_asking() const;  // for a step that nobody has answered for yet
  bool ask_part(Session& session, Part& part);
  void start_parts(Session& session);
  std::optional<int> take_part_reply(Session& session, const wire::Reply& reply);  // an exit code: it is over
  std::optional<int> take_nodes(Session& session, const wire::JobProgress& progress);
  void end_part(Part& part, const std::string& problem);

  Result<void> open_outputs();
  int loop(Session& session);
  void watch_job(Session& session);
  void take_news(const wire::StepNews& news);
  bool hears_tasks() const { return !step_ask_ || created_; }
  void take_progress(const wire::JobProgress& progress);
  void take_ends();
  void take_lost(const std::vector<std::uint32_t>& tasks);
  void take_lost_of(const wire::StepNews& news);
  // With -v
  void tell_nodes(const std::string& nodes, std::vector<std::uint32_t> cpus, std::vector<std::uint32_t> tasks);
  void tell_started();
  void tell_ends(const std::vector<TaskEnd>& ends);
  void take_abort();
  void take_input();
  void take_signal();
  void interrupt();
  void terminate(int signal);
  void cancel_job(std::string_view why);
  bool awaits_step() const { return step_ask_ && !created_ && !awaits_nodes_; }
  void give_up_step(int signal);
  void end_others();  // one task failed: TERM to the others, KILL after KillWait
  void send_end();
  void say_aborted();
  void say_refusal(const wire::Failure& failure);
  void say_status();
  void take_terminal();
  void give_back_terminal();
  void check_clock();
  int poll_timeout_ms() const;
  bool finished();
  int exit_code();
  std::string step() const { return "StepId=" + std::to_string(job_id_) + "." + std::to_string(step_id_); }

  const Command& command_;
  SrunPlan plan_;
  TaskStreams streams_;
  SessionOptions options_;
  std::uint32_t job_id_ = 0;
  std::optional<wire::CreateStep> step_ask_;  // set: this is a step inside an allocation
  std::uint32_t step_id_ = 0;
  std::vector<Part> parts_;                            // of a step over several components
  std::map<std::uint64_t, std::size_t> part_numbers_;  // which request was about which of them
  bool own_job_ = false, awaits_nodes_ = false, doomed_ = false;
  std::uint32_t killed_at_ = 0;  // doomed, or ending: so many tasks were there when it was last said
  std::int64_t kill_at_us_ = 0;  // the others are ending: when they are killed
  bool aborted_said_ = false;
  std::int64_t ask_again_us_ = 0;
  bool created_ = false, waited_ = false, failed_ = false;
  std::string step_problem_;
  int signals_ = -1;
  std::optional<termios> terminal_;  // as it was
  int input_ = -1;
  bool input_open_ = false;
  bool started_ = false;
  bool queued_said_ = false;
  bool cancelled_ = false;
  bool watching_ = false;
  bool late_ = false;         // it did not start in time
  bool out_of_time_ = false;  // a step that ended by its own limit
  std::int64_t submitted_us_ = 0;
  std::int64_t first_end_us_ = 0;
  std::int64_t last_words_until_us_ = 0;  // the nodes have more to say than that their tasks ended
  std::int64_t last_interrupt_us_ = 0;
  std::int64_t job_ended_us_ = 0;
  std::int64_t watch_again_us_ = 0;
  std::optional<wire::JobProgress> last_;
  std::string lost_nodes_;  // as last told
  bool nodes_told_ = false, start_told_ = false;
  std::string told_nodes_;
  std::vector<std::uint32_t> told_tasks_;
  std::uint32_t worst_code_ = 0, worst_signal_ = 0;
  std::optional<std::uint32_t> abort_code_;
};

// A file name of srun's own: %j, %J, %s, %u, %x and zero padding as in %4j.
std::string expand_own_pattern(const std::string& pattern, std::uint32_t job_id, const std::string& job_name,
                               std::uint32_t step_id = 0);

}  // namespace millrace
