// src/core/planner/priority.cpp - see priority.h.
#include "core/planner/priority.h"

#include <algorithm>

#include "core/ledger/job_size.h"

namespace millrace {
namespace {

constexpr Fixed one = Fixed::from_integer(1);

Fixed at_most_one(Fixed x) { return x > one ? one : x; }

Fixed weighted(Fixed part, std::uint32_t weight) { return multiply(part, Fixed::from_integer(weight)); }

// Parts of the highest, or the numbers themselves.
void normalise(std::vector<Fixed>& parts, bool keep) {
  if (keep) return;
  const Fixed most = parts.empty() ? Fixed{} : std::ranges::max(parts);
  for (Fixed& part : parts) part = most.raw > 0 ? divide(part, most) : Fixed{};
}

}  // namespace

Priorities::Priorities(const State& state, Time now)
    : state_(state),
      policy_(state.policy->priority),
      at_(period_start(now, policy_.calc_period_seconds)),
      shares_(!state.policy->basic_priority && policy_.fairshare > 0 ? FairShare(state, at_) : FairShare(state)) {
  if (state.policy->basic_priority) return;
  for (const auto& [index, node] : state.nodes) {
    if (!node->configured) continue;
    ++nodes_;
    cpus_ += node->def->cpus.value;
  }
  for (const Partition& partition : *state.partitions)
    partition_parts_.push_back(Fixed::from_integer(partition.configured ? partition.def.priority_job_factor : 0));
  qos_parts_.resize(state.next_qos.value);
  for (const auto& [id, qos] : state.qos) qos_parts_[id.value] = Fixed::from_integer(qos->priority);
  assoc_parts_.resize(state.next_association.value);
  for (const auto& [id, association] : state.associations)
    assoc_parts_[id.value] = Fixed::from_integer(association->priority);
  normalise(partition_parts_, (policy_.flags & priority_no_normal_part) != 0);
  normalise(qos_parts_, (policy_.flags & priority_no_normal_qos) != 0);
  normalise(assoc_parts_, (policy_.flags & priority_no_normal_assoc) != 0);
  fixed_points_.resize(state.next_association.value);
  for (std::uint32_t i = 0; i < fixed_points_.size(); ++i)
    fixed_points_[i] =
        weighted(shares_.of(AssociationId{i}).factor, policy_.fairshare) + weighted(assoc_parts_[i], policy_.assoc);
  if (policy_.tres.empty()) return;
  for (const Partition& partition : *state.partitions) {
    Tres all;
    for (const NodeIndex index : partition.nodes) {
      const NodeDef& def = *state.node(index).def;
      all[tres_cpu] += def.cpus.value;
      all[tres_memory] += def.memory.value;
      ++all[tres_node];
      for (const NodeGres& kind : def.kinds) {
        if (const auto slot = tres_slot(*state.tres_names, "gres/" + kind.name)) all[*slot] += kind.count;
        if (const auto slot = tres_slot(*state.tres_names, "gres/" + kind.name + ":" + kind.type))
          all[*slot] += kind.count;
      }
    }
    all[tres_billing] = billing_of(state, partition.def, all);
    partition_tres_.push_back(all);
  }
}

Fixed Priorities::age_part(const Job& job) const {
  Time since = (policy_.flags & priority_accrue_always) != 0 ? job.submitted_at : job.eligible_at;
  if (since.is_set()) since = std::max(since, job.spec->extra_request().accrue_from);
  if (!since.is_set() || at_ <= since || policy_.max_age_seconds == 0) return {};
  const std::int64_t most = static_cast<std::int64_t>(policy_.max_age_seconds) * 1'000'000;
  return Fixed::from_ratio(std::min((at_ - since).value, most), most);
}

Fixed Priorities::size_part(const Job& job) const {
  if (nodes_ == 0 || cpus_ == 0) return {};
  const JobSpec& spec = *job.spec;
  const std::int64_t cpus =
      static_cast<std::int64_t>(spec.overcommits() ? spec.min_nodes : spec.tasks) * spec.cpus_per_task;
  if ((policy_.flags & priority_small_relative_to_time) != 0) {
    const std::int64_t minutes =
        job.time_limit_minutes == unlimited ? 365 * 24 * 60 : std::max(job.time_limit_minutes, 1u);
    const Fixed part = at_most_one(Fixed{Fixed::from_ratio(cpus, cpus_).raw / minutes});
    return policy_.favor_small ? one - part : part;
  }
  const Fixed sum =
      at_most_one(Fixed::from_ratio(spec.min_nodes, nodes_)) + at_most_one(Fixed::from_ratio(cpus, cpus_));
  const Fixed part{sum.raw / 2};
  return policy_.favor_small ? one - part : part;
}

Fixed Priorities::tres_points(const Job& job, PartitionIndex partition,
                              std::vector<PriorityFactors::TresPoints>* each) const {
  Fixed sum;
  if (policy_.tres.empty()) return sum;
  const JobSize size = requested_size(state_, job);
  const Tres& all = partition_tres_[partition.value];
  for (const TresWeight& weight : policy_.tres) {
    const auto slot = tres_slot(*state_.tres_names, weight.name);
    if (!slot) continue;
    Fixed part = Fixed::from_integer(size.tres[*slot]);
    if ((policy_.flags & priority_no_normal_tres) == 0)
      part = all[*slot] > 0 ? at_most_one(Fixed::from_ratio(size.tres[*slot], all[*slot])) : Fixed{};
    const Fixed points = multiply(part, Fixed::from_ratio(weight.billionths, 1'000'000'000 * weight.per));
    sum += points;
    if (each) each->push_back({weight.name, part, points});
  }
  return sum;
}

std::uint32_t Priorities::total(Fixed points, const Job& job) const {
  // Parts are cut at their last bit; a hair more, so that nine tenths of 1000 are 900.
  const std::int64_t sum = to_integer(points + Fixed{Fixed::from_integer(1).raw >> 20}) +
                           job.spec->extra_request().site_factor - job.spec->nice;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(sum, 1, unlimited - 1));
}

std::uint32_t Priorities::of(const Job& job, PartitionIndex partition) const {
  if (job.hold != Hold::none || state_.policy->basic_priority || job.priority_fixed) return job.priority;
  Fixed points = tres_points(job, partition, nullptr);
  if (policy_.age > 0) points += weighted(age_part(job), policy_.age);
  if (policy_.job_size > 0) points += weighted(size_part(job), policy_.job_size);
  if (policy_.partition > 0) points += weighted(partition_parts_[partition.value], policy_.partition);
  if (policy_.qos > 0 && job.qos.value < qos_parts_.size()) points += weighted(qos_parts_[job.qos.value], policy_.qos);
  if (job.association.value < fixed_points_.size()) points += fixed_points_[job.association.value];
  return total(points, job);
}

PriorityFactors Priorities::factors(const Job& job, PartitionIndex partition) const {
  PriorityFactors out;
  out.nice = job.spec->nice;
  out.site = job.spec->extra_request().site_factor;
  out.priority = of(job, partition);
  if (state_.policy->basic_priority) return out;
  const auto set = [](PriorityFactors::Factor& factor, Fixed part, std::uint32_t weight) {
    factor = {part, weighted(part, weight)};
  };
  set(out.age, age_part(job), policy_.age);
  set(out.job_size, size_part(job), policy_.job_size);
  set(out.partition, partition_parts_[partition.value], policy_.partition);
  if (job.qos.value < qos_parts_.size()) set(out.qos, qos_parts_[job.qos.value], policy_.qos);
  set(out.fairshare, shares_.of(job.association).factor, policy_.fairshare);
  if (job.association.value < assoc_parts_.size()) set(out.assoc, assoc_parts_[job.association.value], policy_.assoc);
  tres_points(job, partition, &out.tres);
  return out;
}

}  // namespace millrace
