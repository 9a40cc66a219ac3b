// src/controller/controller.h - the one loop: commands become durable facts, facts become orders to nodes and answers
// to people.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "controller/asker_names.h"
#include "controller/clients.h"
#include "controller/commit.h"
#include "controller/config_facts.h"
#include "controller/departed_users.h"
#include "controller/fair_queue.h"
#include "controller/fair_turns.h"
#include "controller/fair_worker.h"
#include "controller/launch_plan.h"
#include "controller/long_answers.h"
#include "controller/payload_cache.h"
#include "controller/planning.h"
#include "controller/readers/readers.h"
#include "controller/reconcile.h"
#include "controller/settings.h"
#include "controller/views.h"
#include "controller/wait_log.h"
#include "core/admission/refusal.h"
#include "ports/identity.h"
#include "ports/programs.h"
#include "ports/resource_manager.h"

namespace millrace {

class Controller final : public ResourceObserver {
 public:
  struct Parts {
    Loop& loop;
    EventLog& log;
    Worker& plan_worker;
    Worker& query_worker;
    Identities& identities;
    Clients& clients;
    Programs* programs = nullptr;  // null: nothing can be run, and nothing is waited for
  };
  Controller(Parts parts, ControllerSettings settings, ControllerHooks hooks, State recovered);

  // The manager of these nodes; with no names, of all that no other manager has.
  void add_manager(ResourceManager& manager, std::vector<std::string> nodes = {});
  // The first facts of this run: a new epoch, the configuration. `ready` runs when they are durable; nodes may be
  // spoken to from then on, not before: an epoch that could be lost would be given out twice.
  // `first`: what the recovered state needs before anything else, see core/admission/put_records_aside.
  void start(ClusterConfigured configuration, Task ready = {}, std::vector<Event> first = {});
  Epoch epoch() const { return commit_.decided().epoch; }
  const State& durable() const { return commit_.durable(); }

  // Users take turns: where others have asked before, it is carried out in a later turn of the loop.
  void request(const Asker& asker, wire::Request request);
  void client_left(ClientId client);

  void node_registered(ResourceManager& by, const NodeRegistration& registration) override;
  void node_reported(ResourceManager& by, const std::string& node, const std::vector<AttemptReport>& attempts,
                     const wire::Telemetry& telemetry) override;
  void node_unreachable(ResourceManager& by, const std::string& node) override;
  void keeper_said(ResourceManager& by, const std::string& node, const wire::StepFromNode& message) override;
  void step_sampled(ResourceManager& by, const std::string& node, const wire::StepSample& sample) override;

 private:
  friend class Commands;
  friend class Queries;
  struct NodeLink {
    ResourceManager* manager = nullptr;
    bool responding = false;
    bool reported = false;                // since its last registration in this run
    bool seemed_late = false;             // its clock is behind, or what it said last was long on its way
    Time heard_at;                        // this and the other times here: by the clock that nobody sets
    std::vector<AttemptReport> attempts;  // as last reported
    Time told_to_reboot;
    Time judged_devices, judged_clock;  // when that last changed something
    // By job, attempt, step and kind of order:
    std::map<std::tuple<JobKey, Attempt, std::int64_t, std::uint32_t>, Time>
        ordered;  // when an order was last given, so as not to repeat it at once
  };
  // Supervisors that are asked what their steps use, and who wants to know.
  struct SampleTarget {
    NodeIndex node;
    JobKey key;
    Attempt attempt;
    std::optional<std::uint32_t> step;
    auto operator<=>(const SampleTarget&) const = default;
  };
  struct Inquiry {
    ClientId client = 0;
    UserId user;
    std::uint64_t number = 0;
    std::set<SampleTarget> awaited;
    wire::StepSamples answer;
    Loop::TimerId timer = 0;
  };
  ReadView read_view() const;
  void say_often(const std::string& kind, const std::string& line);
  // A node may say something else with each word. It is judged anew once in a heartbeat: what still holds comes again.
  bool is_due(Time judged) const;
  void complain(const std::string& text);  // an error that nobody can be answered with
  void law_broken(const std::string& law, const std::vector<Event>& events);
  void advanced(const Advance& step);
  void plan_finished(const Plan& plan);
  void preempt(const Preemption& p);
  void resume_suspended();
  bool has_room_for(const std::vector<Event>& events);
  bool signal_nodes(const Job& job, const wire::SignalAttempt& signal);  // false: not all of them answer
  void reconcile(NodeIndex node);
  void order(NodeIndex node, NodeLink& link, const Intent& intent);
  void launch(NodeIndex node, const LaunchIntent& intent);
  void let_go(NodeIndex node, JobKey key, Attempt attempt);
  void send_launch(NodeIndex node, const LaunchIntent& intent, const wire::LaunchPlan& plan, bool departed);
  // Steps (steps.cpp)
  void ask_keeper(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask);
  void pass_to_keeper(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask);
  void ask_with_ports(const Asker& asker, std::uint64_t number, const Job& job,
                      const wire::CreateStep& ask);                   // step_ports.cpp
  bool tell_keeper(const Job& job, const wire::StepToNode& message);  // false: its node does not answer
  void tell_of_lost(NodeIndex index, NodeLink& link);
  void answer_step_client(const Job& job, const wire::StepReply& answer);
  void tell_keeper_of(NodeIndex node, const AttemptReport& report);
  void tell_keepers_again(NodeIndex first);
  void launch_step(const Job& job, NodeIndex node, const wire::StepLaunch& order);
  bool has_launches_under_way(JobKey key, Attempt attempt,
                              std::optional<NodeIndex> node);  // of steps; not set: on any of its nodes
  bool waits_for_steps(const Job& job, NodeIndex first);       // of other nodes, which it tells to go
  void step_client_left(ClientId client);
  std::uint32_t next_het_step(const Job& job) const;  // that no component of it has used, as far as is known here
  void note_het_step(const Job& job, std::uint32_t id);
  void judge_devices(NodeIndex node, const wire::Telemetry& telemetry);
  void record_steps(const Job& job, const wire::StepFacts& batch);
  void inquire(Inquiry inquiry);  // this and the next: step_requests.cpp
  void answer_inquiry(std::uint64_t id);
  void see_to_reboot(NodeIndex index, NodeLink& link);
  void note_prologs(NodeIndex index, const std::vector<AttemptReport>& attempts);
  // By sacctmgr; the name is that of the asker, where it was looked up.
  Actor actor_of(const Asker& asker, bool operators_too) const;
  bool has_offices();  // somebody has rights by sacctmgr
  void take_up(const Asker& asker, const wire::Request& request);
  void carry_out(const Asker& asker, const wire::Request& request);
  void look_up(const Asker& asker, UserId uid, GroupId gid,
               std::move_only_function<void(const Result<UserIdentity>&)> then);
  void know_nodes();
  void take_settings(const ControllerSettings& fresh);
  bool create_unknown(ResourceManager& by, const NodeRegistration& registration);
  void take_reports(NodeIndex node, const std::vector<AttemptReport>& attempts);
  std::set<NodeIndex> judge_reports(NodeIndex node);
  std::optional<NodeIndex> own_node(ResourceManager& by, const std::string& name);
  std::vector<NodeIndex> unreachable() const;
  void tick();
  void see_clock();
  void see_clock_of(NodeIndex node, Time its_clock);
  void replan_with_time();
  void arm_deadline();
  void expire();
  void maybe_snapshot();
  void write_snapshot(const State& state, std::string bytes, const std::vector<PayloadId>& of_state);
  void configured(const ClusterConfigured& configuration);

  Loop& loop_;
  EventLog& log_;
  FairWorker query_worker_;
  Identities& identities_;
  DepartedUsers departed_users_;
  Clients& clients_;
  LongAnswers long_answers_;
  ControllerSettings settings_;
  ControllerHooks hooks_;
  Log silent_;
  Log& lines_;
  Log& schedule_lines_;
  FactLog fact_log_{lines_, schedule_lines_};
  Diagnostics diagnostics_;
  Commit commit_;
  Readers readers_;
  FairTurns requests_{loop_}, long_changes_{loop_};
  FairQueue script_reads_{1};
  Planning planning_;
  PayloadCache payloads_;
  WaitLog wait_log_;
  std::map<ClientId, std::set<std::pair<JobKey, Attempt>>> step_clients_;  // whose keepers they asked
  struct AskedPorts {
    JobKey key;
    Attempt attempt;
    std::uint32_t count = 0;
    std::string secret;  // of its srun, which may ask again
  };
  std::map<std::pair<ClientId, std::uint64_t>, AskedPorts> asked_ports_;  // by steps whose srun is there
  std::map<JobKey, std::pair<Attempt, std::uint32_t>> het_steps_;         // by leader: the next number of a step
  std::map<std::tuple<JobKey, Attempt, NodeIndex, std::uint32_t>, Time>
      step_launches_;  // sent there and not yet reported
  std::map<std::uint64_t, Inquiry> inquiries_;
  std::uint64_t last_inquiry_ = 0;
  SharedValue<PlanReport> plan_report_{PlanReport{}};
  SharedValue<Observed> observed_{Observed{}};
  std::map<std::string, ResourceManager*> manager_of_;
  ResourceManager* default_manager_ = nullptr;
  std::vector<ResourceManager*> managers_;
  std::map<std::string, NodeIndex, std::less<>> node_by_name_;
  std::map<NodeIndex, NodeLink> links_;
  AskerNames asker_names_;                                 // looked up since somebody has rights by sacctmgr
  std::size_t plain_lookups_ = 0;                          // names that are asked for on the word of compute nodes
  std::optional<std::pair<std::uint64_t, bool>> offices_;  // by version of the accounts
  Loop::TimerId deadline_timer_ = 0;
  Time deadline_armed_ = never;
  bool snapshot_running_ = false;
  bool short_of_room_ = false;  // on the disk of the log, as far as was asked
  std::uint64_t laws_broken_ = 0;
  Time ticked_at_;        // steady; not set: not yet
  Time period_planned_;   // the period of priorities a pass was last asked for
  Time replanned_at_;     // for the sake of time alone; steady
  Duration clock_ahead_;  // of the steady one; when that changes, somebody has set the clock
  Time started_at_;
};

}  // namespace millrace
