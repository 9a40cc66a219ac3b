// src/wire/resource_types.cpp - generic resources, what jobs ask of them and what they got, as they are written to the
// log.
#include "wire/log_types.h"

namespace millrace {

void put(const NodeGres& from, log::NodeGres& to) {
  to.set_out_of_order(from.out_of_order);
  to.set_name(from.name);
  to.set_type(from.type);
  to.set_count(from.count);
  for (const std::uint64_t sockets : from.near) to.add_near(sockets);
  to.set_countable_only(from.countable_only);
  for (const std::int64_t parts : from.parts) to.add_parts(parts);
  to.set_files(from.files);
  to.mutable_links()->Add(from.links.begin(), from.links.end());
}

NodeGres get(const log::NodeGres& from) {
  return {from.name(),
          from.type(),
          from.count(),
          {from.near().begin(), from.near().end()},
          from.countable_only(),
          {from.parts().begin(), from.parts().end()},
          from.files(),
          from.out_of_order(),
          {from.links().begin(), from.links().end()}};
}

void put(const ResourceRequest& from, log::ResourceRequest& to) {
  for (const GresAsk& ask : from.gres) {
    auto* added = to.add_gres();
    added->set_name(ask.name);
    added->set_type(ask.type);
    added->set_count(ask.count);
    added->set_scope(static_cast<std::uint32_t>(ask.scope));
  }
  to.set_cpus_per_gpu(from.cpus_per_gpu);
  to.set_memory_per_gpu(from.memory_per_gpu);
  to.set_features(from.features);
  to.set_prefer(from.prefer);
  put_licences(from.licences, to.mutable_licences());
  to.set_any_licence(from.any_licence);
  to.set_tasks_per_socket(from.tasks_per_socket);
  to.set_tasks_per_core(from.tasks_per_core);
  to.set_tasks_per_gpu(from.tasks_per_gpu);
  to.set_sockets_per_node(from.sockets_per_node);
  to.set_cores_per_socket(from.cores_per_socket);
  to.set_threads_per_core(from.threads_per_core);
  to.set_tmp_disk_mib(from.tmp_disk);
  to.set_distribution(from.distribution);
  to.set_contiguous(from.contiguous);
  to.set_spread_job(from.spread_job);
  to.set_use_min_nodes(from.use_min_nodes);
  to.set_exclusive_user(from.exclusive_user);
  to.set_switches(from.switches);
  to.set_switches_wait_seconds(from.switches_wait_seconds);
  to.set_segment(from.segment);
  to.set_spread_segments(from.spread_segments);
  to.set_consolidate_segments(from.consolidate_segments);
  to.set_time_min_minutes(from.time_min_minutes);
  to.set_deadline(from.deadline.value);
  to.set_reservation(from.reservation);
  for (const std::uint32_t partition : from.more_partitions) to.add_more_partitions(partition);
  for (const std::uint32_t node : from.task_nodes) to.add_task_nodes(node);
  to.set_hint(from.hint);
  to.set_enforce_binding(from.enforce_binding);
  to.set_disable_binding(from.disable_binding);
  for (const IndexSet::Range& range : from.node_counts.ranges()) {
    auto* added = to.add_node_counts();
    added->set_first(range.first);
    added->set_last(range.last);
  }
}

ResourceRequest get(const log::ResourceRequest& from) {
  ResourceRequest to;
  for (const auto& ask : from.gres())
    to.gres.push_back({ask.name(), ask.type(), ask.count(), static_cast<GresScope>(ask.scope())});
  to.cpus_per_gpu = from.cpus_per_gpu();
  to.memory_per_gpu = from.memory_per_gpu();
  to.features = from.features();
  to.prefer = from.prefer();
  to.licences = get_licences(from.licences());
  to.any_licence = from.any_licence();
  to.tasks_per_socket = from.tasks_per_socket();
  to.tasks_per_core = from.tasks_per_core();
  to.tasks_per_gpu = from.tasks_per_gpu();
  to.sockets_per_node = from.sockets_per_node();
  to.cores_per_socket = from.cores_per_socket();
  to.threads_per_core = from.threads_per_core();
  to.tmp_disk = from.tmp_disk_mib();
  to.distribution = from.distribution();
  to.contiguous = from.contiguous();
  to.spread_job = from.spread_job();
  to.use_min_nodes = from.use_min_nodes();
  to.exclusive_user = from.exclusive_user();
  to.switches = from.switches();
  to.switches_wait_seconds = from.switches_wait_seconds();
  to.segment = from.segment();
  to.spread_segments = from.spread_segments();
  to.consolidate_segments = from.consolidate_segments();
  to.time_min_minutes = from.time_min_minutes();
  to.deadline = Time{from.deadline()};
  to.reservation = from.reservation();
  to.more_partitions.assign(from.more_partitions().begin(), from.more_partitions().end());
  to.task_nodes.assign(from.task_nodes().begin(), from.task_nodes().end());
  to.hint = from.hint();
  to.enforce_binding = from.enforce_binding();
  to.disable_binding = from.disable_binding();
  to.node_counts = get_ranges(from.node_counts());
  return to;
}

void put(const Topology& from, log::Topology& to) {
  for (const SwitchDef& each : from.switches) {
    auto* added = to.add_switches();
    added->set_name(each.name);
    for (const std::string& name : each.switches) added->add_switches(name);
    for (const std::string& name : each.nodes) added->add_nodes(name);
    added->set_link_speed(each.link_speed);
  }
  for (const std::uint32_t size : from.block_sizes) to.add_block_sizes(size);
  to.set_blocks(from.blocks);
}

Topology get(const log::Topology& from) {
  Topology to;
  for (const auto& each : from.switches())
    to.switches.push_back({each.name(),
                           {each.switches().begin(), each.switches().end()},
                           {each.nodes().begin(), each.nodes().end()},
                           each.link_speed()});
  to.block_sizes.assign(from.block_sizes().begin(), from.block_sizes().end());
  to.blocks = from.blocks();
  return to;
}

void put(const Reservation& from, log::Reservation& to) {
  to.set_id(from.id.value);
  to.set_name(from.name);
  to.set_start(from.start.value);
  to.set_end(from.end.value);
  to.set_flags(from.flags);
  for (const std::uint32_t node : from.nodes) to.add_nodes(node);
  if (from.partition != unlimited) to.set_partition(from.partition);
  for (const std::string& name : from.users) to.add_users(name);
  for (const std::string& name : from.accounts) to.add_accounts(name);
  for (const std::string& name : from.groups) to.add_groups(name);
  for (const LicenceAsk& ask : from.licences) {
    auto* added = to.add_licences();
    added->set_name(ask.name);
    added->set_count(ask.count);
  }
  to.set_features(from.features);
  to.set_comment(from.comment);
  to.set_max_start_delay_seconds(from.max_start_delay_seconds);
  to.set_purge_after_idle_seconds(from.purge_after_idle_seconds);
  to.set_idle_since(from.idle_since.value);
  to.set_made_by(from.made_by.value);
  to.set_start_awaited(from.start_awaited);
}

Reservation get(const log::Reservation& from) {
  Reservation to;
  to.id = ReservationId{from.id()};
  to.name = from.name();
  to.start = Time{from.start()};
  to.end = Time{from.end()};
  to.flags = from.flags();
  to.nodes.assign(from.nodes().begin(), from.nodes().end());
  if (from.has_partition()) to.partition = from.partition();
  to.users.assign(from.users().begin(), from.users().end());
  to.accounts.assign(from.accounts().begin(), from.accounts().end());
  to.groups.assign(from.groups().begin(), from.groups().end());
  for (const auto& ask : from.licences()) to.licences.push_back({ask.name(), ask.count()});
  to.features = from.features();
  to.comment = from.comment();
  to.max_start_delay_seconds = from.max_start_delay_seconds();
  to.purge_after_idle_seconds = from.purge_after_idle_seconds();
  to.idle_since = Time{from.idle_since()};
  to.made_by = UserId{from.made_by()};
  to.start_awaited = from.start_awaited();
  return to;
}

void put(const WaitHistory& from, log::WaitHistory& to) {
  for (const WaitSpan& span : from.spans) {
    auto* added = to.add_spans();
    added->set_reason(static_cast<std::uint32_t>(span.reason));
    added->set_from(span.from.value);
  }
  to.set_planned_at(from.planned_at.value);
  to.set_planned_start(from.planned_start.value);
}

WaitHistory get(const log::WaitHistory& from) {
  WaitHistory to{{}, Time{from.planned_at()}, Time{from.planned_start()}};
  for (const auto& span : from.spans()) to.spans.push_back({static_cast<Reason>(span.reason()), Time{span.from()}});
  return to;
}

void put(const NodeShare& from, log::NodeShare& to) {
  to.set_node(from.node.value);
  to.set_cpus(from.cpus.value);
  to.set_memory_mib(from.memory.value);
  to.set_tasks(from.tasks);
  to.set_released(from.released);
  to.set_exited(from.exited);
  to.set_lost(from.lost);
  to.set_given_up(from.given_up);
  if (!from.detail) return;
  for (const std::uint64_t bits : from.detail->cpus) to.add_cpu_bits(bits);
  for (std::uint32_t slot = 0; slot < gres_kinds_max; ++slot) {
    if (from.detail->gres[slot] == 0) continue;
    auto* added = to.add_devices();
    added->set_slot(slot);
    added->set_count(from.detail->gres[slot]);
    if (from.detail->devices[slot] != 0) added->add_devices(from.detail->devices[slot]);
  }
}

NodeShare get(const log::NodeShare& from) {
  NodeShare to{NodeIndex{from.node()}, Cpus{from.cpus()}, Mebibytes{from.memory_mib()},
               from.tasks(),           from.released(),   {},
               from.exited(),          from.lost(),       from.given_up()};
  if (from.cpu_bits_size() == 0 && from.devices_size() == 0) return to;
  ShareDetail detail;
  detail.cpus.assign(from.cpu_bits().begin(), from.cpu_bits().end());
  for (const auto& each : from.devices()) {
    if (each.slot() >= gres_kinds_max) continue;
    detail.gres[each.slot()] = each.count();
    if (each.devices_size() > 0) detail.devices[each.slot()] = each.devices(0);
  }
  to.detail = SharedValue(std::move(detail));
  return to;
}

}  // namespace millrace
