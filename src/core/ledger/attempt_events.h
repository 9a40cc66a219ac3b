// src/core/ledger/attempt_events.h - what happens to an attempt of a job on its nodes, and to its steps; a part of
// event.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "core/model/job.h"
#include "core/model/step.h"

namespace millrace {

enum class AttemptEnd : std::uint8_t {
  exited,
  launch_failed,
  supervisor_lost,
  node_lost,
  out_of_memory,
  prolog_failed = 64,
  node_unfit = 96,  // nothing could be launched, for a reason that is the node's alone
  not_begun         // nothing was launched, and nobody can say whose fault it is
};

// Nothing of this attempt is left on this node.
struct AttemptEnded {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  Time at;
  StepUsage usage{};    // of what ran there in the attempt's own name: the script, or srun's tasks
  std::string words{};  // why it could not be launched
  static constexpr EventTag event{9, "AttemptEnded"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "node", self.node);
    visit(4, "end", self.end);
    visit(5, "exit_code", self.exit_code);
    visit(6, "exit_signal", self.exit_signal);
    visit(600, "usage", self.usage);
    visit(1310, "words", self.words);
    visit(7, "at", self.at);
  }
};

// No process of this attempt is left on this node, which is not free before its epilog is done (AttemptEnded).
struct AttemptExited {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  Time at;
  std::string words{};  // why it could not be launched
  static constexpr EventTag event{640, "AttemptExited"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "node", self.node);
    visit(4, "end", self.end);
    visit(5, "exit_code", self.exit_code);
    visit(6, "exit_signal", self.exit_signal);
    visit(1310, "words", self.words);
    visit(7, "at", self.at);
  }
};

// Its steps have these ports for themselves on each of its nodes, until the attempt is over. All it has, not only what
// is new.
struct JobPortsHeld {
  JobKey key;
  Attempt attempt;
  std::string ports;
  Time at;
  static constexpr EventTag event{1020, "JobPortsHeld"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "ports", self.ports);
    visit(4, "at", self.at);
  }
};

// The node failed, and the job, which is to outlive that (--no-kill), goes on with the others.
struct JobLostNode {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  Time at;
  static constexpr EventTag event{950, "JobLostNode"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "node", self.node);
    visit(4, "at", self.at);
  }
};

// A running job does without these nodes from now on. What it has there is its own until they have said that nothing of
// it is left.
struct JobShrunk {
  JobKey key;
  Attempt attempt;
  std::vector<NodeIndex> nodes;
  Time at;
  static constexpr EventTag event{1100, "JobShrunk"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "nodes", self.nodes);
    visit(4, "at", self.at);
  }
};

// PrologSlurmctld or EpilogSlurmctld of this attempt is done.
struct JobProgramEnded {
  JobKey key;
  Attempt attempt;
  JobProgram program{};
  bool failed = false;
  Time at;
  static constexpr EventTag event{641, "JobProgramEnded"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "program", self.program);
    visit(4, "failed", self.failed);
    visit(5, "at", self.at);
  }
};

// Steps of one attempt, as their step manager told of them: starts in the order of their numbers, none left out before
// another; of ends only those of steps that have started. Told again they are not in here again.
struct StepsReported {
  JobKey key;
  Attempt attempt;
  std::vector<StepStart> started;
  std::vector<StepEnd> ended;
  Time at;
  std::vector<StepChange> changed{};  // between the starts and the ends
  static constexpr EventTag event{600, "StepsReported"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "started", self.started);
    visit(4, "ended", self.ended);
    visit(730, "changed", self.changed);
    visit(5, "at", self.at);
  }
};

}  // namespace millrace
