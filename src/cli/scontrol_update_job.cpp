// src/cli/scontrol_update_job.cpp - scontrol update JobId=: one row per key, see scontrol_update.h.
#include <time.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_values.h"
#include "cli/options/resource_setters.h"
#include "cli/resize_script.h"
#include "cli/scontrol_update.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

using Text = std::string_view;

Result<void> set_time_limit(wire::UpdateJob& u, Text v) {
  const bool change = !v.empty() && (v[0] == '+' || (v[0] == '-' && v != "-1"));
  const auto minutes = parse_limit_minutes(change ? v.substr(1) : v);
  if (!minutes) return fail(Errc::invalid, "Invalid TimeLimit value");
  if (change)
    u.set_time_limit_change_minutes(v[0] == '-' ? -static_cast<std::int32_t>(*minutes)
                                                : static_cast<std::int32_t>(*minutes));
  else
    u.set_time_limit_minutes(*minutes);
  return {};
}

// -1 and INFINITE: computed again.
Result<void> set_priority(wire::UpdateJob& u, Text v) {
  if (v == "-1" || equals_ignoring_case(v, "infinite") || v == "4294967295")
    return u.set_priority(UINT32_MAX), Result<void>{};
  MR_TRY(const auto n, update_number("Priority", v));
  u.set_priority(n);
  return {};
}

Result<void> set_nodes(wire::UpdateJob& u, Text v) {
  MR_TRY(const NodeCount count, parse_node_count(v));
  u.set_min_nodes(count.least);
  u.set_max_nodes(count.most);
  if (!count.counts.empty()) u.mutable_resources()->set_node_counts(count.counts);
  return {};
}

Result<void> set_start(wire::UpdateJob& u, Text v) {
  const auto begin = parse_time_of_day(v, time(nullptr));
  if (!begin) return bad_update_value("StartTime", v);
  u.set_begin_at_us(*begin * 1'000'000);
  return {};
}

Result<void> set_nice(wire::UpdateJob& u, Text v) {
  const auto parsed = v.empty() ? std::optional<std::int64_t>{100} : parse_integer(v);
  if (!parsed || *parsed > 2147483645 || *parsed < -2147483645)
    return fail(Errc::invalid, "Invalid nice value, must be between -2147483645 and 2147483645");
  u.set_nice(static_cast<std::int32_t>(*parsed));
  return {};
}

Result<void> set_tasks(wire::UpdateJob& u, Text v) {
  MR_TRY(const auto n, update_number("NumTasks", v));
  u.set_tasks(n);
  return {};
}

// N or N-M: at least so many; it gets no more than it needs.
Result<void> set_min_cpus(wire::UpdateJob& u, Text v) {
  const std::size_t dash = v.find('-');
  MR_TRY(const auto least, update_number("NumCPUs", v.substr(0, dash)));
  MR_TRY(const auto most, update_number("NumCPUs", dash == Text::npos ? v : v.substr(dash + 1)));
  if (least == 0 || most < least) return bad_update_value("NumCPUs", v);
  u.set_min_cpus(least);
  return {};
}

Result<void> set_site_factor(wire::UpdateJob& u, Text v) {
  const auto parsed = parse_integer(v);
  if (!parsed || *parsed > 2147483645 || *parsed < -2147483645)
    return fail(Errc::invalid, "Invalid SiteFactor, must be between -2147483645 and 2147483645");
  u.mutable_extras()->set_site_factor(static_cast<std::int32_t>(*parsed));
  return {};
}

Result<void> set_memory(wire::UpdateJob& u, Text v, bool per_cpu) {
  const auto size = parse_size_mib(v);
  if (!size) return bad_update_value(per_cpu ? "MinMemoryCPU" : "MinMemoryNode", v);
  per_cpu ? u.set_memory_per_cpu_mib(*size) : u.set_memory_per_node_mib(*size);
  return {};
}

Result<bool> yes_no(Text key, Text v) {
  const bool yes = v == "1" || equals_ignoring_case(v, "yes");
  if (!yes && v != "0" && !equals_ignoring_case(v, "no")) return bad_update_value(key, v);
  return yes;
}

// NO is whole nodes; OK, YES and USER are the other ways.
Result<void> set_sharing(wire::UpdateJob& u, Text v) {
  const std::string word = lower(v);
  if (word == "no" || word == "0")
    u.set_exclusive(true), u.set_oversubscribe(false);
  else if (word == "yes" || word == "1")
    u.set_exclusive(false), u.set_oversubscribe(true);
  else if (word == "ok")
    u.set_exclusive(false), u.set_oversubscribe(false);
  else if (word == "user")
    u.set_exclusive(false), u.mutable_resources()->set_exclusive_user(true);
  else
    return bad_update_value("OverSubscribe", v);
  return {};
}

// gres/gpu:8, gpu:8 or gpu=8
Result<std::uint64_t> for_each_gpu(Text key, Text v, bool is_size) {
  Text rest = v;
  if (rest.starts_with("gres/") || rest.starts_with("gres:")) rest.remove_prefix(5);
  if (!rest.starts_with("gpu:") && !rest.starts_with("gpu=")) return bad_update_value(key, v);
  const auto size = is_size ? parse_size_mib(rest.substr(4)) : std::nullopt;
  if (size) return *size;
  if (is_size) return bad_update_value(key, v);
  MR_TRY(const std::uint32_t count, update_number(key, rest.substr(4)));
  return count;
}

Result<void> set_cpus_per_gpu(wire::UpdateJob& u, Text v) {
  MR_TRY(const std::uint64_t count, for_each_gpu("CpusPerTres", v, false));
  u.mutable_resources()->set_cpus_per_gpu(static_cast<std::uint32_t>(count));
  return {};
}

Result<void> set_memory_per_gpu(wire::UpdateJob& u, Text v) {
  MR_TRY(const std::uint64_t size, for_each_gpu("MemPerTres", v, true));
  u.mutable_resources()->set_memory_per_gpu_mib(size);
  return {};
}

Result<void> set_tmp_disk(wire::UpdateJob& u, Text v) {
  const auto size = parse_size_mib(v);
  if (!size) return bad_update_value("MinTmpDiskNode", v);
  u.mutable_resources()->set_tmp_disk_mib(*size);
  return {};
}

Result<void> set_switches(wire::UpdateJob& u, Text v) {
  MR_TRY(const resource::SwitchAsk ask, resource::parse_switches(v));
  u.mutable_resources()->set_switches(ask.count);
  u.mutable_resources()->set_switches_wait_seconds(ask.wait_seconds);
  return {};
}

Result<void> set_time_min(wire::UpdateJob& u, Text v) {
  const auto minutes = parse_limit_minutes(v);
  if (!minutes) return bad_update_value("TimeMin", v);
  u.mutable_resources()->set_time_min_minutes(*minutes == UINT32_MAX ? 0 : *minutes);
  return {};
}

Result<void> set_deadline(wire::UpdateJob& u, Text v) {
  const auto at = parse_time_of_day(v, time(nullptr));
  if (!at) return bad_update_value("Deadline", v);
  u.mutable_resources()->set_deadline_us(*at * 1'000'000);
  return {};
}

Result<void> set_mail_types(wire::UpdateJob& u, Text v) {
  const auto types = parse_mail_types(v);
  if (!types) return bad_update_value("MailType", v);
  u.mutable_extras()->set_mail_types(*types);
  return {};
}

Result<void> set_specialised(wire::UpdateJob& u, Text key, Text v, bool threads) {
  if (v == "*" || v == "-1") return u.mutable_extras()->set_core_spec(no_core_spec), Result<void>{};
  MR_TRY(const auto n, update_number(key, v));
  u.mutable_extras()->set_core_spec(n);
  u.mutable_extras()->set_threads_spec(threads);
  return {};
}

Result<void> set_delay_boot(wire::UpdateJob& u, Text v) {
  const auto minutes = parse_limit_minutes(v);
  if (!minutes || *minutes == UINT32_MAX) return bad_update_value("DelayBoot", v);
  u.mutable_extras()->set_delay_boot_seconds(*minutes * 60);
  return {};
}

Result<void> set_end(wire::UpdateJob& u, Text v) {
  const auto end = parse_time_of_day(v, time(nullptr));
  if (!end) return bad_update_value("EndTime", v);
  u.set_end_at_us(*end * 1'000'000);
  return {};
}

struct JobUpdateKey {
  std::string_view name;
  Result<void> (*set)(wire::UpdateJob& update, Text value);  // nullptr: known and refused
  std::string_view why{};                                    // it is
  std::size_t letters = 0;                                   // so many are enough, whatever else begins like that
};

// clang-format off
constexpr JobUpdateKey job_keys[] = {
    {"Account", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_account(std::string{v}); return {}; }, {}, 1},
    {"ArrayTaskThrottle", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("ArrayTaskThrottle", v)); u.set_array_throttle(n); return {}; }},
    {"Comment", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_comment(std::string{v}); return {}; }},
    {"CPUsPerTask", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("CPUsPerTask", v)); u.set_cpus_per_task(n); return {}; }},
    {"Dependency", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_dependency(std::string{v}); return {}; }, {}, 1},
    {"EligibleTime", set_start, {}, 2},
    {"ExcNodeList", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_excluded_nodes(std::string{v}); return {}; }},
    {"JobName", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_name(std::string{v}); return {}; }},
    {"Name", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_name(std::string{v}); return {}; }, {}, 2},
    {"MinMemoryCPU", [](wire::UpdateJob& u, Text v) { return set_memory(u, v, true); }},
    {"MinMemoryNode", [](wire::UpdateJob& u, Text v) { return set_memory(u, v, false); }},
    {"Nice", set_nice, {}, 2},
    {"NumNodes", set_nodes},
    {"ReqNodes", set_nodes},
    {"NumTasks", set_tasks},
    {"Partition", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_partition(std::string{v}); return {}; }, {}, 2},
    {"Priority", [](wire::UpdateJob& u, Text v) -> Result<void> { return set_priority(u, v); }, {}, 2},
    {"ReqNodeList", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_required_nodes(std::string{v}); return {}; }},
    {"NodeList", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_required_nodes(std::string{v}); return {}; }},
    {"Requeue", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("Requeue", v)); u.set_requeue(n != 0); return {}; }},
    {"StartTime", set_start, {}, 2},
    {"StdErr", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_std_err(std::string{v}); return {}; }},
    {"StdOut", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_std_out(std::string{v}); return {}; }},
    {"TimeLimit", set_time_limit},
    {"QOS", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_qos(std::string{v}); return {}; }, {}, 2},
    {"WorkDir", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_work_dir(std::string{v}); return {}; }},
    {"Contiguous", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const bool on, yes_no("Contiguous", v)); u.mutable_resources()->set_contiguous(on); return {}; }},
    {"CpusPerTres", set_cpus_per_gpu},
    {"Deadline", set_deadline},
    {"Features", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_features(std::string{v}); return {}; }, {}, 1},
    {"Gres", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_gres(std::string{v}); return {}; }, {}, 2},
    {"Licenses", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_licenses(std::string{v}); return {}; }, {}, 1},
    {"MemPerTres", set_memory_per_gpu},
    {"MinCPUsNode", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("MinCPUsNode", v)); u.set_min_cpus_per_node(n); return {}; }},
    {"MinTmpDiskNode", set_tmp_disk},
    {"OverSubscribe", set_sharing, {}, 2},
    {"Shared", set_sharing, {}, 2},
    {"Prefer", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_prefer(std::string{v}); return {}; }},
    {"ReqCores", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("ReqCores", v)); u.mutable_resources()->set_cores_per_socket(n); return {}; }},
    {"ReqSockets", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("ReqSockets", v)); u.mutable_resources()->set_sockets_per_node(n); return {}; }},
    {"ReqThreads", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("ReqThreads", v)); u.mutable_resources()->set_threads_per_core(n); return {}; }},
    {"ReservationName", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_reservation(std::string{v}); return {}; }, {}, 3},
    {"Switches", set_switches},
    {"SegmentSize", [](wire::UpdateJob& u, Text v) -> Result<void> {
       const auto count = parse_integer(v);
       if (!count || *count < 0 || *count > 65535) return bad_update_value("SegmentSize", v);
       u.mutable_resources()->set_segment(static_cast<std::uint32_t>(*count));
       return {};
     }},
    {"SpreadSegments", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const bool on, yes_no("SpreadSegments", v)); u.mutable_resources()->set_spread_segments(on); return {}; }},
    {"ConsolidateSegments", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const bool on, yes_no("ConsolidateSegments", v)); u.mutable_resources()->set_consolidate_segments(on); return {}; }},
    {"TasksPerNode", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("TasksPerNode", v)); u.set_tasks_per_node(n); return {}; }},
    {"TimeMin", set_time_min},
    {"TresPerJob", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_gpus(std::string{v}); return {}; }},
    {"TresPerNode", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_gres(std::string{v}); return {}; }},
    {"TresPerSocket", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_gpus_per_socket(std::string{v}); return {}; }},
    {"TresPerTask", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_tres_per_task(std::string{v}); return {}; }},
    {"AdminComment", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_extras()->set_admin_comment(std::string{v}); return {}; }},
    {"CoreSpec", [](wire::UpdateJob& u, Text v) { return set_specialised(u, "CoreSpec", v, false); }},
    {"DelayBoot", set_delay_boot},
    {"EndTime", set_end, {}, 2},
    {"Extra", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_extras()->set_extra(std::string{v}); return {}; }},
    {"MailType", set_mail_types},
    {"MailUser", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_extras()->set_mail_user(std::string{v}); return {}; }},
    {"StdIn", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_std_in(std::string{v}); return {}; }},
    {"ThreadSpec", [](wire::UpdateJob& u, Text v) { return set_specialised(u, "ThreadSpec", v, true); }},
    {"WCKey", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_extras()->set_wckey(std::string{v}); return {}; }, {}, 1},
    {"Reboot", [](wire::UpdateJob& u, Text v) -> Result<void> {
       if (v != "0" && v != "1" && !equals_ignoring_case(v, "yes") && !equals_ignoring_case(v, "no")) return bad_update_value("Reboot", v);
       u.mutable_extras()->set_reboot(v == "1" || equals_ignoring_case(v, "yes"));
       return {};
     }},
    {"BurstBuffer", nullptr, "there are no burst buffers"},
    {"ClusterFeatures", nullptr, "there is no federation"},
    {"Clusters", nullptr, "there is no federation"},
    {"MCSLabel", nullptr, "there are no security categories (MCSPlugin=mcs/none)"},
    {"ReqProcs", set_tasks},
    {"NumCPUs", set_min_cpus},
    {"ResetAccrueTime", [](wire::UpdateJob& u, Text v) -> Result<void> { if (!v.empty()) return bad_update_value("ResetAccrueTime", v); u.set_reset_accrue_time(true); return {}; }},
    {"SiteFactor", set_site_factor},
    {"TresBind", nullptr, "what tasks are bound to is settled at submission"},
    {"TresFreq", nullptr, "frequencies stay as the system has them"},
    {"UserID", nullptr, "a job stays with its owner; with JobName= and without JobId= it says whose jobs are meant"},
};
// clang-format on

// A running job has fewer nodes now, of which its shells know nothing yet. Of one that waits there is nothing to say.
int tell_shells(Scontrol& self, const wire::JobName& name) {
  wire::Request request;
  *request.mutable_query_jobs()->add_jobs() = name;
  const auto reply = self.ask(request);
  if (!reply) return say_plain("slurm_load_jobs error: " + reply.error().story), 1;
  for (const wire::JobView& job : reply->jobs().jobs()) {
    if (job.state() != wire::RUNNING) continue;
    const auto words = write_resize_scripts(job);
    if (!words) return say_error(self.command, words.error().story), 1;
    print(*words);
  }
  return 0;
}

int send_job(Scontrol& self, const wire::UpdateJob& update, Text ids) {
  int code = 0;
  for (const Text word : split_outside_brackets(ids)) {
    const auto name = parse_job_name(word);
    if (!name) {
      self.complain(told(name.error(), "Invalid job id specified for job " + std::string{word}));
      code = 1;
      continue;
    }
    wire::Request request;
    *request.mutable_update_job() = update;
    request.mutable_update_job()->mutable_job()->set_job_id(name->id);
    request.mutable_update_job()->mutable_job()->set_tasks(name->tasks);
    const auto reply = self.ask(request);
    if (!reply) {
      self.complain(reply.error().story + " for job " + std::string{word});
      code = 1;
      continue;
    }
    for (const auto& failed : reply->jobs_changed().failed()) {
      self.complain(failed.text() + " for job " + failed.job());
      code = 1;
    }
    const bool resizes = update.has_min_nodes() || update.has_required_nodes();
    if (resizes && reply->jobs_changed().failed().empty())
      code = std::max(code, tell_shells(self, request.update_job().job()));
  }
  return code;
}

// By its name, or by the beginning of it that no other has.
const JobUpdateKey* find_job_key(Text word) {
  const JobUpdateKey* found = nullptr;
  for (const JobUpdateKey& key : job_keys) {
    if (equals_ignoring_case(key.name, word) || (key.letters != 0 && is_update_key(word, key.name, key.letters)))
      return &key;
    if (!is_update_key(word, key.name)) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

}  // namespace

int update_job(Scontrol& self, const std::vector<UpdatePair>& pairs, Text ids) {
  wire::UpdateJob update;
  bool any = false;
  for (const UpdatePair& pair : pairs) {
    if (is_update_key(pair.key, "JobId")) continue;
    const JobUpdateKey* row = find_job_key(pair.key);
    const bool stands_alone = row != nullptr && (row->set == set_nice || row->name == "ResetAccrueTime");
    if (!pair.has_value && !stands_alone) return refuse_update_word(pair.key);
    if (row == nullptr) return refuse_update_key(pair.key, pair.value);
    std::string value = pair.value;
    if (pair.op != '=') {
      const bool appends = pair.op == '+' && row->name == "AdminComment";
      if (!appends && row->set != set_time_limit)
        return say_error(self.command,
                         "Option " + pair.key + pair.op + '=' + pair.value + " does not accept [+|-]= syntax"),
               1;
      if (appends)
        update.set_append_admin_comment(true);
      else
        value.insert(value.begin(), pair.op);
    }
    if (row->set == nullptr) {
      say_plain("update " + std::string{row->name} + "= is refused in Millrace: " + std::string{row->why});
      return 1;
    }
    if (const auto done = row->set(update, value); !done) {
      say_plain(done.error().story);
      return 1;
    }
    any = true;
  }
  if (!any) {
    say_plain("No changes specified");
    return 1;
  }
  return send_job(self, update, ids);
}

int update_jobs_of_name(Scontrol& self, const std::vector<UpdatePair>& pairs) {
  std::string name, user;
  std::vector<UpdatePair> changes;
  for (const UpdatePair& pair : pairs) {
    if (is_update_key(pair.key, "JobName", 4) || equals_ignoring_case(pair.key, "Name"))
      name = pair.value;
    else if (is_update_key(pair.key, "UserID", 4))
      user = pair.value;
    else
      changes.push_back(pair);
  }
  const auto uid = user.empty() ? std::nullopt : parse_user(user);
  if (!user.empty() && !uid) return say_error(self.command, "Invalid UserID: " + user), 1;
  wire::Request request;
  request.mutable_query_jobs()->set_brief(true);
  if (uid) request.mutable_query_jobs()->set_uid(*uid);
  const auto reply = self.ask(request);
  if (!reply) return say_plain("slurm_load_jobs error: " + reply.error().story), 1;
  std::set<std::uint32_t> ids;  // an array is changed as a whole
  for (const wire::JobView& job : reply->jobs().jobs())
    if (job.name() == name) ids.insert(job.array_job_id() != 0 ? job.array_job_id() : job.job_id());
  if (ids.empty()) return say_error(self.command, "No jobs with name '" + name + "'"), 1;
  std::string list;
  for (const std::uint32_t id : ids) list += (list.empty() ? "" : ",") + std::to_string(id);
  return update_job(self, changes, list);
}

std::vector<std::string_view> job_update_keys() {
  std::vector<std::string_view> out;
  for (const JobUpdateKey& key : job_keys)
    if (key.set != nullptr) out.push_back(key.name);
  return out;
}

}  // namespace millrace
