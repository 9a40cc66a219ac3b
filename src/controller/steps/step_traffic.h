// src/controller/steps/step_traffic.h - steps on their way between srun, the step manager on a job's first node, and
// the job's other nodes.
//
// A client asks for a step; the step manager of the job gets the request, and what it answers goes back to the client
// that asked, as long as that is there. The step manager has steps launched on other nodes of its job through here,
// within what the ledger says the job has. What steps report elsewhere goes to the step manager. It tells of starts and
// ends until they are durable; then it is told so, and may forget them. Nothing here outlives the controller: after a
// restart sruns ask again, and step managers tell again what was not acknowledged.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "controller/loop/context.h"
#include "controller/loop/node_links.h"

namespace millrace {

class StepTraffic final {
 public:
  StepTraffic(const Context& context, NodeLinks& links) : c_(context), links_(links) {}

  // ---- from clients ----
  void ask(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask);
  // False: its node does not answer. Where too much is on its way there, the client has been told to ask again.
  bool tell_step_manager(const Job& job, const wire::StepToNode& message);
  void expect_answer(ClientId client, const Job& job) { clients_[client].insert({job.key, job.attempt}); }
  void client_left(ClientId client);

  // ---- from nodes ----
  void step_manager_said(NodeIndex from, const wire::StepFromNode& message);
  // A step manager hears of its steps on other nodes from here; of those on its own from its agent.
  void step_reported(NodeIndex node, const AttemptReport& report);
  // What other nodes said of their steps while this one was not there was told to nobody, and they may not say it again
  // for long.
  void tell_again(NodeIndex first);
  // The step manager ends there what ran on nodes that failed or were given up. Told again while the job lives: who was
  // told may have died with what it heard.
  void tell_of_lost(NodeIndex index, NodeLink& link);
  // Steps that were sent to it, or to any node of the job, and of which it has not told yet. Those it never tells of
  // are not waited for any longer than half a minute.
  bool has_launches_under_way(JobKey key, Attempt attempt, std::optional<NodeIndex> node);

 private:
  void ask_with_ports(const Asker& asker, std::uint64_t number, const Job& job,
                      const wire::CreateStep& ask);  // step_ports.cpp
  void pass_on(const Asker& asker, std::uint64_t number, const Job& job, const wire::CreateStep& ask);
  void answer_client(const Job& job, const wire::StepReply& answer);
  void launch(const Job& job, NodeIndex node, const wire::StepLaunch& order);
  void refuse_launch(const Job& job, NodeIndex node, const wire::LaunchPlan& plan);
  void record(const Job& job, const wire::StepFacts& batch);
  std::uint32_t next_het_step(const Job& job) const;  // that no component of it has used, as far as is known here
  void note_het_step(const Job& job, std::uint32_t id);

  struct AskedPorts {
    JobKey key;
    Attempt attempt;
    std::uint32_t count = 0;
    std::string secret;  // of its srun, which may ask again
  };
  const Context& c_;
  NodeLinks& links_;
  std::map<ClientId, std::set<std::pair<JobKey, Attempt>>> clients_;      // whose step managers they asked
  std::map<std::pair<ClientId, std::uint64_t>, AskedPorts> asked_ports_;  // by steps whose srun is there
  std::map<JobKey, std::pair<Attempt, std::uint32_t>> het_steps_;         // by leader: the next number of a step
  std::map<std::tuple<JobKey, Attempt, NodeIndex, std::uint32_t>, Time> launches_;  // sent there and not yet reported
};

}  // namespace millrace
