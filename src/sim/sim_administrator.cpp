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

std::optional<wire::Request> SimAdministrator::next_wish(Prng& random, std::uint64_t number, std::uint32_t nodes, Time now) {
  std::erase_if(reservations_, [now](const auto& entry) { return entry.second.end <= now; });
  wire::Request request;
  std::string about;
  if (random.chance(1, 2)) {
    request = reserve(random, nodes, now);
    about = request.reserve().name();
  } else if (random.chance(1, 2) && !reservations_.empty()) {
    const auto chosen = std::next(reservations_.begin(), static_cast<std::ptrdiff_t>(random.below(reservations_.size())));
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
    if (!add) set(*change.add_set(), "maxjobs", std::to_string(random.between(3, 5)));  // with fewer a job of three components could never start
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
  if (answer.has_reserved()) {
    if (!find_reservation(durable, about)) return "reservation " + about + " was acknowledged before it was durable";
    if (const auto kept = reservations_.find(about); kept != reservations_.end()) kept->second.sure = !kept->second.leaving;
  } else if (answer.has_done()) {
    if (find_reservation(durable, about)) return "reservation " + about + " is still there after its removal was acknowledged";
    reservations_.erase(about);
  }
  return std::nullopt;
}

void SimAdministrator::answers_are_lost() { asked_.clear(); }

std::optional<std::string> SimAdministrator::missing_in(const State& durable, Time now) const {
  for (const auto& [name, kept] : reservations_) {
    if (!kept.sure || kept.end <= now) continue;
    const Reservation* reservation = find_reservation(durable, name);
    if (!reservation) return "acknowledged reservation " + name + " is gone";
    if (reservation->nodes != std::vector<std::uint32_t>{kept.node}) return "acknowledged reservation " + name + " has other nodes";
  }
  return std::nullopt;
}

}  // namespace millrace
