// src/controller/requests/privacy.h - PrivateData: what one user does not see of others. Administrators see all.
#pragma once

#include <string>
#include <vector>

#include "client.pb.h"
#include "core/ledger/state.h"
#include "ports/identity.h"

namespace millrace {

class Privacy {
 public:
  Privacy(const Policy& policy, UserId asker, bool is_admin)
      : hidden_(is_admin ? 0 : policy.private_data), asker_(asker) {}

  // A question whose answer is for this user's eyes only is not that of another who asks the same.
  std::string own_question(const std::string& question) const {
    return hidden_ == 0 ? question : question + '/' + std::to_string(asker_.value);
  }
  bool hides(PrivateData what) const { return (hidden_ & what) != 0; }
  bool sees(const Job& job) const { return !hides(private_jobs) || job.spec->owner->uid == asker_; }
  // Those the user may use.
  bool sees(const Reservation& reservation, const UserIdentity& user, const State& state) const;
  bool sees(const PartitionDef& partition, const UserIdentity& user) const;

  // A question about jobs or steps becomes one about the asker's own; about another user's it finds none.
  template <class Query>
  void narrow(Query& ask) const {
    if (!hides(private_jobs)) return;
    ask.set_uid(ask.has_uid() && ask.uid() != asker_.value ? nobody : asker_.value);
  }
  // Accounts, users and their usage, as the user may see them.
  void narrow(wire::Accounts& accounts, const std::string& user) const;

 private:
  static constexpr std::uint32_t nobody = 0xffffffff;

  std::uint32_t hidden_;
  UserId asker_;
};

// Partitions that are hidden, or closed to the user's groups: they and their jobs are left out, unless somebody asks
// for all.
class HiddenPartitions {
 public:
  HiddenPartitions() = default;
  HiddenPartitions(const State& state, const UserIdentity& user);
  static bool there_may_be(const State& state);  // whether one has to know who asks

  bool any() const { return !hidden_.empty(); }
  bool hides(PartitionIndex index) const { return index.value < hidden_.size() && hidden_[index.value]; }
  bool hides(const Job& job) const;  // it is, or may run, in none that is shown

 private:
  std::vector<bool> hidden_;  // by index; empty: none
};

}  // namespace millrace
