// src/sim/cluster.h - a whole cluster in one thread: controller, log, agents and clients on simulated time, network,
// disk and processes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/own_agents.h"
#include "controller/controller.h"
#include "sim/flaky_manager.h"
#include "sim/sim_administrator.h"
#include "sim/sim_crontab.h"
#include "sim/sim_disk.h"
#include "sim/sim_node.h"
#include "store/wal.h"

namespace millrace {

struct ClusterShape {
  std::uint32_t nodes = 3;
  std::uint32_t cpus = 4;
  std::uint32_t flaky_nodes = 0;  // managed by a second manager that hangs, lies and forgets
  std::uint32_t jobs = 25;
  bool faults = true;
  bool full_disk = false;
  bool programs = false;  // prologs and epilogs, on the nodes and at the controller; sometimes they fail
  bool power = false;     // idle nodes are powered down and up again; one is in a cloud, and some do not come up
  bool suspends = false;  // urgent jobs suspend others, CPUs are shared in turns, administrators suspend and resume
  bool administrator =
      false;  // reservations come and go, limits change, and jobs of an urgent partition take nodes from others
  bool crontab = false;      // a user has jobs that come again, in a crontab that changes
  bool clocks = false;       // the clocks of controller and nodes are set, forward and back; spools are lost
  bool old_leaders = false;  // every killed controller goes on for a while, and links break often
};

// Runs one history from a seed and checks the law book on the way and at the end.
class SimCluster final : private Clients, private Identities {
 public:
  SimCluster(std::uint64_t seed, ClusterShape shape);
  ~SimCluster() override;

  // The first thing that was wrong, in words; nothing when all is well.
  std::optional<std::string> run();
  std::uint64_t steps() const { return world_.steps(); }
  bool saw_preemption() const { return saw_preemption_; }
  bool saw_reservation() const { return saw_reservation_; }
  std::uint64_t crontab_returns() const { return crontab_.returns(); }
  bool saw_boot() const { return saw_boot_; }  // a job waited for a node to be powered up
  bool saw_reboot() const;                     // ... or to be rebooted
  const std::set<SuspendWhy>& seen_suspended() const { return seen_suspended_; }
  std::size_t steps_heard() const;  // how many ends of steps the log has answered for
  std::size_t steps_on_several_nodes() const;
  std::size_t programs_failed() const;
  std::size_t nodes_outlived() const { return nodes_outlived_; }  // by jobs with --no-kill, in their last attempts
  std::size_t nodes_given_up() const { return nodes_given_up_; }  // by running jobs, because their users said so
  Duration slowest_start() const { return slowest_start_; }       // of jobs on our own nodes, from eligible to start

 private:
  struct Wish {  // one submission of a client, with what became of it
    wire::SubmitJob ask;
    std::optional<std::uint32_t> answered;  // the id it was given
    std::uint64_t number = 0;               // of the request under way, 0: none
    bool cancel = false, cancelled = false;
    bool requeue = false;
    bool cancel_component = false;
    bool own_nodes = true;
    bool by_root = false;        // who may have its nodes rebooted
    bool cancelling = false;     // the request under way is the cancel
    std::uint32_t suspends = 0;  // so many times an administrator will suspend or resume it
  };
  struct Controlling;  // everything that dies with the controller process

  void reply(ClientId client, const wire::Reply& reply) override;
  void reply_encoded(ClientId client, std::string reply) override;
  void when_read(ClientId, Task then) override { then(); }
  void find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) override;

  void start_controller();
  void kill_controller(bool power);
  void make_wishes();
  void client_turn();
  void administrator_turn();
  void repair_turn();
  void crontab_turn();
  void clock_turn(Time until);  // cluster_clocks.cpp
  std::optional<std::string> harm_of_clocks() const;
  void power_nodes(const ProgramRun& program);
  std::optional<std::string> program_verdict() const;
  std::optional<std::string> holders_verdict() const;
  bool serves() const;
  void fault_turn();
  void heal();
  bool settled() const;
  std::string what_runs() const;
  void watch_durable();
  void watch_agreement();
  void complain(std::string what);
  std::optional<std::string> final_verdict() const;
  std::optional<std::string> judge_steps(const State& state) const;  // cluster_steps.cpp
  std::optional<std::string> judge_runs(const State& state, const StepRecord& record,
                                        const std::vector<const StepRunRecord*>& runs) const;
  bool was_lost(const State& state, const StepRunRecord& run) const;

  std::uint64_t seed_;
  ClusterShape shape_;
  SimWorld world_;
  SimNetwork network_;
  SimSruns sruns_;
  SimDisk disk_;
  CredentialSigner signer_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<ProgramRunRecord> controller_programs_;
  std::unique_ptr<Controlling> controlling_;
  std::unique_ptr<Controlling> zombie_;  // an old leader that does not know that it is one
  SimAdministrator administrator_;
  SimCrontab crontab_;
  std::vector<Wish> wishes_;
  std::map<std::uint64_t, std::size_t> asked_;  // request number to wish
  std::uint64_t last_request_ = 0;
  std::uint64_t durable_version_ = 0;  // the highest any observer saw
  std::uint64_t last_epoch_ = 0;
  std::uint64_t starts_ = 0;
  State last_durable_;
  bool faults_on_ = true;
  Duration clock_off_;  // of the controller's machine
  Time healed_at_;
  std::set<SuspendWhy> seen_suspended_;
  bool saw_preemption_ = false, saw_reservation_ = false;
  bool saw_boot_ = false;
  Duration slowest_start_;
  std::map<std::tuple<AttemptKey, std::string, Time>, Time>
      disagrees_since_;  // a job on a node, as it was last changed
  std::size_t nodes_outlived_ = 0, nodes_given_up_ = 0;
  std::optional<std::string> wrong_;
};

}  // namespace millrace
