// src/agent/agent.h - one node's half of the resource manager: does what the controller signed, reports what is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent.pb.h"
#include "agent/inventory.h"
#include "agent/relay.h"
#include "agent/spool_directory.h"
#include "base/log.h"
#include "ports/loop.h"
#include "ports/supervisors.h"
#include "ports/transport.h"

namespace millrace {

struct AgentSettings {
  std::string node;
  std::string boot_id;
  std::string spool_id{};  // another one has nothing of the attempts of the one before
  std::string version;
  bool relay_only = false;
  bool dynamic = false;  // not in slurm.conf: the controller makes the node, as `configuration` says
  std::string configuration{};
  std::uint64_t first_session = 1;  // random in a daemon, so that a restarted agent is not taken for the one before
  std::uint64_t highest_epoch = 0;  // remembered from the run before
  Duration heartbeat = seconds(5);  // until the controller says otherwise
};

// Called on the loop; each may be empty.
struct AgentHooks {
  std::function<void(std::string_view)> log;
  std::function<void(std::uint64_t epoch)> epoch_rose;  // to be remembered
  std::function<void()> stop;                           // the controller asks the agent to leave
  std::function<void()> reboot;                         // ... the node to boot
  std::function<void()> read_configuration;             // the files have changed
  std::function<void(const wire::SetLogging&)> set_logging{};
  std::function<Duration()>
      unkillable_after{};  // so long after SIGKILL an attempt that is still there counts as unkillable; 0: never
  std::function<void(const wire::AttemptStatus&)> unkillable{};  // told once of each
  Log* lines = nullptr;                                          // what log() does not always say
};

// Lives on one loop and touches the world only through its ports, so a simulator runs hundreds. It decides nothing
// about jobs: a Launch it has seen is only reported again, an end is reported until the controller says that it is
// durable.
class Agent final : private LinkHandler, private SupervisorObserver {
 public:
  Agent(Loop& loop, Dialer& dialer, Supervisors& supervisors, Measurements& measurements, AgentSettings settings,
        AgentHooks hooks);
  ~Agent() override;

  void start();  // finds what runs already, then connects and stays connected
  Relay& relay() { return relay_; }
  bool is_welcome() const { return welcome_; }
  bool has_jobs() const { return !attempts_.empty(); }
  std::uint64_t highest_epoch() const { return highest_epoch_; }

 private:
  // LinkHandler, SupervisorObserver
  void message(std::string_view bytes) override;
  void closed(std::string_view why) override;
  void attempt_changed(const wire::AttemptStatus& status) override;
  void step_manager_said(const wire::StepFromNode& message) override;
  void step_sampled(const wire::StepSample& sample) override;

  // Steps (agent_steps.cpp)
  std::vector<AttemptName> live_steps_of(AttemptName attempt) const;
  wire::AttemptStatus as_reported(AttemptName name, const wire::AttemptStatus& status) const;
  void follow_steps(AttemptName name, const wire::AttemptStatus& status);
  void kill(const wire::Kill& kill);
  void signal(const wire::SignalAttempt& signal);
  void suspend(const wire::Suspend& suspend);

  Time controller_now() const;
  void look_at_killed();
  void connect();
  void disconnect(std::string_view why);
  void beat();
  void report_soon() { report_within(Duration{0}); }
  void report_within(Duration wait);
  void send_report(bool with_telemetry);
  void send(wire::ToController message);
  void log(std::string text) const;

  bool is_in_order(const wire::ToAgent& message);
  void obey(const wire::ToAgent& message);
  void be_welcome(const wire::Welcome& welcome);
  void know_configuration(std::uint64_t number);
  void launch(const wire::Launch& launch);
  void refuse_launch(const wire::Credential& credential, std::string problem,
                     wire::AttemptStatus::Cause cause = wire::AttemptStatus::OF_JOB);
  void bury_unlaunched(const wire::Kill& kill);
  void forget(const wire::Forget& forget);

  Loop& loop_;
  Dialer& dialer_;
  Supervisors& supervisors_;
  Measurements& measurements_;
  const AgentSettings settings_;
  const AgentHooks hooks_;
  Log silent_;
  Log& lines_;
  Relay relay_;

  std::map<AttemptName, wire::AttemptStatus> attempts_;
  std::map<AttemptName, std::optional<Time>>
      dead_by_;  // attempts that were told to end, and when SIGKILL has been sent; nothing: found to be unkillable
  std::uint64_t highest_epoch_;
  std::string verify_key_;  // of the present session
  std::string cluster_;
  Duration heartbeat_;

  std::unique_ptr<Link> link_;
  std::uint64_t session_;
  std::uint64_t sent_ = 0;           // sequence of our last message in this session
  std::uint64_t received_ = 0;       // sequence of theirs
  std::uint64_t configuration_ = 0;  // of the controller's numbers; 0: none heard yet
  bool welcome_ = false;
  Time controller_clock_{}, clock_heard_{};  // as it said, and when by our steady one; not set: it said nothing
  Time last_heard_{};
  Duration backoff_;
  Loop::TimerId reconnect_timer_ = 0;
  Loop::TimerId beat_timer_ = 0;
  Loop::TimerId report_timer_ = 0;
  Time report_at_;
};

}  // namespace millrace
