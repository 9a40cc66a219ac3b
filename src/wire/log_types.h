// src/wire/log_types.h - the parts that events and snapshots share, between core's types and the log's.
#pragma once

#include "base/result.h"
#include "core/ledger/state.h"
#include "events.pb.h"

namespace millrace {

void put(const NodeDef& from, log::NodeDef& to);
NodeDef get(const log::NodeDef& from);
void put(const PartitionDef& from, log::PartitionDef& to);
PartitionDef get(const log::PartitionDef& from);
void put(const Policy& from, log::Policy& to);
Policy get(const log::Policy& from);
void put(const Owner& from, log::Owner& to);
Owner get(const log::Owner& from);
void put(const JobSpec& from, log::JobSpec& to);  // without the owner
JobSpec get(const log::JobSpec& from);
void put(const JobExtras& from, log::JobExtras& to);
JobExtras get(const log::JobExtras& from);
void put(const Dependencies& from, log::Dependencies& to);
Dependencies get(const log::Dependencies& from);
void put(const ArraySpec& from, log::ArraySpec& to);
ArraySpec get(const log::ArraySpec& from);
void put(const Inventory& from, log::Inventory& to);
Inventory get(const log::Inventory& from);
void put(const DeviceTrouble& from, log::DeviceTrouble& to);
DeviceTrouble get(const log::DeviceTrouble& from);
void put(const NodeGres& from, log::NodeGres& to);
NodeGres get(const log::NodeGres& from);
void put(const ResourceRequest& from, log::ResourceRequest& to);
ResourceRequest get(const log::ResourceRequest& from);
void put(const Reservation& from, log::Reservation& to);
Reservation get(const log::Reservation& from);
void put(const Topology& from, log::Topology& to);
Topology get(const log::Topology& from);
void put(const WaitHistory& from, log::WaitHistory& to);
WaitHistory get(const log::WaitHistory& from);
void put(const NodeShare& from, log::NodeShare& to);
NodeShare get(const log::NodeShare& from);

template <class Licences>
void put_licences(const std::vector<LicenceAsk>& from, Licences* to) {
  for (const LicenceAsk& each : from) {
    auto* added = to->Add();
    added->set_name(each.name);
    added->set_count(each.count);
  }
}
template <class Licences>
std::vector<LicenceAsk> get_licences(const Licences& from) {
  std::vector<LicenceAsk> out;
  for (const auto& each : from) out.push_back({each.name(), each.count()});
  return out;
}
void put(const StepUsage& from, log::StepUsage& to);
StepUsage get(const log::StepUsage& from);
void put(const StepStart& from, log::StepStart& to);
StepStart get(const log::StepStart& from);
void put(const StepEnd& from, log::StepEnd& to);
StepEnd get(const log::StepEnd& from);
// Steps of a snapshot.
void append_steps(const State& state, std::string& bytes);  // in pieces, like the jobs
Result<void> get_steps(const log::State& from, State& state);
void put(const PriorityPolicy& from, log::PriorityPolicy& to);
PriorityPolicy get(const log::PriorityPolicy& from);
void put(const Association& from, log::Association& to);
Association get(const log::Association& from);
void put(const AccountUser& from, log::AccountUser& to);
AccountUser get(const log::AccountUser& from);
void put(const Transaction& from, log::Transaction& to);
Transaction get(const log::Transaction& from);
void put(const Trigger& from, log::Trigger& to);
Trigger get(const log::Trigger& from);
void put(UserId uid, const Crontab& from, log::Crontab& to);
Crontab get(const log::Crontab& from);
void put(const Qos& from, log::Qos& to);
Qos get(const log::Qos& from);
void put_weights(const std::vector<TresWeight>& from, google::protobuf::RepeatedPtrField<log::TresWeight>* to);
std::vector<TresWeight> get_weights(const google::protobuf::RepeatedPtrField<log::TresWeight>& from);
// Accounts, QOS and usage of a snapshot.
void put_accounts(const State& state, log::State& to);
void get_accounts(const log::State& from, State& state);

template <class Ranges>
void put_ranges(const IndexSet& from, Ranges* to) {
  for (const auto& range : from.ranges()) {
    auto* added = to->Add();
    added->set_first(range.first);
    added->set_last(range.last);
  }
}
template <class Ranges>
IndexSet get_ranges(const Ranges& from) {
  IndexSet out;
  for (const auto& range : from)
    if (range.first() <= range.last()) out.insert(range.first(), range.last());
  return out;
}

}  // namespace millrace
