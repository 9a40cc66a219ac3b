// src/sim/sim_administrator.cpp - see sim_administrator.h.
#include "sim/sim_administrator.h"

#include "core/model/account_change.h"
#include "wire/frame.h"

namespace millrace {
namespace {

void set(wire::AccountSetting& setting, const std::string& key, const std::string& value) {
  setting.set_key(key);
  setting.set_op("=");
  setting.set_value(value);
}

const Reservation* find_reservation(const State& state, const std::string& name) {
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->name == name) return reservation.get();
  return nullptr;
}

}  // namespace

wire::Request SimAdministrator::reserve(Prng& random, std::uint32_t nodes, Time now) {
  wire::Request request;
  wire::Reserve& ask = *request.mutable_reserve();
  const std::string name = "r" + std::to_string(++names_);
  const Time start = now + seconds(random.between(0, 10));
  const Duration length = seconds(random.between(1, 25));
  const auto node = static_cast<std::uint32_t>(random.below(nodes));
  ask.set_name(name);
  ask.set_start_us(start.value);
  ask.set_duration_us(length.value);
  ask.set_nodes("n" + std::to_string(node));
  ask.set_users(random.chance(1, 3) ? "user" : "root");
  ask.set_flags(random.chance(1, 2) ? "IGNORE_JOBS,OVERLAP" : "MAINT,IGNORE_JOBS,OVERLAP");
  reservations_[name] = {start + length, node, false, false};
  return request;
}

// Partitions of its own that are made, changed and deleted; and the tier of one that jobs are in.
wire::Request SimAdministrator::change_partition(Prng& random, std::string& about) {
  wire::Request request;
  const std::uint32_t tier = static_cast<std::uint32_t>(random.between(2, 20));
  const std::string setting = "PriorityTier=" + std::to_string(tier);
  if (partitions_.size() < 2 || random.chance(1, 4)) {
    about = "p" + std::to_string(++names_);
    wire::UpdatePartition& ask = *request.mutable_update_partition();
    ask.set_name(about);
    ask.set_create(true);
    ask.add_settings("Nodes=n0");
    ask.add_settings(setting);
    partitions_[about].under_way = 1;
    return request;
  }
  if (random.chance(1, 6)) {  // of nobody's making, and nothing is remembered of it
    request.mutable_update_partition()->set_name("urgent");
    request.mutable_update_partition()->add_settings(setting);
    return request;
  }
  const auto chosen = std::next(partitions_.begin(), static_cast<std::ptrdiff_t>(random.below(partitions_.size())));
  chosen->second.sure = false;
  ++chosen->second.under_way;
  about = chosen->first;
  if (chosen->second.leaving || random.chance(1, 2)) {
    chosen->second.leaving = true;
    request.mutable_delete_partition()->set_name(about);
    about = "-" + about;
  } else {
    request.mutable_update_partition()->set_name(about);
    request.mutable_update_partition()->add_settings(setting);
  }
  return request;
}

std::optional<std::string> SimAdministrator::hear_partition(const std::string& about, const wire::Reply& answer,
                                                            const State& durable) {
  const bool deletion = about.starts_with('-');
  const std::string name = about.substr(deletion ? 1 : 0);
  const auto kept = partitions_.find(name);
  if (kept == partitions_.end()) return std::nullopt;
  const auto index = durable.find_partition(name);
  if (kept->second.under_way > 0) --kept->second.under_way;
  if (deletion || answer.has_failure()) {  // refused: it went, or was made, in a request whose answer was lost
    if (deletion) partitions_.erase(kept);
    return deletion && answer.has_done() && index
               ? std::optional{"partition " + name + " is still there after its deletion was acknowledged"}
               : std::nullopt;
  }
  if (kept->second.leaving) return std::nullopt;
  if (!index) return "partition " + name + " was acknowledged before it was durable";
  kept->second.tier = durable.partition(*index).def.priority_tier;
  kept->second.sure = kept->second.under_way == 0;
  return std::nullopt;
}

std::optional<wire::Request> SimAdministrator::next_wish(Prng& random, std::uint64_t number, std::uint32_t nodes,
                                                         Time now) {
  std::erase_if(reservations_, [now](const auto& entry) { return entry.second.end <= now; });
  wire::Request request;
  std::string about;
  if (random.chance(1, 4)) {
    request = change_partition(random, about);
  } else if (random.chance(1, 2)) {
    request = reserve(random, nodes, now);
    about = request.reserve().name();
  } else if (random.chance(1, 2) && !reservations_.empty()) {
    const auto chosen =
        std::next(reservations_.begin(), static_cast<std::ptrdiff_t>(random.below(reservations_.size())));
    chosen->second.sure = false;
    chosen->second.leaving = true;
    about = chosen->first;
    request.mutable_remove_reservation()->set_name(about);
  } else {
    wire::ChangeAccounts& change = *request.mutable_change_accounts();
    const auto entity = has_account_ ? AccountEntity::user : AccountEntity::account;
    const bool add = !has_account_ || !has_user_;
    change.set_action(static_cast<std::uint32_t>(add ? AccountAction::add : AccountAction::modify));
    change.set_entity(static_cast<std::uint32_t>(entity));
    set(*change.add_where(), "name", has_account_ ? "user" : "physics");
    if (add && has_account_) set(*change.add_set(), "account", "physics");
    if (!add)
      set(*change.add_set(), "maxjobs",
          std::to_string(random.between(3, 5)));  // with fewer a job of three components could never start
  }
  request.set_protocol(protocol_version);
  request.set_number(number);
  asked_[number] = about;
  return request;
}

std::optional<std::string> SimAdministrator::hear(const wire::Reply& answer, const State& durable) {
  const auto found = asked_.find(answer.number());
  const std::string about = found->second;
  asked_.erase(found);
  for (const auto& [id, association] : durable.associations) {
    has_account_ |= association->account == "physics";
    has_user_ |= association->user == "user";
  }
  if (answer.has_accounts_changed() && !has_account_) return "an account was acknowledged before it was durable";
  if (about.empty()) return std::nullopt;
  if (about.starts_with('p') || about.starts_with('-')) return hear_partition(about, answer, durable);
  if (answer.has_reserved()) {
    if (!find_reservation(durable, about)) return "reservation " + about + " was acknowledged before it was durable";
    if (const auto kept = reservations_.find(about); kept != reservations_.end())
      kept->second.sure = !kept->second.leaving;
  } else if (answer.has_done()) {
    if (find_reservation(durable, about))
      return "reservation " + about + " is still there after its removal was acknowledged";
    reservations_.erase(about);
  }
  return std::nullopt;
}

void SimAdministrator::answers_are_lost() {
  asked_.clear();
  for (auto& [name, kept] : partitions_) kept.under_way = 0;
}

std::optional<std::string> SimAdministrator::missing_in(const State& durable, Time now) const {
  for (const auto& [name, kept] : reservations_) {
    if (!kept.sure || kept.end <= now) continue;
    const Reservation* reservation = find_reservation(durable, name);
    if (!reservation) return "acknowledged reservation " + name + " is gone";
    if (reservation->nodes != std::vector<std::uint32_t>{kept.node})
      return "acknowledged reservation " + name + " has other nodes";
  }
  for (const auto& [name, kept] : partitions_) {
    if (!kept.sure) continue;
    const auto index = durable.find_partition(name);
    if (!index) return "acknowledged partition " + name + " is gone";
    if (durable.partition(*index).def.priority_tier != kept.tier)
      return "acknowledged partition " + name + " has another tier";
  }
  return std::nullopt;
}

}  // namespace millrace
