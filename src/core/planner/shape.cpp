// src/core/planner/shape.cpp - see shape.h.
#include "core/planner/shape.h"

#include <algorithm>

#include "core/model/node_marks.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

// Fields one after the other: equal text, equal request.
class KeyText {
 public:
  KeyText& add(std::int64_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  KeyText& add(const std::string& value) {
    add(static_cast<std::int64_t>(value.size()));
    text_ += value;
    return *this;
  }
  template <class Number>
  KeyText& add_list(const std::vector<Number>& values) {
    add(static_cast<std::int64_t>(values.size()));
    for (const Number value : values) add(static_cast<std::int64_t>(value));
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_resources(KeyText& key, const ResourceRequest& ask) {
  key.add(static_cast<std::int64_t>(ask.gres.size()));
  for (const GresAsk& one : ask.gres)
    key.add(one.name).add(one.type).add(one.count).add(static_cast<std::int64_t>(one.scope));
  key.add(ask.cpus_per_gpu).add(ask.memory_per_gpu).add(ask.features).add(ask.prefer);
  key.add(static_cast<std::int64_t>(ask.licences.size()));
  for (const LicenceAsk& one : ask.licences) key.add(one.name).add(one.count);
  key.add(ask.any_licence)
      .add(ask.tasks_per_socket)
      .add(ask.tasks_per_core)
      .add(ask.tasks_per_gpu)
      .add(ask.sockets_per_node);
  key.add(ask.cores_per_socket).add(ask.threads_per_core).add(ask.tmp_disk).add(ask.distribution).add(ask.contiguous);
  key.add(ask.spread_job).add(ask.use_min_nodes).add(ask.exclusive_user).add(ask.switches).add(ask.reservation);
  if (!ask.node_counts.empty()) key.add("counts " + format_index_set(ask.node_counts));
  key.add(ask.segment).add(ask.spread_segments).add(ask.consolidate_segments);
}

std::string key_of(const JobSpec& spec, PartitionIndex partition) {
  KeyText key;
  key.add(partition.value)
      .add(spec.min_nodes)
      .add(spec.max_nodes)
      .add(spec.tasks)
      .add(spec.tasks_per_node)
      .add(spec.cpus_per_task);
  key.add(spec.min_cpus_per_node).add(spec.memory_per_node ? spec.memory_per_node->value : -1);
  key.add(spec.memory_per_cpu ? spec.memory_per_cpu->value : -1).add(spec.exclusive).add(spec.oversubscribe);
  key.add_list(spec.rare_request().required_nodes).add_list(spec.rare_request().excluded_nodes);
  if (spec.resources) add_resources(key, *spec.resources);
  if (!spec.resource_request().node_counts.empty()) key.add(spec.tasks_asked);
  if (spec.overcommits()) key.add(std::string{"overcommit"});
  if (const JobExtras& extras = spec.extra_request(); extras.core_spec)
    key.add((extras.threads_spec ? "threads " : "cores ") + std::to_string(*extras.core_spec));
  if (!spec.extra_request().batch_features.empty()) key.add("batch " + spec.extra_request().batch_features);
  // Who shares a node only with itself is a different request for each user.
  if (spec.resource_request().exclusive_user) key.add(spec.owner->uid.value);
  return key.take();
}

// The reservation whose nodes a job may have that names none; one that draws before one that only bears a delay.
const Reservation* lender(const State& state, const JobSpec& spec) {
  const Reservation* found = nullptr;
  for (const auto& [id, reservation] : state.reservations)
    if (lends_to(*reservation, spec) && (!found || lends_for(*reservation) > lends_for(*found)))
      found = reservation.get();
  return found;
}

// The nodes a constrained request may have, required ones first; the partition's order of filling otherwise.
void order_nodes(const State& state, Shape& shape) {
  const RareRequest& rare = shape.spec->rare_request();
  shape.required = rare.required_nodes.size();
  const std::string& name = shape.spec->resource_request().reservation;
  const Reservation* reservation = name.empty() ? lender(state, *shape.spec) : state.find_reservation(name);
  if (rare.required_nodes.empty() && rare.excluded_nodes.empty() && !reservation) return;
  const bool elsewhere = !reservation || name.empty() || reservation->has(reserve_flex) ||
                         reservation->has(reserve_any_nodes) || reservation->nodes.empty();
  if (reservation) shape.reservation = reservation->id;
  if (reservation && name.empty()) shape.opens_for = lends_for(*reservation);
  if (reservation && !name.empty() && !reservation->has(reserve_flex)) {
    shape.window_start = reservation->start;
    shape.window_end = reservation->end;
  }
  const NodeMarks required(rare.required_nodes), excluded(rare.excluded_nodes);
  shape.own_nodes = true;
  shape.nodes = rare.required_nodes;
  const auto reserved = [&](std::uint32_t index) {
    return reservation && std::ranges::binary_search(reservation->nodes, index);
  };
  const auto add = [&](bool of_reservation) {
    for (const NodeIndex index : state.partition(shape.partition).nodes)
      if (reserved(index.value) == of_reservation && !required.has(index.value) && !excluded.has(index.value))
        shape.nodes.push_back(index.value);
  };
  if (reservation) add(true);
  if (elsewhere) add(false);
}

Unit unit_of(NodeFilter& kind, const JobSpec& spec, const NodeDef& def, std::uint32_t most, std::uint32_t tasks,
             const FitRules& rules) {
  const Amounts all = all_of(def, most);
  const std::uint32_t capacity = kind.admits(def) ? task_capacity(spec, def, all, rules) : 0;
  if (capacity == 0) return {};
  Unit unit{true, !spec.resources && most == unlimited, amounts_for(spec, def, all, std::min(tasks, capacity), rules)};
  if (!rules.memory_counts) unit.least.memory = 0;
  // A kind that could come from several slots is not bound to the first of them.
  if (spec.resources) unit.least.gres = {};
  if (spec.exclusive) unit.least = {all.cpus, rules.memory_counts ? all.memory : 0, {}};
  return unit;
}

// The nodes it waits for: those it names; otherwise those it may have that could hold a part of it.
std::string node_set_of(const Shape& shape) {
  KeyText key;
  key.add(shape.partition.value).add(static_cast<std::int64_t>(shape.required)).add(shape.reservation.value);
  for (std::size_t i = 0; i < shape.required; ++i) key.add(shape.nodes[i]);
  if (shape.required == 0 && shape.own_nodes) key.add_list(shape.nodes);
  if (shape.required > 0) return key.take();
  std::string possible;
  for (const Unit& unit : shape.units) possible += unit.possible ? '1' : '0';
  return key.add(possible).take();
}

void measure(const State& state, const NodeClasses& classes, Shape& shape) {
  const JobSpec& spec = *shape.spec;
  const FitRules rules = fit_rules(*state.policy);
  const std::uint32_t most_cpus = state.partition(shape.partition).def.max_cpus_per_node;
  std::uint64_t largest = 0;
  NodeFilter kind(spec);
  for (std::uint32_t i = 0; i < classes.size(); ++i)
    if (kind.admits(classes.sample(i)))
      largest = std::max<std::uint64_t>(
          largest, task_capacity(spec, classes.sample(i), all_of(classes.sample(i), most_cpus), rules));
  const std::uint64_t wanted = std::max({spec.tasks, spec.min_nodes, 1u});
  const std::uint64_t there = shape.own_nodes ? shape.nodes.size() : state.partition(shape.partition).nodes.size();
  const std::uint64_t most =
      std::max<std::uint64_t>(std::min<std::uint64_t>(spec.max_nodes > 0 ? spec.max_nodes : unlimited, there), 1);
  shape.nodes_least = std::max(spec.min_nodes, 1u);
  if (largest == 0) return;
  shape.nodes_least = std::max(shape.nodes_least, static_cast<std::uint32_t>((wanted + largest - 1) / largest));
  shape.tasks_least = wanted > (most - 1) * largest ? static_cast<std::uint32_t>(wanted - (most - 1) * largest) : 1;
  shape.single = shape.tasks_least >= wanted && spec.min_nodes <= 1;
  for (std::uint32_t i = 0; i < classes.size(); ++i)
    shape.units.push_back(unit_of(kind, spec, classes.sample(i), most_cpus, shape.tasks_least, rules));
}

}  // namespace

Shape wider(const State& state, const NodeClasses& classes, const Shape& shape, std::uint32_t nodes) {
  Shape out = shape;
  JobSpec& spec = out.spec.edit();
  spec.min_nodes = nodes;
  if (!spec.tasks_asked)
    spec.tasks = std::max(spec.tasks, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                          std::uint64_t{nodes} * std::max(spec.tasks_per_node, 1u), tasks_max)));
  out.units.clear();
  measure(state, classes, out);
  return out;
}

std::uint32_t NodeClasses::class_of(const NodeDef& def) {
  KeyText key;
  key.add(def.cpus.value)
      .add(def.memory.value)
      .add(def.tmp_disk.value)
      .add(def.boards)
      .add(def.sockets)
      .add(def.cores_per_socket);
  key.add(def.threads_per_core)
      .add(def.features)
      .add(def.active_features.value_or(def.features))
      .add_list(def.withheld_cpus)
      .add(def.withheld_memory.value);
  for (const NodeGres& kind : def.kinds)
    key.add(kind.name).add(kind.type).add(kind.count).add_list(kind.near).add_list(kind.links);
  const auto [it, fresh] = known_.emplace(key.take(), static_cast<std::uint32_t>(samples_.size()));
  if (fresh) samples_.emplace_back(def);
  return it->second;
}

std::uint32_t Shapes::shape_of(const State& state, const SharedValue<JobSpec>& spec, PartitionIndex partition,
                               NodeClasses& classes) {
  std::string key = key_of(*spec, partition);
  if (const Reservation* lends = state.reservations.empty() ? nullptr : lender(state, *spec))
    key += "lends" + std::to_string(lends->id.value);
  const auto [it, fresh] = known_.emplace(std::move(key), static_cast<std::uint32_t>(shapes_.size()));
  if (fresh) {
    Shape& shape = shapes_.emplace_back();
    shape.spec = spec;
    shape.partition = partition;
    order_nodes(state, shape);
    measure(state, classes, shape);
    shape.node_set =
        node_sets_.emplace(node_set_of(shape), static_cast<std::uint32_t>(node_sets_.size())).first->second;
    const ResourceRequest& ask = spec->resource_request();
    const PartitionDef& def = state.partition(partition).def;
    shape.capped = def.max_cpus_per_node != unlimited;
    shape.wishes = wishes_of(state, *spec, def);
    shape.minds = shape.wishes.any();
    shape.exact = !ask.gres.empty() || ask.tasks_per_socket > 0 || ask.tasks_per_core > 0 || ask.threads_per_core > 0 ||
                  ask.enforce_binding;
    shape.exclusive_user = ask.exclusive_user;
    shape.alone = shape.reservation.value != 0 || ask.switches > 0 || ask.exclusive_user;
  }
  return it->second;
}

}  // namespace millrace
