// src/core/ledger/record_events.h - what happens to accounts and to the records themselves; a part of event.h.
#pragma once

#include <string>
#include <vector>

#include "core/model/account.h"
#include "core/model/kept_job.h"
#include "core/model/standing.h"

namespace millrace {

// A new one (its id was never seen), or what an old one has become.
struct AssociationChanged {
  Association association;
  Time at;
};

struct AssociationRemoved {
  AssociationId association;
  Time at;
};

struct QosChanged {
  Qos qos;
  Time at;
};

struct QosRemoved {
  QosId qos;
  Time at;
};

// Past usage of an association, and of all below it, counts no more; 0: of all.
struct UsageReset {
  AssociationId association;
  Time at;
};

// What is known of a user from now on; where that is nothing, nothing is known any more.
struct AccountUserChanged {
  AccountUser user;
  Time at;
};

// For those who ask who changed what.
struct TransactionNoted {
  Transaction transaction;
  Time at;
};

// Records that broke a law of the ledger are no longer part of the state, and every index and count is made anew from
// the others. Found at a start; what the records said is in the log before this.
struct RecordsPutAside {
  std::vector<JobKey> jobs;  // with their components and steps
  std::vector<UserId> crontabs;
  std::vector<TriggerId> triggers;
  std::vector<KeptNumber> kept_runs;
  std::vector<AssociationId> associations;
  std::vector<UserId> run_histories;
  std::vector<NodeIndex> nodes;   // they stay; what was ordered of them (power, return to service) is dropped
  std::vector<std::string> laws;  // that were broken, in words
  Time at;
};

}  // namespace millrace
