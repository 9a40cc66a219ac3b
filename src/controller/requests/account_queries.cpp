// src/controller/requests/account_queries.cpp - what sacctmgr, sshare and sprio show: associations with their shares
// and usage, priorities of waiting jobs.
#include "controller/requests/queries.h"
#include "core/admission/change_account.h"
#include "core/admission/job_selection.h"
#include "core/ledger/apply.h"
#include "core/ledger/apply_account.h"
#include "wire/record_message.h"

namespace millrace {
namespace {

constexpr int rows_per_reply = 4000;

std::int64_t in_billionths(Fixed x) {
  if (x == Fixed::highest()) return -1;
  return to_integer(multiply(x, Fixed::from_integer(1'000'000'000)) + Fixed{Fixed::from_integer(1).raw / 2});
}

void show_amount(const TresNames& names, std::size_t slot, std::int64_t amount, auto* list) {
  if (amount == 0) return;
  auto* added = list->Add();
  added->set_name(names[slot]);
  added->set_amount(amount);
}

void show_association(const ReadView& view, const FairShare& shares, const Association& association,
                      wire::AssociationView& out) {
  const State& state = view.state;
  put(association, *out.mutable_association());
  const ShareRow& row = shares.of(association.id);
  out.set_norm_shares(in_billionths(row.norm_shares));
  out.set_raw_usage(to_integer(row.raw_usage));
  out.set_norm_usage(in_billionths(row.norm_usage));
  out.set_level_usage(in_billionths(row.level_usage));
  out.set_level_fs(in_billionths(row.level_fs));
  out.set_factor(in_billionths(row.factor));
  const UseKey key{UseOf::association, association.id.value, 0};
  const auto* found = state.uses.find(key);
  if (!found) return;
  const Use& use = **found;
  const TresNames& names = *state.tres_names;
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    show_amount(names, slot, run_seconds_left(use, slot, view.now) / 60, out.mutable_run_minutes());
    show_amount(names, slot, to_integer(usage_at(use, slot, fade_of(state, key), view.now)) / 60,
                out.mutable_used_minutes());
    show_amount(names, slot, use.tres[slot], out.mutable_in_use());
  }
  out.set_running(use.running);
  out.set_submitted(use.submitted);
}

void put_factor(const PriorityFactors::Factor& from, wire::PriorityView::Factor& to) {
  to.set_part(in_billionths(from.part));
  to.set_points(to_integer(from.points + Fixed{Fixed::from_integer(1).raw / 2}));
}

void show_priority(const State& state, const Priorities& priorities, const Job& job, PartitionIndex partition,
                   wire::PriorityView& out) {
  const PriorityFactors factors = priorities.factors(job, partition);
  const ArrayState* array = state.find_array(job.array);
  out.set_job_id(array ? array->id.value : job.id.value);
  out.set_shown_id(shown_name(state, job));
  out.set_uid(job.spec->owner->uid.value);
  out.set_user_name(job.spec->owner->user_name);
  out.set_account(job.spec->account);
  out.set_partition(state.partition(partition).def.name);
  if (const Qos* qos = state.find_qos(job.qos)) out.set_qos(qos->name);
  out.set_priority(factors.priority);
  out.set_nice(factors.nice);
  out.set_site(factors.site);
  out.set_job_key_low(static_cast<std::uint32_t>(job.key.value));
  put_factor(factors.age, *out.mutable_age());
  put_factor(factors.assoc, *out.mutable_assoc());
  put_factor(factors.fairshare, *out.mutable_fairshare());
  put_factor(factors.job_size, *out.mutable_job_size());
  put_factor(factors.partition, *out.mutable_partition_factor());
  put_factor(factors.qos, *out.mutable_qos_factor());
  for (const PriorityFactors::TresPoints& each : factors.tres) {
    auto* added = out.add_tres();
    put_factor({each.part, each.points}, *added);
    added->set_name(each.name);
  }
}

// As in Slurm: what is held, or whose time has not come, has no priority to tell of.
bool competes(const State& state, const Job& job) {
  if (job.state != JobState::pending) return false;
  const Job& leader = state.job(leader_of(job));
  return leader.hold == Hold::none && leader.eligible_at.is_set();
}

// One row for each partition it may start in.
void show_priorities(const State& state, const Priorities& priorities, const Job& job, wire::Priorities& out) {
  show_priority(state, priorities, job, job.spec->partition, *out.add_jobs());
  for (const std::uint32_t more : job.spec->resource_request().more_partitions)
    show_priority(state, priorities, job, PartitionIndex{more}, *out.add_jobs());
}

struct PriorityWalk final : RowWalk {
  PriorityWalk(ReadView v, wire::Reply h, Privacy p) : view(std::move(v)), head(std::move(h)), privacy(p) {}
  ReadView view;
  wire::Reply head;
  JobKey from;
  Privacy privacy;
  std::optional<Priorities> priorities;

  bool advance(std::string& encoded) override {
    if (!priorities) priorities.emplace(view.state, view.now);
    wire::Reply reply = head;
    auto it = view.state.jobs.lower_bound(from);
    for (; it != view.state.jobs.end() && reply.priorities().jobs_size() < rows_per_reply; ++it)
      if (competes(view.state, *(*it).second) && privacy.sees(*(*it).second))
        show_priorities(view.state, *priorities, *(*it).second, *reply.mutable_priorities());
    const bool more = it != view.state.jobs.end();
    if (more) from = (*it).first;
    reply.set_more(more);
    encoded = reply.SerializeAsString();
    head.mutable_priorities()->clear_policy();
    return more;
  }
};

}  // namespace

void AccountQueries::accounts() {
  ReadView view = c_.read_view();
  for (const Event& event : decide_plant(view.state, view.now)) apply(view.state, event);
  const State& state = view.state;
  wire::Reply out = reply();
  wire::Accounts& accounts = *out.mutable_accounts();
  const FairShare shares(state, period_start(view.now, state.policy->priority.calc_period_seconds));
  for (const auto& [id, association] : state.associations)
    show_association(view, shares, *association, *accounts.add_associations());
  for (const auto& [id, qos] : state.qos) put(*qos, *accounts.add_qos());
  for (const std::string& name : *state.tres_names) accounts.add_tres_names(name);
  accounts.set_cluster(c_.settings.cluster.cluster_name);
  for (const AccountUser& user : *state.account_users) put(user, *accounts.add_users());
  accounts.set_track_wckeys(state.policy->track_wckeys);
  const Privacy privacy = this->privacy();
  const bool narrowed = privacy.hides(private_accounts) || privacy.hides(private_users) || privacy.hides(private_usage);
  as_user(narrowed, [privacy, out = std::move(out)](Services& c, const Asker& asker, const UserIdentity& user) mutable {
    privacy.narrow(*out.mutable_accounts(), user.user_name);
    c.clients.reply(asker.client, out);
  });
}

// Who changed what is for administrators, and for everybody where accounts are not private.
void AccountQueries::transactions() {
  const Privacy privacy = this->privacy();
  if (privacy.hides(private_accounts) || privacy.hides(private_users)) return refuse_with(RefusalCode::access_denied);
  wire::Reply out = reply();
  out.mutable_transactions()->set_cluster(c_.settings.cluster.cluster_name);
  for (const auto& [id, transaction] : c_.commit.durable().transactions)
    put(*transaction, *out.mutable_transactions()->add_transactions());
  c_.clients.reply(asker_.client, out);
}

void AccountQueries::priorities() {
  ask_long([&c = c_, privacy = privacy()] {
    ReadView view = c.read_view();
    wire::Reply head;
    wire::Priorities& shown = *head.mutable_priorities();
    put(view.state.policy->priority, *shown.mutable_policy());
    shown.set_basic(view.state.policy->basic_priority);
    shown.set_cluster(c.settings.cluster.cluster_name);
    return std::make_unique<PriorityWalk>(std::move(view), std::move(head), privacy);
  });
}

}  // namespace millrace
