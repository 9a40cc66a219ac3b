// src/core/ledger/record_events.h - what happens to accounts, crontabs, triggers and to the records themselves; a part
// of event.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "core/ledger/job_events.h"
#include "core/model/account.h"
#include "core/model/kept_job.h"
#include "core/model/standing.h"

namespace millrace {

// A new one (its id was never seen), or what an old one has become.
struct AssociationChanged {
  Association association;
  Time at;
  static constexpr EventTag event{20, "AssociationChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "association", self.association);
    visit(2, "at", self.at);
  }
};

struct AssociationRemoved {
  AssociationId association;
  Time at;
  static constexpr EventTag event{21, "AssociationRemoved"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "association", self.association);
    visit(2, "at", self.at);
  }
};

struct QosChanged {
  Qos qos;
  Time at;
  static constexpr EventTag event{22, "QosChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "qos", self.qos);
    visit(2, "at", self.at);
  }
};

struct QosRemoved {
  QosId qos;
  Time at;
  static constexpr EventTag event{23, "QosRemoved"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "qos", self.qos);
    visit(2, "at", self.at);
  }
};

// Past usage of an association, and of all below it, counts no more; 0: of all.
struct UsageReset {
  AssociationId association;
  Time at;
  static constexpr EventTag event{24, "UsageReset"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "association", self.association);
    visit(2, "at", self.at);
  }
};

// What is known of a user from now on; where that is nothing, nothing is known any more.
struct AccountUserChanged {
  AccountUser user;
  Time at;
  static constexpr EventTag event{990, "AccountUserChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "at", self.at);
  }
};

// For those who ask who changed what.
struct TransactionNoted {
  Transaction transaction;
  Time at;
  static constexpr EventTag event{991, "TransactionNoted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "transaction", self.transaction);
    visit(2, "at", self.at);
  }
};

// The user's crontab, with the jobs of its new entries; empty: it is gone. Jobs that were in the one before and are not
// in this one go if they wait, and do not come again if they run. One event, so that a log that ends in the middle of a
// write knows the old crontab or the new one.
struct CrontabSet {
  UserId uid;
  Crontab crontab;
  Time at;
  UserId by{};
  std::vector<JobSubmitted> submitted{};
  static constexpr EventTag event{880, "CrontabSet"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "crontab", field::with_key(self.uid, self.crontab));
    visit(3, "by", self.by);
    visit(4, "submitted", self.submitted);
    visit(2, "at", self.at);
  }
};

// Of a new trigger, or of one that is known with another list of what is due.
struct TriggerSet {
  Trigger trigger;
  Time at;
  static constexpr EventTag event{881, "TriggerSet"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "trigger", self.trigger);
    visit(2, "at", self.at);
  }
};

// Somebody took it back, or what it waited for has happened.
struct TriggerRemoved {
  TriggerId id;
  Time at;
  static constexpr EventTag event{882, "TriggerRemoved"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "at", self.at);
  }
};

// Words about a job that is over, whether it is still known as a job or only to accounting. Only what is set changes.
struct RecordAnnotated {
  JobKey key;
  std::optional<std::string> comment, admin_comment, system_comment, extra, wckey, derived_exit;
  Time at;
  static constexpr EventTag event{992, "RecordAnnotated"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(3, "comment", self.comment);
    visit(4, "admin_comment", self.admin_comment);
    visit(5, "system_comment", self.system_comment);
    visit(6, "extra", self.extra);
    visit(7, "wckey", self.wckey);
    visit(8, "derived_exit", self.derived_exit);
    visit(2, "at", self.at);
  }
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
  std::vector<ReservationId> reservations{};
  std::vector<QosId> qos{};
  std::vector<NodeIndex> nodes;          // they stay; what was ordered of them (power, return to service) is dropped
  std::vector<std::string> laws;         // that were broken, in words
  std::vector<std::uint64_t> skipped{};  // indexes of events before this that cannot have happened and are passed over
  Time at;
  static constexpr EventTag event{1200, "RecordsPutAside"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "crontabs", self.crontabs);
    visit(3, "triggers", self.triggers);
    visit(4, "kept_runs", self.kept_runs);
    visit(5, "associations", self.associations);
    visit(6, "run_histories", self.run_histories);
    visit(7, "nodes", self.nodes);
    visit(8, "laws", self.laws);
    visit(9, "at", self.at);
    visit(1320, "reservations", self.reservations);
    visit(1321, "qos", self.qos);
    visit(1322, "skipped", self.skipped);
  }
};

}  // namespace millrace
