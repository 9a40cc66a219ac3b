// src/core/planner/fair_share.h - who has had less than his share: fair tree, or the classic formula, over all
// associations.
#pragma once

#include <vector>

#include "base/fixed_point.h"
#include "core/ledger/state.h"

namespace millrace {

// One association as sshare shows it. All but raw_usage are parts of one.
struct ShareRow {
  bool known = false;
  Fixed norm_shares;  // of its siblings' shares; with the classic formula of the whole tree's
  Fixed raw_usage;    // billing-seconds, faded
  Fixed norm_usage;   // of all usage
  Fixed level_usage;  // fair tree: of the account's usage; classic: what it counts with, brothers and sisters included
  Fixed level_fs;     // shares over usage on its level; highest(): nothing used yet
  Fixed factor;       // 0 to 1; users only in a fair tree
};

class FairShare {
 public:
  FairShare(const State& state, Time at);
  // Nobody has a share: where it has no weight.
  explicit FairShare(const State& state) : state_(state) {}
  const ShareRow& of(AssociationId id) const { return id.value < rows_.size() ? rows_[id.value] : none_; }

 private:
  using Children = std::vector<std::vector<AssociationId>>;
  ShareRow& row(AssociationId id) { return rows_[id.value]; }
  void level(const Children& children, AssociationId parent, AssociationId root);
  void classic(const Children& children, AssociationId parent);
  void rank(const Children& children, std::vector<AssociationId> siblings, bool tied);

  const State& state_;
  std::vector<ShareRow> rows_;  // by AssociationId
  ShareRow none_;
  // Ranks fall from the number of users; the next one counts all who are before it, tied or not.
  std::int64_t users_ = 0, rank_ = 0, next_rank_ = 0;
};

}  // namespace millrace
