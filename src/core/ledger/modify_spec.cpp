// src/core/ledger/modify_spec.cpp - see modify_spec.h.
#include "core/ledger/modify_spec.h"

namespace millrace {

void modify_spec(JobSpec& spec, const JobModified& e) {
  const auto set = [](auto& field, const auto& value) {
    if (value) field = *value;
  };
  set(spec.name, e.name);
  set(spec.account, e.account);
  set(spec.std_out, e.std_out);
  set(spec.work_dir, e.work_dir);
  set(spec.min_nodes, e.min_nodes);
  set(spec.max_nodes, e.max_nodes);
  set(spec.tasks, e.tasks);
  set(spec.cpus_per_task, e.cpus_per_task);
  set(spec.nice, e.nice);
  set(spec.partition, e.partition);
  set(spec.requeue, e.requeue);
  set(spec.tasks_per_node, e.tasks_per_node);
  set(spec.min_cpus_per_node, e.min_cpus_per_node);
  set(spec.exclusive, e.exclusive);
  set(spec.oversubscribe, e.oversubscribe);
  if (e.resources)
    spec.resources = *e.resources == ResourceRequest{} ? SharedValue<ResourceRequest>{} : SharedValue(*e.resources);
  if (e.memory_per_node) {
    spec.memory_per_node = *e.memory_per_node;
    spec.memory_per_cpu.reset();
  }
  if (e.memory_per_cpu) {
    spec.memory_per_cpu = *e.memory_per_cpu;
    spec.memory_per_node.reset();
  }
  if (e.extras) spec.extras = *e.extras == JobExtras{} ? SharedValue<JobExtras>{} : SharedValue(*e.extras);
  if (e.comment || e.std_in || e.std_err || e.required_nodes || e.excluded_nodes) {
    RareRequest rare = spec.rare_request();
    set(rare.comment, e.comment);
    set(rare.std_in, e.std_in);
    set(rare.std_err, e.std_err);
    set(rare.required_nodes, e.required_nodes);
    set(rare.excluded_nodes, e.excluded_nodes);
    spec.rare = SharedValue(std::move(rare));
  }
}

}  // namespace millrace
