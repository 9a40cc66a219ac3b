// src/wire/fact_text.cpp - see fact_text.h.
#include "wire/fact_text.h"

#include <cstdio>

#include "base/text.h"
#include "core/model/assign.h"
#include "core/model/gres_text.h"

namespace millrace {

std::string quote_text(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char letter : bytes) {
    const auto value = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      out += "\\n";
    } else if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (value < 32 || value > 126) {
      out += "\\x";
      out += digits[value >> 4];
      out += digits[value & 15];
    } else {
      out += letter;
    }
  }
  return out + '"';
}

}  // namespace millrace

namespace millrace::fact_text {

std::string_view name_of(Availability availability) {
  switch (availability) {
    case Availability::up:
      return "up";
    case Availability::down:
      return "down";
    case Availability::drain:
      return "drain";
    case Availability::inactive:
      return "inactive";
  }
  return "?";
}

std::string_view name_of(DependencyKind kind) {
  switch (kind) {
    case DependencyKind::after:
      return "after";
    case DependencyKind::afterany:
      return "afterany";
    case DependencyKind::afterok:
      return "afterok";
    case DependencyKind::afternotok:
      return "afternotok";
    case DependencyKind::singleton:
      return "singleton";
    case DependencyKind::aftercorr:
      return "aftercorr";
  }
  return "?";
}

std::string_view name_of(DependencyState state) {
  switch (state) {
    case DependencyState::unfulfilled:
      return "unfulfilled";
    case DependencyState::fulfilled:
      return "fulfilled";
    case DependencyState::failed:
      return "failed";
  }
  return "?";
}

std::string minutes_text(std::uint32_t count) { return count == unlimited ? "unlimited" : std::to_string(count); }

std::string hex(const std::array<std::uint8_t, 16>& bytes) {
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string show(const NodeGres& kind) {
  Line line{quote_text(kind.name)};
  line.quoted("type", kind.type)
      .number("count", kind.count)
      .flag("count_only", kind.countable_only)
      .quoted("files", kind.files);
  line.count("out_of_order", kind.out_of_order);
  line.list("near", kind.near, [](std::uint64_t sockets) { return std::to_string(sockets); });
  line.list("links", kind.links, [](std::uint32_t count) { return std::to_string(count); });
  return '(' + line.list("parts", kind.parts, [](std::int64_t parts) { return std::to_string(parts); }).text_ + ')';
}

std::string show(const SwitchDef& def) {
  Line line{quote_text(def.name)};
  return '(' +
         line.strings("switches", def.switches).strings("nodes", def.nodes).count("link_speed", def.link_speed).text_ +
         ')';
}

void add(Line& line, const ResourceRequest& ask) {
  constexpr std::string_view scopes[] = {"node", "task", "socket", "job"};
  line.list("gres", ask.gres, [&](const GresAsk& each) {
    return quote_text(each.name) + (each.type.empty() ? "" : ':' + quote_text(each.type)) + ':' +
           std::to_string(each.count) + '/' + std::string{scopes[static_cast<std::size_t>(each.scope) % 4]};
  });
  line.count("cpus_per_gpu", ask.cpus_per_gpu).count("memory_per_gpu", static_cast<std::uint64_t>(ask.memory_per_gpu));
  line.quoted("features", ask.features)
      .quoted("prefer", ask.prefer)
      .quoted("licences", format_licences(ask.licences, ask.any_licence));
  line.count("tasks_per_socket", ask.tasks_per_socket)
      .count("tasks_per_core", ask.tasks_per_core)
      .count("tasks_per_gpu", ask.tasks_per_gpu);
  line.count("sockets_per_node", ask.sockets_per_node)
      .count("cores_per_socket", ask.cores_per_socket)
      .count("threads_per_core", ask.threads_per_core);
  line.count("tmp_disk", static_cast<std::uint64_t>(ask.tmp_disk))
      .quoted("distribution", ask.distribution)
      .numbers("task_nodes", ask.task_nodes);
  line.quoted("hint", ask.hint)
      .flag("contiguous", ask.contiguous)
      .flag("spread_job", ask.spread_job)
      .flag("use_min_nodes", ask.use_min_nodes);
  line.flag("exclusive_user", ask.exclusive_user)
      .flag("enforce_binding", ask.enforce_binding)
      .flag("disable_binding", ask.disable_binding);
  line.count("switches", ask.switches)
      .count("switches_wait", ask.switches_wait_seconds)
      .count("time_min", ask.time_min_minutes);
  if (!ask.node_counts.empty()) line.word("node_counts", format_index_set(ask.node_counts));
  line.count("segment", ask.segment)
      .flag("spread_segments", ask.spread_segments)
      .flag("consolidate_segments", ask.consolidate_segments);
  line.time("deadline", ask.deadline)
      .quoted("reservation", ask.reservation)
      .numbers("more_partitions", ask.more_partitions);
}

std::string show(const NodeDef& def) {
  Line line{quote_text(def.name)};
  line.quoted("address", def.address)
      .quoted("host", def.host_name)
      .count("port", def.port)
      .number("cpus", def.cpus.value);
  line.number("boards", def.boards).number("sockets", def.sockets).number("cores", def.cores_per_socket);
  line.number("threads", def.threads_per_core).number("memory", def.memory.value).number("tmp", def.tmp_disk.value);
  line.number("weight", def.weight).quoted("features", def.features).quoted("gres", def.gres);
  if (def.active_features) line.word("active_features", quote_text(*def.active_features));
  line.list("kinds", def.kinds, [](const NodeGres& kind) { return show(kind); });
  line.count("kind", static_cast<std::uint64_t>(def.kind)).count("keep_up", def.keep_up);
  if (def.suspend_seconds) line.number("suspend_seconds", *def.suspend_seconds);
  line.quoted("withheld_cpus", def.withheld_cpus.empty() ? std::string{} : format_bits(def.withheld_cpus))
      .count("withheld_memory", static_cast<std::uint64_t>(def.withheld_memory.value));
  return '(' + line.text_ + ')';
}

std::string show_weight(const TresWeight& weight) {
  return weight.name + '=' + std::to_string(weight.billionths) + "e-9" +
         (weight.per == 1 ? "" : '/' + std::to_string(weight.per));
}

std::string show(const PriorityPolicy& p) {
  Line line{"priority"};
  line.count("age", p.age).count("assoc", p.assoc).count("fairshare", p.fairshare).count("job_size", p.job_size);
  line.count("partition", p.partition)
      .count("qos", p.qos)
      .list("tres", p.tres, show_weight)
      .number("max_age", p.max_age_seconds);
  line.number("half_life", p.half_life_seconds)
      .number("calc_period", p.calc_period_seconds)
      .number("damping", p.damping);
  line.count("flags", p.flags).count("reset", static_cast<std::uint64_t>(p.reset)).flag("favor_small", p.favor_small);
  return '(' + line.text_ + ')';
}

std::string show(const PartitionDef& def) {
  Line line{quote_text(def.name)};
  line.strings("nodes", def.nodes)
      .word("state", name_of(def.availability))
      .word("max_time", minutes_text(def.max_time_minutes));
  if (def.default_time_minutes != 0) line.word("default_time", minutes_text(def.default_time_minutes));
  line.word("max_nodes", minutes_text(def.max_nodes))
      .count("min_nodes", def.min_nodes)
      .number("tier", def.priority_tier);
  line.number("job_factor", def.priority_job_factor).flag("default", def.is_default).flag("root_only", def.root_only);
  line.flag("hidden", def.hidden).flag("exclusive", def.exclusive).flag("disable_root_jobs", def.disable_root_jobs);
  line.strings("groups", def.allow_groups).numbers("gids", def.allow_gids).strings("accounts", def.allow_accounts);
  line.strings("deny_accounts", def.deny_accounts).amount("default_memory_per_cpu", def.default_memory_per_cpu);
  line.amount("default_memory_per_node", def.default_memory_per_node)
      .amount("max_memory_per_cpu", def.max_memory_per_cpu);
  line.amount("max_memory_per_node", def.max_memory_per_node)
      .quoted("qos", def.qos)
      .strings("allow_qos", def.allow_qos);
  line.strings("deny_qos", def.deny_qos).list("billing_weights", def.billing_weights, show_weight);
  line.flag("all_nodes", def.all_nodes)
      .strings("node_features", def.node_features)
      .flag("power_down_on_idle", def.power_down_on_idle)
      .flag("never_suspend", def.never_suspend);
  line.flag("exclusive_user", def.exclusive_user)
      .flag("require_reservation", def.require_reservation)
      .strings("submit_hosts", def.submit_hosts);
  line.count("default_memory_per_gpu", static_cast<std::uint64_t>(def.default_memory_per_gpu))
      .count("default_cpus_per_gpu", def.default_cpus_per_gpu);
  if (def.suspend_seconds) line.number("suspend_seconds", *def.suspend_seconds);
  if (def.suspend_timeout_seconds) line.number("suspend_timeout", *def.suspend_timeout_seconds);
  if (def.resume_timeout_seconds) line.number("resume_timeout", *def.resume_timeout_seconds);
  if (def.over_time_minutes) line.word("over_time", minutes_text(*def.over_time_minutes));
  if (def.max_cpus_per_node != unlimited) line.number("max_cpus_per_node", def.max_cpus_per_node);
  line.flag("least_loaded", def.least_loaded);
  return '(' + line.text_ + ')';
}

std::string show(const Policy& p) {
  Line line{"policy"};
  if (p.power_saving || p.show_cloud) {
    line.flag("power_saving", p.power_saving)
        .number("suspend_seconds", p.suspend_seconds)
        .number("suspend_timeout", p.suspend_timeout_seconds);
    line.number("suspend_rate", p.suspend_rate)
        .number("resume_rate", p.resume_rate)
        .count("suspend_except", p.suspend_except)
        .numbers("keep_up", p.keep_up)
        .flag("show_cloud", p.show_cloud);
  }
  line.count("max_node_count", p.max_nodes);
  if (p.keep_ended_seconds > 0)
    line.number("keep_ended", p.keep_ended_seconds).number("keep_ended_rows", p.keep_ended_rows);
  line.number("first_id", p.first_job_id).number("max_id", p.max_job_id).number("max_jobs", p.max_job_count);
  line.number("max_array", p.max_array_size)
      .number("kill_wait", p.kill_wait_seconds)
      .number("min_age", p.min_job_age_seconds);
  line.number("requeue_delay", p.requeue_delay_seconds).number("max_script", p.max_script_bytes);
  line.number("return_to_service", p.return_to_service).flag("job_requeue", p.job_requeue);
  line.flag("memory_is_consumable", p.memory_is_consumable)
      .flag("backfill", p.backfill)
      .flag("basic_priority", p.basic_priority);
  line.flag("enforce_every_partition", p.enforce_every_partition)
      .flag("kill_invalid_dependency", p.kill_invalid_dependency);
  line.numbers("requeue_exit", p.requeue_exit).numbers("requeue_exit_hold", p.requeue_exit_hold);
  line.count("default_memory_per_gpu", static_cast<std::uint64_t>(p.default_memory_per_gpu))
      .count("default_cpus_per_gpu", p.default_cpus_per_gpu);
  line.flag("enforce_partition_limits", p.enforce_partition_limits)
      .amount("default_memory_per_cpu", p.default_memory_per_cpu);
  line.amount("default_memory_per_node", p.default_memory_per_node).amount("max_memory_per_cpu", p.max_memory_per_cpu);
  line.count("cpu_unit", static_cast<std::uint64_t>(p.cpu_unit)).quoted("licences", format_licences(p.licences));
  line.amount("max_memory_per_node", p.max_memory_per_node).count("enforce", p.enforce).strings("tres", p.tres);
  if (p.schedule != Schedule::conservative) line.word("schedule", schedule_name(p.schedule));
  line.flag("predict_run_times", p.predict_run_times);
  if (p.over_time_minutes > 0) line.word("over_time", minutes_text(p.over_time_minutes));
  line.flag("least_loaded", p.least_loaded)
      .flag("one_task_per_core", p.one_task_per_core)
      .flag("enforce_gres_binding", p.enforce_gres_binding);
  line.flag("require_time_limit", p.require_time_limit).flag("all_partitions", p.all_partitions);
  if (p.max_requeues != unlimited) line.number("max_requeues", p.max_requeues);
  line.count("private_data", p.private_data).flag("track_wckeys", p.track_wckeys).count("store_flags", p.store_flags);
  return '(' + line.text_ + (p.priority == PriorityPolicy{} ? "" : ' ' + show(p.priority)) + ')';
}

std::string show(const Dependency& d) {
  Line line{name_of(d.kind)};
  line.count("job", d.shown.value).count("key", d.target.value);
  if (d.task) line.number("task", *d.task);
  line.count("delay", d.delay_minutes).time("due_at", d.due_at);
  return '(' + line.word("state", name_of(d.state)).text_ + ')';
}

std::string show(const NodeShare& s) {
  Line line{"node"};
  line.text_ += '=' + std::to_string(s.node.value);
  line.number("cpus", s.cpus.value).number("memory", s.memory.value).number("tasks", s.tasks);
  if (s.detail) {
    if (!s.detail->cpus.empty()) line.word("cpu_ids", format_bits(s.detail->cpus));
    for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) {
      if (s.detail->gres[slot] == 0) continue;
      const std::string devices = format_bits({&s.detail->devices[slot], 1});
      line.word("gres" + std::to_string(slot),
                std::to_string(s.detail->gres[slot]) + (devices.empty() ? "" : '@' + devices));
    }
  }
  return '(' +
         line.flag("released", s.released)
             .flag("exited", s.exited)
             .flag("lost", s.lost)
             .flag("given_up", s.given_up)
             .text_ +
         ')';
}

void add(Line& line, const Dependencies& dependencies) {
  line.flag("any", dependencies.any).list("dependencies", dependencies.list, [](const Dependency& d) {
    return show(d);
  });
}

void add(Line& line, const Owner& owner) {
  line.number("uid", owner.uid.value).number("gid", owner.gid.value).quoted("user", owner.user_name);
  line.quoted("group", owner.group_name).numbers("groups", owner.groups).quoted("submit_host", owner.submit_host);
  line.list("limits", owner.limits,
            [](const ResourceLimit& l) { return quote_text(l.name) + ':' + std::to_string(l.soft); });
}

void add(Line& line, const RareRequest& rare) {
  line.quoted("comment", rare.comment)
      .quoted("qos", rare.qos)
      .quoted("std_in", rare.std_in)
      .quoted("std_err", rare.std_err);
  line.quoted("export", rare.export_env).strings("arguments", rare.arguments);
  if (rare.stdio) line.quoted("stdio", rare.stdio->host + ':' + std::to_string(rare.stdio->port));
  line.numbers("required_nodes", rare.required_nodes).numbers("excluded_nodes", rare.excluded_nodes);
  line.quoted("cpu_bind", rare.cpu_bind)
      .quoted("mem_bind", rare.mem_bind)
      .quoted("gpu_bind", rare.gpu_bind)
      .quoted("container", rare.container)
      .flag("oom_kill_step", rare.oom_kill_step)
      .flag("client_waits", rare.client_waits);
  line.count("terminal_columns", rare.terminal.columns)
      .count("step_options_bytes", static_cast<std::uint32_t>(rare.step_options.size()));
}

void add(Line& line, const JobExtras& extras) {
  if (extras.mail_types != 0) line.word("mail", mail_types_text(extras.mail_types));
  line.quoted("mail_user", extras.mail_user).quoted("wckey", extras.wckey).quoted("extra", extras.extra);
  line.quoted("admin_comment", extras.admin_comment)
      .quoted("system_comment", extras.system_comment)
      .quoted("network", extras.network);
  line.quoted("acctg_freq", extras.acctg_freq)
      .quoted("profile", extras.profile)
      .quoted("cpu_freq", extras.cpu_freq)
      .quoted("gpu_freq", extras.gpu_freq);
  if (extras.core_spec) line.number(extras.threads_spec ? "thread_spec" : "core_spec", *extras.core_spec);
  line.count("delay_boot_seconds", extras.delay_boot_seconds);
  line.flag("reboot", extras.reboot).count("resv_ports", extras.resv_ports).flag("no_allocate", extras.no_allocate);
  line.flag("no_kill", extras.no_kill).quoted("batch_features", extras.batch_features);
  line.flag("overcommit", extras.overcommit).quoted("user_env", extras.user_env).quoted("cron", extras.cron);
  if (extras.site_factor != 0) line.word("site_factor", std::to_string(extras.site_factor));
  line.time("accrue_from", extras.accrue_from);
}

void add(Line& line, const JobSpec& spec) {
  line.quoted("name", spec.name);
  if (spec.owner) add(line, *spec.owner);
  line.number("partition", spec.partition.value).quoted("account", spec.account).quoted("work_dir", spec.work_dir);
  line.quoted("std_out", spec.std_out).quoted("command", spec.command).quoted("submit_line", spec.submit_line);
  line.count("submit_sid", spec.submit_sid).number("min_nodes", spec.min_nodes).count("max_nodes", spec.max_nodes);
  line.number("tasks", spec.tasks)
      .count("tasks_per_node", spec.tasks_per_node)
      .number("cpus_per_task", spec.cpus_per_task);
  line.count("min_cpus_per_node", spec.min_cpus_per_node).amount("memory_per_node", spec.memory_per_node);
  line.amount("memory_per_cpu", spec.memory_per_cpu);
  if (spec.nice != 0) line.number("nice", spec.nice);
  char mask[16];
  std::snprintf(mask, sizeof mask, "0%o", spec.umask);
  line.word("umask", mask).count("open_mode", spec.open_mode).flag("tasks_asked", spec.tasks_asked);
  line.flag("nodes_asked", spec.nodes_asked).flag("cpus_per_task_asked", spec.cpus_per_task_asked);
  line.flag("exclusive", spec.exclusive).flag("oversubscribe", spec.oversubscribe).flag("requeue", spec.requeue);
  line.flag("interactive", spec.interactive)
      .flag("label_output", spec.label_output)
      .flag("allocation_only", spec.allocation_only);
  line.flag("kill_on_invalid_dependency", spec.kill_on_invalid_dependency);
  if (spec.rare) add(line, *spec.rare);
  if (spec.resources) add(line, *spec.resources);
  if (spec.extras) add(line, *spec.extras);
  line.digest("script", spec.script).digest("environment", spec.environment).digest("submission", spec.submission);
}

}  // namespace millrace::fact_text
