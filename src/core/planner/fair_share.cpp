// src/core/planner/fair_share.cpp - see fair_share.h.
#include "core/planner/fair_share.h"

#include <algorithm>

#include "core/ledger/apply_account.h"

namespace millrace {
namespace {

constexpr Fixed one = Fixed::from_integer(1);

Fixed part(Fixed of, Fixed whole) { return whole.raw > 0 ? divide(of, whole) : Fixed{}; }

// An account with Fairshare=parent is no level of its own: its children stand among its brothers and sisters.
void add_children(const State& state, const std::vector<std::vector<AssociationId>>& below, AssociationId parent,
                  std::vector<AssociationId>& out) {
  for (const AssociationId id : below[parent.value]) {
    const Association& each = *state.find_association(id);
    if (each.user.empty() && each.shares == shares_of_parent)
      add_children(state, below, id, out);
    else
      out.push_back(id);
  }
}

}  // namespace

FairShare::FairShare(const State& state, Time at) : state_(state), rows_(state.next_association.value) {
  Children below(rows_.size()), children(rows_.size());
  AssociationId root{};
  for (const auto& [id, association] : state.associations) {
    ShareRow& here = rows_[id.value];
    here.known = true;
    const UseKey key{UseOf::association, id.value, 0};
    if (const auto* use = state.uses.find(key)) here.raw_usage = usage_of_period(**use, fade_of(state, key), at);
    if (!association->user.empty()) ++users_;
    if (association->parent.value == 0) {
      if (root.value == 0) root = id;
    } else {
      below[association->parent.value].push_back(id);
    }
  }
  if (root.value == 0) return;
  for (const auto& [id, association] : state.associations)
    if (association->user.empty()) add_children(state, below, id, children[id.value]);
  ShareRow& top = row(root);
  top.norm_shares = top.norm_usage = top.level_usage = one;
  top.level_fs = one;
  level(children, root, root);
  if ((state.policy->priority.flags & priority_no_fair_tree) != 0) {
    classic(children, root);
  } else {
    rank_ = next_rank_ = users_;
    rank(children, children[root.value], false);
    top.norm_shares = {};  // the root has no brothers and sisters to share with; Slurm shows 0
  }
}

// Shares and usage of each relative to its level, then the levels below.
void FairShare::level(const Children& children, AssociationId parent, AssociationId root) {
  std::int64_t shares = 0;
  Fixed usage;
  for (const AssociationId id : children[parent.value]) {
    const std::uint32_t own = state_.find_association(id)->shares;
    if (own != shares_of_parent) shares += own;
    usage += row(id).raw_usage;
  }
  for (const AssociationId id : children[parent.value]) {
    const std::uint32_t own = state_.find_association(id)->shares;
    ShareRow& here = row(id);
    here.norm_usage = part(here.raw_usage, row(root).raw_usage);
    if (own == shares_of_parent) {
      here.norm_shares = row(parent).norm_shares;
      here.level_usage = row(parent).level_usage;
      here.level_fs = row(parent).level_fs;
    } else {
      here.norm_shares = shares > 0 ? Fixed::from_ratio(own, shares) : Fixed{};
      here.level_usage = part(here.raw_usage, usage);
      here.level_fs = here.norm_shares.raw == 0   ? Fixed{}
                      : here.level_usage.raw == 0 ? Fixed::highest()
                                                  : divide(here.norm_shares, here.level_usage);
    }
    level(children, id, root);
  }
}

// 2^(-usage/shares/damping), where usage is one's own and a part of what the brothers and sisters used.
void FairShare::classic(const Children& children, AssociationId parent) {
  const ShareRow above = row(parent);
  const bool below_root = state_.find_association(parent)->parent.value == 0;
  for (const AssociationId id : children[parent.value]) {
    ShareRow& here = row(id);
    const Fixed of_level = here.norm_shares;
    if (state_.find_association(id)->shares == shares_of_parent) {
      here.norm_shares = above.norm_shares;
      here.level_usage = above.level_usage;
    } else {
      here.norm_shares = multiply(of_level, above.norm_shares);
      here.level_usage =
          below_root ? here.norm_usage : here.norm_usage + multiply(above.level_usage - here.norm_usage, of_level);
    }
    const std::int64_t damping = std::max<std::int64_t>(state_.policy->priority.damping, 1);
    if (here.norm_shares.raw > 0) here.factor = exp2(-Fixed{divide(here.level_usage, here.norm_shares).raw / damping});
    classic(children, id);
  }
}

// Fair tree: the level with the better ratio goes first, with everyone below it. Equals share a rank. Accounts that are
// equal put their children into one pool; an account equal to a user before it, or whose own account is, hands the tie
// on to the best of its children.
void FairShare::rank(const Children& children, std::vector<AssociationId> siblings, bool tied) {
  const auto is_user = [&](AssociationId id) { return !state_.find_association(id)->user.empty(); };
  std::ranges::sort(siblings, [&](AssociationId a, AssociationId b) {
    if (row(a).level_fs != row(b).level_fs) return row(a).level_fs > row(b).level_fs;
    if (is_user(a) != is_user(b)) return is_user(a);
    return a < b;
  });
  for (std::size_t first = 0; first < siblings.size(); tied = false) {
    std::vector<AssociationId> pool;
    std::size_t last = first;
    for (; last < siblings.size() && row(siblings[last]).level_fs == row(siblings[first]).level_fs; ++last) {
      const AssociationId id = siblings[last];
      if (is_user(id)) {
        if (!tied) rank_ = next_rank_;
        row(id).factor = Fixed::from_ratio(rank_, users_);
        --next_rank_;
        tied = true;
      } else {
        pool.insert(pool.end(), children[id.value].begin(), children[id.value].end());
      }
    }
    if (!pool.empty()) rank(children, std::move(pool), tied);
    first = last;
  }
}

}  // namespace millrace
