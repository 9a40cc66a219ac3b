// src/wire/event_text.cpp - see event_text.h.
#include "wire/event_text.h"

#include <time.h>
#include <ctime>

#include <cstdio>
#include <type_traits>

#include "base/text.h"
#include "core/model/assign.h"
#include "core/model/gres_text.h"
#include "wire/fact_text.h"
#include "wire/node_codec.h"

namespace millrace {
namespace {

using fact_text::add, fact_text::Line, fact_text::minutes_text, fact_text::name_of, fact_text::show;

std::string_view name_of(Hold hold) {
  switch (hold) {
    case Hold::none:
      return "none";
    case Hold::user:
      return "user";
    case Hold::admin:
      return "admin";
  }
  return "?";
}

std::string_view name_of(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::exited:
      return "exited";
    case AttemptEnd::launch_failed:
      return "launch_failed";
    case AttemptEnd::supervisor_lost:
      return "supervisor_lost";
    case AttemptEnd::node_lost:
      return "node_lost";
    case AttemptEnd::out_of_memory:
      return "out_of_memory";
    case AttemptEnd::prolog_failed:
      return "prolog_failed";
    case AttemptEnd::node_unfit:
      return "node_unfit";
    case AttemptEnd::not_begun:
      return "not_begun";
  }
  return "?";
}

std::string_view name_of(NodeOrder order) {
  switch (order) {
    case NodeOrder::drain:
      return "drain";
    case NodeOrder::undrain:
      return "undrain";
    case NodeOrder::down:
      return "down";
    case NodeOrder::resume:
      return "resume";
    case NodeOrder::reason_only:
      return "reason_only";
    case NodeOrder::fail:
      return "fail";
    case NodeOrder::reboot:
      return "reboot";
    case NodeOrder::reboot_asap:
      return "reboot_asap";
    case NodeOrder::reboot_issued:
      return "reboot_issued";
    case NodeOrder::cancel_reboot:
      return "cancel_reboot";
    case NodeOrder::future:
      return "future";
  }
  return "?";
}

Line describe(const ControllerStarted& e) {
  return Line{"ControllerStarted"}.number("epoch", static_cast<std::int64_t>(e.epoch.value));
}

Line describe(const ClusterConfigured& e) {
  Line line{"ClusterConfigured"};
  line.list("nodes", e.nodes, [](const NodeDef& def) { return show(def); });
  line.list("partitions", e.partitions, [](const PartitionDef& def) { return show(def); });
  line.text_ += ' ' + show(e.policy);
  line.list("switches", e.topology.switches, [](const SwitchDef& def) { return show(def); })
      .flag("blocks", e.topology.blocks);
  line.numbers("block_sizes", e.topology.block_sizes).count("keep", static_cast<std::uint64_t>(e.keep));
  return line;
}

Line on_job(std::string_view kind, JobKey key) {
  Line line{kind};
  line.word("key", std::to_string(key.value));
  return line;
}

Line describe(const JobSubmitted& e) {
  Line line = on_job("JobSubmitted", e.key);
  line.number("id", e.id.value);
  add(line, e.spec);
  add(line, e.dependencies);
  if (e.array) {
    line.list("array", e.array->tasks.ranges(), [](const auto& range) {
      return std::to_string(range.first) + (range.first == range.last ? "" : '-' + std::to_string(range.last));
    });
    line.count("throttle", e.array->throttle);
  }
  line.number("priority", e.priority).word("time_limit", minutes_text(e.time_limit_minutes));
  if (e.hold != Hold::none) line.word("hold", name_of(e.hold));
  line.flag("priority_fixed", e.priority_fixed).count("qos", e.qos.value);
  return line.time("begin_at", e.begin_at);
}

Line describe(const JobHoldChanged& e) {
  return on_job("JobHoldChanged", e.key).word("hold", name_of(e.hold)).number("priority", e.priority);
}

Line describe(const JobModified& e) {
  Line line = on_job("JobModified", e.key);
  const auto number = [&](std::string_view name, const auto& value) {
    if (value) line.number(name, *value);
  };
  const auto text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) line.word(name, quote_text(*value));
  };
  if (e.time_limit_minutes) line.word("time_limit", minutes_text(*e.time_limit_minutes));
  number("priority", e.priority);
  number("min_nodes", e.min_nodes);
  number("max_nodes", e.max_nodes);
  number("tasks", e.tasks);
  number("cpus_per_task", e.cpus_per_task);
  number("throttle", e.array_throttle);
  number("nice", e.nice);
  text("name", e.name);
  text("comment", e.comment);
  text("account", e.account);
  text("std_out", e.std_out);
  text("std_in", e.std_in);
  text("std_err", e.std_err);
  text("work_dir", e.work_dir);
  if (e.partition) line.number("partition", e.partition->value);
  if (e.begin_at) line.word("begin_at", describe_time(*e.begin_at));
  line.amount("memory_per_node", e.memory_per_node).amount("memory_per_cpu", e.memory_per_cpu);
  if (e.dependencies && e.dependencies->list.empty()) line.word("dependencies", "[]");
  if (e.dependencies) add(line, *e.dependencies);
  if (e.required_nodes) line.numbers("required_nodes", *e.required_nodes);
  if (e.excluded_nodes) line.numbers("excluded_nodes", *e.excluded_nodes);
  if (e.requeue) line.word("requeue", *e.requeue ? "yes" : "no");
  if (e.priority_fixed) line.word("priority_fixed", *e.priority_fixed ? "yes" : "no");
  if (e.qos) line.number("qos", e.qos->value);
  number("tasks_per_node", e.tasks_per_node);
  number("min_cpus_per_node", e.min_cpus_per_node);
  if (e.exclusive) line.word("exclusive", *e.exclusive ? "yes" : "no");
  if (e.oversubscribe) line.word("oversubscribe", *e.oversubscribe ? "yes" : "no");
  if (e.resources) add(line, *e.resources);
  if (e.extras && *e.extras == JobExtras{}) line.word("extras", "none");
  if (e.extras) add(line, *e.extras);
  return line;
}

Line describe(const JobBecameEligible& e) { return on_job("JobBecameEligible", e.key); }

Line describe(const ArrayTaskSplit& e) {
  Line line{"ArrayTaskSplit"};
  line.word("array", std::to_string(e.array.value)).number("task", e.task).word("key", std::to_string(e.key.value));
  return line.number("id", e.id.value);
}

Line describe(const JobPlaced& e) {
  Line line = on_job("JobPlaced", e.key);
  line.number("attempt", e.attempt.value).list("shares", e.shares, [](const NodeShare& share) { return show(share); });
  if (e.partition) line.number("partition", e.partition->value);
  line.quoted("licences", format_licences(e.licences)).flag("by_backfill", e.by_backfill).flag("shared", e.shared);
  line.flag("on_all_nodes", e.on_all_nodes).flag("prolog", e.prolog).flag("supervised", e.supervised);
  line.count("priority", e.priority);
  if (!e.waited) return line;
  line.list("waited", e.waited->spans,
            [](const WaitSpan& span) { return std::string{slurm_word(span.reason)} + ":" + describe_time(span.from); });
  return line.time("planned_at", e.waited->planned_at).time("planned_start", e.waited->planned_start);
}

void add(Line& line, const StepUsage& usage) {
  const auto amount = [&](std::string_view name, std::int64_t value) {
    line.count(name, static_cast<std::uint64_t>(value));
  };
  amount("user_us", usage.user_us);
  amount("system_us", usage.system_us);
  amount("max_rss", usage.max_rss_bytes);
  amount("max_vm", usage.max_vm_bytes);
  amount("read", usage.read_bytes);
  amount("written", usage.written_bytes);
  amount("gpu_busy_max", usage.gpu_busy_max);
  amount("gpu_busy_sum", usage.gpu_busy_sum);
  amount("gpu_looks", usage.gpu_looks);
  amount("gpu_memory_max", usage.gpu_memory_max_bytes);
}

Line describe_end(std::string_view what, const auto& e) {
  Line line = on_job(what, e.key);
  line.number("attempt", e.attempt.value).number("node", e.node.value).word("end", name_of(e.end));
  line.number("exit_code", e.exit_code).count("exit_signal", e.exit_signal);
  if constexpr (requires { e.usage; }) add(line, e.usage);
  if (!e.words.empty()) line.quoted("words", e.words);
  return line;
}

Line describe(const AttemptEnded& e) { return describe_end("AttemptEnded", e); }
Line describe(const AttemptExited& e) { return describe_end("AttemptExited", e); }

Line describe(const JobPortsHeld& e) {
  return on_job("JobPortsHeld", e.key).number("attempt", e.attempt.value).quoted("ports", e.ports);
}
Line describe(const JobShrunk& e) {
  return on_job("JobShrunk", e.key).number("attempt", e.attempt.value).list("nodes", e.nodes, [](NodeIndex node) {
    return std::to_string(node.value);
  });
}
Line describe(const JobLostNode& e) {
  return on_job("JobLostNode", e.key).number("attempt", e.attempt.value).number("node", e.node.value);
}

Line describe(const JobProgramEnded& e) {
  Line line = on_job("JobProgramEnded", e.key);
  return line.number("attempt", e.attempt.value)
      .word("program", e.program == JobProgram::epilog ? "epilog" : "prolog")
      .flag("failed", e.failed);
}

Line describe(const JobCancelled& e) { return on_job("JobCancelled", e.key).number("by", e.by.value); }
Line describe(const JobTimedOut& e) { return on_job("JobTimedOut", e.key).flag("inactive", e.inactive); }
Line describe(const JobRequeued& e) {
  return on_job("JobRequeued", e.key)
      .flag("hold", e.hold)
      .number("by", e.by.value)
      .time("begin_at", e.begin_at)
      .flag("special_exit", e.special_exit);
}

Line describe(const NodeLost& e) { return Line{"NodeLost"}.number("node", e.node.value); }

Line describe(const NodeStateChanged& e) {
  Line line{"NodeStateChanged"};
  line.number("node", e.node.value).word("order", name_of(e.order)).quoted("reason", e.reason).number("by", e.by.value);
  if (e.after_reboot != AfterReboot::as_before)
    line.word("then", e.after_reboot == AfterReboot::down ? "down" : "resume");
  return line.time("due", e.due);
}

Line describe(const NodeModified& e) {
  Line line{"NodeModified"};
  line.number("node", e.node.value);
  if (e.weight) line.number("weight", *e.weight);
  if (e.features) line.quoted("features", *e.features);
  if (e.comment) line.quoted("comment", *e.comment);
  if (e.extra) line.quoted("extra", *e.extra);
  if (e.address) line.quoted("address", *e.address);
  if (e.host_name) line.quoted("host", *e.host_name);
  if (e.active_features) line.word("active_features", quote_text(*e.active_features));
  if (e.instance_id) line.quoted("instance_id", *e.instance_id);
  if (e.instance_type) line.quoted("instance_type", *e.instance_type);
  if (e.resume_at && e.resume_at->is_set()) line.time("resume_at", *e.resume_at);
  if (e.resume_at && !e.resume_at->is_set()) line.word("resume_at", "none");
  return line;
}

Line describe(const NodesPowered& e) {
  constexpr std::string_view words[] = {"down_wanted", "down_asap", "down_forced", "going_down", "off",
                                        "up_wanted",   "coming_up", "told",        "failed",     "called_off"};
  const auto which = static_cast<std::size_t>(e.change);
  Line line{"NodesPowered"};
  line.word("change", which < std::size(words) ? words[which] : "unknown");
  line.list("nodes", e.nodes, [](NodeIndex node) { return std::to_string(node.value); });
  return line.number("by", e.by.value).time("due", e.due);
}

Line describe(const NodeCreated& e) {
  return Line{"NodeCreated"}
      .quoted("name", e.def.name)
      .number("cpus", e.def.cpus.value)
      .number("memory", e.def.memory.value)
      .number("by", e.by.value);
}
Line describe(const NodeDeleted& e) {
  return Line{"NodeDeleted"}.number("node", e.node.value).number("by", e.by.value);
}

Line describe(const PartitionStateChanged& e) {
  return Line{"PartitionStateChanged"}.number("partition", e.partition.value).word("state", name_of(e.availability));
}

Line describe(const PartitionChanged& e) {
  Line line{"PartitionChanged"};
  line.text_ += ' ' + show(e.def);
  return line.number("by", e.by.value);
}
Line describe(const PartitionDeleted& e) {
  return Line{"PartitionDeleted"}.number("partition", e.partition.value).number("by", e.by.value);
}
Line describe(const DampingChanged& e) { return Line{"DampingChanged"}.number("factor", e.factor); }

Line describe(const JobPreempted& e) {
  return on_job("JobPreempted", e.key)
      .number("by", static_cast<std::int64_t>(e.by.value))
      .flag("requeue", e.requeue)
      .time("due", e.due);
}

std::string_view name_of(SuspendWhy why) {
  switch (why) {
    case SuspendWhy::administrator:
      return "administrator";
    case SuspendWhy::preempted:
      return "preempted";
    case SuspendWhy::time_slice:
      return "time_slice";
  }
  return "?";
}

Line describe(const JobSuspended& e) {
  return on_job("JobSuspended", e.key)
      .word("why", name_of(e.why))
      .count("by", e.by.value)
      .count("actor", e.actor.value);
}
Line describe(const JobResumeWanted& e) { return on_job("JobResumeWanted", e.key).count("actor", e.actor.value); }
Line describe(const JobResumed& e) { return on_job("JobResumed", e.key); }
Line describe(const TimeSliceTurned& e) {
  const auto key = [](JobKey each) { return std::to_string(each.value); };
  return Line{"TimeSliceTurned"}.list("suspended", e.suspended, key).list("resumed", e.resumed, key);
}

std::string show(const StepStart& start) {
  Line line{std::to_string(start.id)};
  line.quoted("name", start.name)
      .numbers("nodes", *start.nodes)
      .number("tasks", start.tasks)
      .number("cpus", start.cpus.value);
  line.count("memory", static_cast<std::uint64_t>(start.memory.value))
      .quoted("srun_host", start.srun_host)
      .count("srun_pid", start.srun_pid);
  line.quoted("distribution", start.distribution).count("limit", start.time_limit_minutes).quoted("ports", start.ports);
  if (start.wishes) {
    const StepWishes& wishes = *start.wishes;
    line.quoted("gres", wishes.gres)
        .quoted("per_step", wishes.tres_per_step)
        .quoted("per_node", wishes.tres_per_node)
        .quoted("per_socket", wishes.tres_per_socket);
    line.quoted("per_task", wishes.tres_per_task)
        .quoted("cpus_per", wishes.cpus_per_tres)
        .quoted("mem_per", wishes.mem_per_tres);
  }
  return '(' + line.time("at", start.at).text_ + ')';
}

std::string show(const StepEnd& end) {
  Line line{std::to_string(end.id)};
  line.word("outcome", outcome_word(end.outcome))
      .count("exit_code", end.exit_code)
      .count("exit_signal", end.exit_signal)
      .count("by", end.cancelled_by.value);
  add(line, end.usage);
  return '(' + line.time("at", end.at).text_ + ')';
}

Line describe(const StepsReported& e) {
  Line line = on_job("StepsReported", e.key);
  line.number("attempt", e.attempt.value);
  line.list("started", e.started, [](const StepStart& start) { return show(start); });
  line.list("changed", e.changed, [](const StepChange& change) {
    return "(" + std::to_string(change.id) + " limit=" + std::to_string(change.time_limit_minutes) + ")";
  });
  return line.list("ended", e.ended, [](const StepEnd& end) { return show(end); });
}

Line describe(const ReservationSet& e) {
  const Reservation& r = e.reservation;
  Line line{"ReservationSet"};
  line.number("id", r.id.value)
      .quoted("name", r.name)
      .time("start", r.start)
      .time("end", r.end)
      .quoted("flags", flag_words(r));
  std::string nodes;
  for (const std::uint32_t node : r.nodes) nodes += (nodes.empty() ? "" : ",") + std::to_string(node);
  const auto joined = [](const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
    return out;
  };
  line.quoted("nodes", nodes)
      .quoted("users", joined(r.users))
      .quoted("accounts", joined(r.accounts))
      .quoted("groups", joined(r.groups));
  if (r.partition != unlimited) line.number("partition", r.partition);
  line.quoted("licences", format_licences(r.licences)).quoted("features", r.features).quoted("comment", r.comment);
  return line.count("max_start_delay", r.max_start_delay_seconds)
      .time("idle_since", r.idle_since)
      .count("made_by", r.made_by.value)
      .flag("start_awaited", r.start_awaited);
}

Line describe(const ReservationRemoved& e) { return Line{"ReservationRemoved"}.number("id", e.id.value); }

Line describe(const JobDeadlinePassed& e) { return on_job("JobDeadlinePassed", e.key); }
Line describe(const JobForgotten& e) { return on_job("JobForgotten", e.key); }

void add(Line& line, const Limits& limits) {
  const auto tres = [&](std::string_view name, const TresList& list) {
    if (!list.empty()) line.word(name, format_tres(list));
  };
  const auto number = [&](std::string_view name, const std::optional<std::uint32_t>& value) {
    if (value) line.number(name, *value);
  };
  tres("grp_tres", limits.grp_tres);
  tres("grp_tres_mins", limits.grp_tres_mins);
  tres("grp_tres_run_mins", limits.grp_tres_run_mins);
  tres("max_tres_per_job", limits.max_tres_per_job);
  tres("max_tres_per_node", limits.max_tres_per_node);
  tres("max_tres_mins_per_job", limits.max_tres_mins_per_job);
  number("grp_jobs", limits.grp_jobs);
  number("grp_submit", limits.grp_submit);
  number("grp_wall", limits.grp_wall_minutes);
  number("max_jobs", limits.max_jobs);
  number("max_submit", limits.max_submit);
  number("max_wall", limits.max_wall_minutes);
}

Line describe(const AssociationChanged& e) {
  const Association& a = e.association;
  Line line{"AssociationChanged"};
  line.number("association", a.id.value)
      .count("parent", a.parent.value)
      .quoted("account", a.account)
      .quoted("user", a.user);
  line.quoted("partition", a.partition).quoted("description", a.description).quoted("organization", a.organization);
  line.word("shares", a.shares == shares_of_parent ? "parent" : std::to_string(a.shares)).count("priority", a.priority);
  add(line, a.limits);
  return line.numbers("qos", a.qos)
      .count("default_qos", a.default_qos.value)
      .flag("default", a.is_default)
      .strings("coordinators", a.coordinators);
}

Line describe(const AssociationRemoved& e) {
  return Line{"AssociationRemoved"}.number("association", e.association.value);
}

Line describe(const QosChanged& e) {
  const Qos& q = e.qos;
  Line line{"QosChanged"};
  line.number("qos", q.id.value)
      .quoted("name", q.name)
      .quoted("description", q.description)
      .count("priority", q.priority);
  line.numbers("preempts", q.preempts)
      .count("preempt_mode", static_cast<std::uint64_t>(q.preempt_mode))
      .count("grace", q.grace_seconds);
  if (q.preempt_exempt_seconds) line.number("preempt_exempt", *q.preempt_exempt_seconds);
  if (q.usage_factor_thousandths != 1000) line.number("usage_factor_thousandths", q.usage_factor_thousandths);
  line.count("flags", q.flags);
  add(line, q.limits);
  const auto tres = [&](std::string_view name, const TresList& list) {
    if (!list.empty()) line.word(name, format_tres(list));
  };
  tres("max_tres_per_user", q.max_tres_per_user);
  tres("max_tres_per_account", q.max_tres_per_account);
  tres("max_run_mins_per_user", q.max_run_mins_per_user);
  tres("max_run_mins_per_account", q.max_run_mins_per_account);
  tres("min_tres_per_job", q.min_tres_per_job);
  if (q.max_jobs_per_account) line.number("max_jobs_per_account", *q.max_jobs_per_account);
  if (q.max_submit_per_account) line.number("max_submit_per_account", *q.max_submit_per_account);
  return line;
}

Line describe(const QosRemoved& e) { return Line{"QosRemoved"}.number("qos", e.qos.value); }
Line describe(const CrontabSet& e) {
  Line line{"CrontabSet"};
  line.number("uid", e.uid.value).quoted("text", e.crontab.text);
  line.list("jobs", e.crontab.jobs,
            [](const CrontabJob& job) { return std::to_string(job.key.value) + "@" + std::to_string(job.line); });
  return line.count("by", e.by.value).list("submitted", e.submitted, [](const JobSubmitted& job) {
    return '(' + describe(job).text_ + ')';
  });
}
Line describe(const TriggerSet& e) {
  constexpr const char* names[] = {"node_down",    "node_up",      "node_drained",      "node_draining",
                                   "node_resumed", "node_failing", "node_idle",         "job_end",
                                   "job_time",     "reconfigured", "controller_started"};
  const Trigger& t = e.trigger;
  const auto event = static_cast<std::size_t>(t.event);
  Line line{"TriggerSet"};
  line.number("id", t.id.value)
      .number("uid", t.uid.value)
      .word("event", event < std::size(names) ? names[event] : "unknown");
  line.count("job", t.job_id.value).count("key", t.job.value).quoted("nodes", t.nodes).flag("permanent", t.permanent);
  if (t.offset_seconds != 0) line.word("offset", std::to_string(t.offset_seconds));
  line.quoted("program", t.program);
  return line.list("due", t.due, [](const TriggerDue& due) { return due.about + "@" + std::to_string(due.at.value); });
}
Line describe(const RecordsPutAside& e) {
  Line line{"RecordsPutAside"};
  const auto ids = [&](std::string_view name, const auto& list) {
    line.list(name, list, [](const auto& id) { return std::to_string(id.value); });
  };
  ids("jobs", e.jobs);
  ids("crontabs", e.crontabs);
  ids("triggers", e.triggers);
  ids("kept_runs", e.kept_runs);
  ids("associations", e.associations);
  ids("run_histories", e.run_histories);
  ids("nodes", e.nodes);
  return line.strings("laws", e.laws);
}
Line describe(const TriggerRemoved& e) { return Line{"TriggerRemoved"}.number("id", e.id.value); }
Line describe(const UsageReset& e) { return Line{"UsageReset"}.count("association", e.association.value); }

Line describe(const AccountUserChanged& e) {
  Line line{"AccountUserChanged"};
  line.quoted("name", e.user.name)
      .count("admin_level", static_cast<std::uint64_t>(e.user.admin_level))
      .strings("wckeys", e.user.wckeys);
  return line.quoted("default_wckey", e.user.default_wckey);
}
Line describe(const TransactionNoted& e) {
  const Transaction& t = e.transaction;
  Line line{"TransactionNoted"};
  line.number("id", t.id.value)
      .quoted("actor", t.actor)
      .quoted("action", t.action)
      .quoted("where", t.where)
      .quoted("info", t.info);
  return line.quoted("accounts", t.accounts).quoted("users", t.users);
}
Line describe(const RecordAnnotated& e) {
  Line line = on_job("RecordAnnotated", e.key);
  const auto words = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) line.word(name, '"' + *value + '"');
  };
  words("comment", e.comment);
  words("admin_comment", e.admin_comment);
  words("system_comment", e.system_comment);
  words("extra", e.extra);
  words("wckey", e.wckey);
  words("derived_exit", e.derived_exit);
  return line;
}

Line describe_whole(std::string_view kind, const auto& components) {
  return Line{kind}.list("components", components,
                         [](const auto& component) { return '(' + describe(component).text_ + ')'; });
}
Line describe(const HetJobSubmitted& e) { return describe_whole("HetJobSubmitted", e.components); }
Line describe(const HetJobPlaced& e) { return describe_whole("HetJobPlaced", e.components); }

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::none:
      return "none";
    case Outcome::completed:
      return "completed";
    case Outcome::failed:
      return "failed";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::timeout:
      return "timeout";
    case Outcome::node_fail:
      return "node_fail";
    case Outcome::preempted:
      return "preempted";
    case Outcome::deadline:
      return "deadline";
    case Outcome::out_of_memory:
      return "out_of_memory";
  }
  return "?";
}

std::string describe_event(const Event& event) {
  return std::visit([](const auto& e) { return describe(e).word("at", describe_time(e.at)).text_; }, event);
}

std::string describe_time(Time at) {
  if (at == never) return "never";
  const bool before_1970 = at.value % 1'000'000 < 0;  // the division cuts towards zero
  const std::int64_t micros = at.value % 1'000'000 + (before_1970 ? 1'000'000 : 0);
  const time_t whole = static_cast<time_t>(at.value / 1'000'000 - (before_1970 ? 1 : 0));
  tm utc{};
  if (gmtime_r(&whole, &utc) == nullptr) return std::to_string(at.value) + "us";
  char stamp[80];
  const std::size_t length = std::strftime(stamp, 48, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%06dZ", static_cast<int>(micros));
  return stamp;
}

}  // namespace millrace
