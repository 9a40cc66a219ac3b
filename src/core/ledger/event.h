// src/core/ledger/event.h - what happened; the only thing we store. Everything needed to apply it is inside, the time
// too.
#pragma once

//
// Each kind has a number and a name (`event`) and lists its fields (base/fields.h); docs/spec/event-log.md says what a
// release owes the log. A new kind: its struct in the file of its subject, a place in EventKinds, its case in
// apply.cpp.
#include <variant>

#include "core/ledger/attempt_events.h"
#include "core/ledger/cluster_events.h"
#include "core/ledger/job_events.h"
#include "core/ledger/node_events.h"
#include "core/ledger/record_events.h"

namespace millrace {

using EventKinds =
    std::variant<ControllerStarted, ClusterConfigured, JobSubmitted, JobHoldChanged, JobModified, JobBecameEligible,
                 ArrayTaskSplit, JobPlaced, AttemptEnded, JobCancelled, JobTimedOut, JobRequeued, NodeRegistered,
                 NodeLost, NodeStateChanged, PartitionStateChanged, JobForgotten, ReservationSet, ReservationRemoved,
                 JobPreempted, AssociationChanged, AssociationRemoved, QosChanged, QosRemoved, UsageReset,
                 JobDeadlinePassed, HetJobSubmitted, HetJobPlaced, JobSuspended, JobResumeWanted, JobResumed,
                 TimeSliceTurned, AttemptExited, JobProgramEnded, NodeModified, DevicesJudged, StepsReported,
                 NodesPowered, NodeCreated, NodeDeleted, PartitionChanged, PartitionDeleted, DampingChanged, CrontabSet,
                 TriggerSet, TriggerRemoved, AccountUserChanged, TransactionNoted, RecordAnnotated, JobLostNode,
                 JobPortsHeld, JobShrunk, RecordsPutAside, NodeClockJudged, ClockStepped>;

// Copied, moved and dropped in one unit: what that means for fifty kinds took every unit that makes an event seconds to
// compile.
struct Event : EventKinds {
  using EventKinds::EventKinds;
  Event();
  Event(const Event&);
  Event(Event&&) noexcept;
  Event& operator=(const Event&);
  Event& operator=(Event&&) noexcept;
  ~Event();
};

}  // namespace millrace
