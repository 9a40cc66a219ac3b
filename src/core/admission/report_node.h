// src/core/admission/report_node.h - what nodes say: they are there, an attempt ended, they fell silent; and what is
// ordered of them.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct RegisterNode {
  NodeIndex node;
  std::string boot_id;
  Inventory inventory;
  std::string spool_id{};
};

struct ReportEnd {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  StepUsage usage{};
  bool epilog_failed = false;  // the node is not fit for others
  std::string words{};         // why it could not be launched
};

// A registration under a new boot, or with another spool, means that everything which ran there is gone. Nothing new:
// no event.
std::vector<Event> decide_register(const State& state, const RegisterNode& report, Time now);
// How far its clock is ahead of the controller's, or behind it (negative). Nothing new: no event.
std::vector<Event> decide_clock(const State& state, NodeIndex node, Duration ahead, Time now);
// The devices of a node that are out of order, all of them. Nothing new: no event.
std::vector<Event> decide_devices(const State& state, NodeIndex node, std::vector<DeviceTrouble> troubles, Time now);
// An end of an old attempt, of a share released before, or of a job we do not know changes nothing.
std::vector<Event> decide_end(const State& state, const ReportEnd& report, Time now);
// No process of the attempt is left there, and the node tidies up. Of no interest once the job is on its way out there.
std::vector<Event> decide_exit(const State& state, const ReportEnd& report, Time now);
// It could not launch a step, for a reason that is its own.
std::vector<Event> decide_unfit(const State& state, NodeIndex node, const std::string& words, Time now);
// PrologSlurmctld or EpilogSlurmctld is done; one that nobody waits for any more changes nothing.
std::vector<Event> decide_program_end(const State& state, const JobProgramEnded& end);
// Nodes that wait for their jobs to be gone before they boot and are idle now, and those that did not come back in
// time.
std::vector<Event> decide_reboots(const State& state, Time now);
// Too long without a word: the node is down and its attempts are lost.
std::vector<Event> decide_lost(const State& state, NodeIndex node, Time now);

struct ChangeNode {
  NodeIndex node;
  std::string state{};  // DRAIN, UNDRAIN, DOWN, FAIL, RESUME, IDLE, REBOOT, REBOOT_ASAP, CANCEL_REBOOT, FUTURE,
                        // POWER_..., or empty
  std::string reason{};
  AfterReboot after_reboot{};
  NodeModified change{};  // its node is the one above
};
Decision decide_change_node(const State& state, const ChangeNode& ask, const Actor& actor, Time now);
Decision decide_change_partition(const State& state, const std::string& name, const std::string& wanted,
                                 const Actor& actor, Time now);

}  // namespace millrace
