// src/cli/scontrol_update.cpp - scontrol update: jobs, nodes and partitions, one row per key.
#include <time.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_values.h"
#include "cli/options/resource_setters.h"
#include "cli/scontrol.h"
#include "cli/step_names.h"
#include "config/entity_lines.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

using Text = std::string_view;

std::unexpected<Error> bad(Text key, Text value) {
  return fail(Errc::invalid, "Invalid " + std::string{key} + " value: " + std::string{value});
}

Result<std::uint32_t> number(Text key, Text value) {
  const auto parsed = parse_integer(value);
  if (!parsed || *parsed < 0 || *parsed >= UINT32_MAX) return bad(key, value);
  return static_cast<std::uint32_t>(*parsed);
}

Result<void> set_time_limit(wire::UpdateJob& u, Text v) {
  const bool change = !v.empty() && (v[0] == '+' || (v[0] == '-' && v != "-1"));
  const auto minutes = parse_limit_minutes(change ? v.substr(1) : v);
  if (!minutes) return fail(Errc::invalid, "Invalid TimeLimit value");
  if (change) u.set_time_limit_change_minutes(v[0] == '-' ? -static_cast<std::int32_t>(*minutes) : static_cast<std::int32_t>(*minutes));
  else u.set_time_limit_minutes(*minutes);
  return {};
}

// -1 and INFINITE: computed again.
Result<void> set_priority(wire::UpdateJob& u, Text v) {
  if (v == "-1" || equals_ignoring_case(v, "infinite") || v == "4294967295") return u.set_priority(UINT32_MAX), Result<void>{};
  MR_TRY(const auto n, number("Priority", v));
  u.set_priority(n);
  return {};
}

Result<void> set_nodes(wire::UpdateJob& u, Text v) {
  MR_TRY(const NodeCount count, parse_node_count(v));
  u.set_min_nodes(count.least);
  u.set_max_nodes(count.most);
  return {};
}

Result<void> set_start(wire::UpdateJob& u, Text v) {
  const auto begin = parse_time_of_day(v, time(nullptr));
  if (!begin) return bad("StartTime", v);
  u.set_begin_at_us(*begin * 1'000'000);
  return {};
}

Result<void> set_nice(wire::UpdateJob& u, Text v) {
  const auto parsed = v.empty() ? std::optional<std::int64_t>{100} : parse_integer(v);
  if (!parsed || *parsed > 2147483645 || *parsed < -2147483645) return fail(Errc::invalid, "Invalid nice value, must be between -2147483645 and 2147483645");
  u.set_nice(static_cast<std::int32_t>(*parsed));
  return {};
}

Result<void> set_tasks(wire::UpdateJob& u, Text v) {
  MR_TRY(const auto n, number("NumTasks", v));
  u.set_tasks(n);
  return {};
}

Result<void> set_memory(wire::UpdateJob& u, Text v, bool per_cpu) {
  const auto size = parse_size_mib(v);
  if (!size) return bad(per_cpu ? "MinMemoryCPU" : "MinMemoryNode", v);
  per_cpu ? u.set_memory_per_cpu_mib(*size) : u.set_memory_per_node_mib(*size);
  return {};
}

Result<bool> yes_no(Text key, Text v) {
  const bool yes = v == "1" || equals_ignoring_case(v, "yes");
  if (!yes && v != "0" && !equals_ignoring_case(v, "no")) return bad(key, v);
  return yes;
}

// NO is whole nodes; OK, YES and USER are the other ways.
Result<void> set_sharing(wire::UpdateJob& u, Text v) {
  const std::string word = lower(v);
  if (word == "no" || word == "0") u.set_exclusive(true), u.set_oversubscribe(false);
  else if (word == "yes" || word == "1") u.set_exclusive(false), u.set_oversubscribe(true);
  else if (word == "ok") u.set_exclusive(false), u.set_oversubscribe(false);
  else if (word == "user") u.set_exclusive(false), u.mutable_resources()->set_exclusive_user(true);
  else return bad("OverSubscribe", v);
  return {};
}

// gres/gpu:8, gpu:8 or gpu=8
Result<std::uint64_t> for_each_gpu(Text key, Text v, bool is_size) {
  Text rest = v;
  if (rest.starts_with("gres/") || rest.starts_with("gres:")) rest.remove_prefix(5);
  if (!rest.starts_with("gpu:") && !rest.starts_with("gpu=")) return bad(key, v);
  const auto size = is_size ? parse_size_mib(rest.substr(4)) : std::nullopt;
  if (size) return *size;
  if (is_size) return bad(key, v);
  MR_TRY(const std::uint32_t count, number(key, rest.substr(4)));
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
  if (!size) return bad("MinTmpDiskNode", v);
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
  if (!minutes) return bad("TimeMin", v);
  u.mutable_resources()->set_time_min_minutes(*minutes == UINT32_MAX ? 0 : *minutes);
  return {};
}

Result<void> set_deadline(wire::UpdateJob& u, Text v) {
  const auto at = parse_time_of_day(v, time(nullptr));
  if (!at) return bad("Deadline", v);
  u.mutable_resources()->set_deadline_us(*at * 1'000'000);
  return {};
}

Result<void> set_mail_types(wire::UpdateJob& u, Text v) {
  const auto types = parse_mail_types(v);
  if (!types) return bad("MailType", v);
  u.mutable_extras()->set_mail_types(*types);
  return {};
}

Result<void> set_specialised(wire::UpdateJob& u, Text key, Text v, bool threads) {
  if (v == "*" || v == "-1") return u.mutable_extras()->set_core_spec(no_core_spec), Result<void>{};
  MR_TRY(const auto n, number(key, v));
  u.mutable_extras()->set_core_spec(n);
  u.mutable_extras()->set_threads_spec(threads);
  return {};
}

Result<void> set_delay_boot(wire::UpdateJob& u, Text v) {
  const auto minutes = parse_limit_minutes(v);
  if (!minutes || *minutes == UINT32_MAX) return bad("DelayBoot", v);
  u.mutable_extras()->set_delay_boot_seconds(*minutes * 60);
  return {};
}

Result<void> set_end(wire::UpdateJob& u, Text v) {
  const auto end = parse_time_of_day(v, time(nullptr));
  if (!end) return bad("EndTime", v);
  u.set_end_at_us(*end * 1'000'000);
  return {};
}

struct JobKey {
  std::string_view name;
  Result<void> (*set)(wire::UpdateJob& update, Text value);  // nullptr: known and refused
  std::string_view why{};                                    // it is
  std::size_t letters = 0;                                   // so many are enough, whatever else begins like that
};

// clang-format off
constexpr JobKey job_keys[] = {
    {"Account", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_account(std::string{v}); return {}; }, {}, 1},
    {"ArrayTaskThrottle", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("ArrayTaskThrottle", v)); u.set_array_throttle(n); return {}; }},
    {"Comment", [](wire::UpdateJob& u, Text v) -> Result<void> { u.set_comment(std::string{v}); return {}; }},
    {"CPUsPerTask", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("CPUsPerTask", v)); u.set_cpus_per_task(n); return {}; }},
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
    {"Requeue", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("Requeue", v)); u.set_requeue(n != 0); return {}; }},
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
    {"MinCPUsNode", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("MinCPUsNode", v)); u.set_min_cpus_per_node(n); return {}; }},
    {"MinTmpDiskNode", set_tmp_disk},
    {"OverSubscribe", set_sharing, {}, 2},
    {"Shared", set_sharing, {}, 2},
    {"Prefer", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_prefer(std::string{v}); return {}; }},
    {"ReqCores", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("ReqCores", v)); u.mutable_resources()->set_cores_per_socket(n); return {}; }},
    {"ReqSockets", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("ReqSockets", v)); u.mutable_resources()->set_sockets_per_node(n); return {}; }},
    {"ReqThreads", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("ReqThreads", v)); u.mutable_resources()->set_threads_per_core(n); return {}; }},
    {"ReservationName", [](wire::UpdateJob& u, Text v) -> Result<void> { u.mutable_resources()->set_reservation(std::string{v}); return {}; }, {}, 3},
    {"Switches", set_switches},
    {"SegmentSize", [](wire::UpdateJob& u, Text v) -> Result<void> {
       const auto count = parse_integer(v);
       if (!count || *count < 0 || *count > 65535) return bad("SegmentSize", v);
       u.mutable_resources()->set_segment(static_cast<std::uint32_t>(*count));
       return {};
     }},
    {"SpreadSegments", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const bool on, yes_no("SpreadSegments", v)); u.mutable_resources()->set_spread_segments(on); return {}; }},
    {"ConsolidateSegments", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const bool on, yes_no("ConsolidateSegments", v)); u.mutable_resources()->set_consolidate_segments(on); return {}; }},
    {"TasksPerNode", [](wire::UpdateJob& u, Text v) -> Result<void> { MR_TRY(const auto n, number("TasksPerNode", v)); u.set_tasks_per_node(n); return {}; }},
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
       if (v != "0" && v != "1" && !equals_ignoring_case(v, "yes") && !equals_ignoring_case(v, "no")) return bad("Reboot", v);
       u.mutable_extras()->set_reboot(v == "1" || equals_ignoring_case(v, "yes"));
       return {};
     }},
    {"BurstBuffer", nullptr, "there are no burst buffers"},
    {"ClusterFeatures", nullptr, "there is no federation"},
    {"Clusters", nullptr, "there is no federation"},
    {"MCSLabel", nullptr, "there are no security categories (MCSPlugin=mcs/none)"},
    {"ReqProcs", set_tasks},
    {"NumCPUs", nullptr, "NumTasks and CPUsPerTask say how many CPUs a waiting job asks for"},
    {"ResetAccrueTime", nullptr, "the age of a job is its own"},
    {"SiteFactor", nullptr, "there is no site factor of priorities"},
    {"TresBind", nullptr, "what tasks are bound to is settled at submission"},
    {"TresFreq", nullptr, "frequencies stay as the system has them"},
    {"UserID", nullptr, "a job stays with its owner; with JobName= and without JobId= it says whose jobs are meant"},
};
// clang-format on

struct NodeKey {
  std::string_view name;
  Result<void> (*set)(wire::UpdateNode& update, Text value);  // nullptr: known and refused
};

Result<void> set_node_features(wire::UpdateNode& u, Text v) { u.set_features(std::string{v}); return {}; }

Result<void> set_resume_after(wire::UpdateNode& u, Text v) {
  const bool ends = v == "-1" || equals_ignoring_case(v, "INFINITE") || equals_ignoring_case(v, "UNLIMITED");
  const auto seconds = ends ? std::optional<std::int64_t>{-1} : parse_integer(v);
  if (!seconds || (!ends && *seconds < 0) || *seconds > UINT32_MAX) return bad("ResumeAfter", v);
  u.set_resume_after_seconds(*seconds);
  return {};
}

// clang-format off
constexpr NodeKey node_keys[] = {
    {"State", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_state(upper_case(v)); return {}; }},
    {"Reason", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_reason(std::string{v}); return {}; }},
    {"Weight", [](wire::UpdateNode& u, Text v) -> Result<void> { MR_TRY(const auto n, number("Weight", v)); u.set_weight(n); return {}; }},
    {"AvailableFeatures", set_node_features},
    {"ActiveFeatures", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_active_features(std::string{v}); return {}; }},
    {"Features", set_node_features},
    {"Comment", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_comment(std::string{v}); return {}; }},
    {"Extra", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_extra(std::string{v}); return {}; }},
    {"NodeAddr", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_address(std::string{v}); return {}; }},
    {"NodeHostName", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_host_name(std::string{v}); return {}; }},
    {"InstanceId", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_instance_id(std::string{v}); return {}; }},
    {"InstanceType", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_instance_type(std::string{v}); return {}; }},
    {"ResumeAfter", set_resume_after},
    {"CertToken", nullptr}, {"CpuBind", nullptr}, {"Gres", nullptr}, {"Topology", nullptr},
};
// clang-format on

struct Pair {
  std::string key, value;
  bool has_value = true;
  char op = '=';  // or what stands before it
};

// Keys may be shortened to what is unique, but not below this.
bool is_key(Text word, Text key, std::size_t letters = 3) {
  return word.size() >= std::min(letters, key.size()) && word.size() <= key.size() && equals_ignoring_case(key.substr(0, word.size()), word);
}

// TimeLimit+=10 is TimeLimit=+10. `apart`: a value may also be the next word, "job 12"; only Nice and ResetAccrueTime stand alone.
std::vector<Pair> pairs_of(const Words& words, bool apart) {
  std::vector<Pair> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Text word = words[i];
    const std::size_t equals = word.find('=');
    Pair pair{std::string{word.substr(0, equals)}, equals == Text::npos ? std::string{} : std::string{word.substr(equals + 1)}, equals != Text::npos};
    if (!pair.has_value && apart && i + 1 < words.size() && !is_key(word, "Nice", 2) && !is_key(word, "ResetAccrueTime", 5)) pair.value = words[++i], pair.has_value = true;
    if (!pair.key.empty() && (pair.key.back() == '+' || pair.key.back() == '-')) {
      pair.op = pair.key.back();
      pair.key.pop_back();
    }
    out.push_back(std::move(pair));
  }
  return out;
}

int refuse_word(Text word) {
  say_plain("Invalid input: " + std::string{word} + "  Request aborted");
  return 1;
}

int refuse_key(Text key, Text value) {
  say_plain("Update of this parameter is not supported: " + std::string{key} + "=" + std::string{value});
  say_plain("Request aborted");
  return 1;
}

int send_job(Scontrol& self, const wire::UpdateJob& update, Text ids) {
  int code = 0;
  for (const Text word : split_outside_brackets(ids)) {
    const auto name = parse_job_name(word);
    if (!name) {
      self.complain("Invalid job id specified for job " + std::string{word});
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
  }
  return code;
}

// By its name, or by the beginning of it that no other has.
const JobKey* find_job_key(Text word) {
  const JobKey* found = nullptr;
  for (const JobKey& key : job_keys) {
    if (equals_ignoring_case(key.name, word) || (key.letters != 0 && is_key(word, key.name, key.letters))) return &key;
    if (!is_key(word, key.name)) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

int update_job(Scontrol& self, const std::vector<Pair>& pairs, Text ids) {
  wire::UpdateJob update;
  bool any = false;
  for (const Pair& pair : pairs) {
    if (is_key(pair.key, "JobId")) continue;
    const JobKey* row = find_job_key(pair.key);
    const bool stands_alone = row != nullptr && (row->set == set_nice || row->name == "ResetAccrueTime");
    if (!pair.has_value && !stands_alone) return refuse_word(pair.key);
    if (row == nullptr) return refuse_key(pair.key, pair.value);
    std::string value = pair.value;
    if (pair.op != '=') {
      const bool appends = pair.op == '+' && row->name == "AdminComment";
      if (!appends && row->set != set_time_limit) return say_error(self.command, "Option " + pair.key + pair.op + '=' + pair.value + " does not accept [+|-]= syntax"), 1;
      if (appends) update.set_append_admin_comment(true);
      else value.insert(value.begin(), pair.op);
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

// Without JobId: those of this name, of this user where one is named.
int update_jobs_of_name(Scontrol& self, const std::vector<Pair>& pairs) {
  std::string name, user;
  std::vector<Pair> changes;
  for (const Pair& pair : pairs) {
    if (is_key(pair.key, "JobName", 4) || equals_ignoring_case(pair.key, "Name")) name = pair.value;
    else if (is_key(pair.key, "UserID", 4)) user = pair.value;
    else changes.push_back(pair);
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

int send(Scontrol& self, wire::Request& request) {
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("slurm_update error: " + reply.error().story);
  return 1;
}

int update_node(Scontrol& self, const std::vector<Pair>& pairs, Text names) {
  wire::Request request;
  wire::UpdateNode* update = request.mutable_update_node();
  update->set_nodes(std::string{names});
  bool any = false;
  for (const Pair& pair : pairs) {
    if (!pair.has_value) return refuse_word(pair.key);
    if (is_key(pair.key, "NodeName")) continue;
    any = true;
    const auto row = std::ranges::find_if(node_keys, [&](const NodeKey& each) { return equals_ignoring_case(each.name, pair.key); });
    if (row == std::end(node_keys)) return refuse_key(pair.key, pair.value);
    if (row->set == nullptr) return scontrol_refuse(self, "update " + std::string{row->name} + "=");
    if (const auto set = row->set(*update, pair.value); !set) {
      say_plain(set.error().story);
      return 1;
    }
  }
  if (!any) {
    say_plain("No changes specified");
    return 1;
  }
  const std::string& state = update->state();
  const bool needs_reason = state == "DOWN" || state == "DRAIN" || state == "FAIL";
  if (needs_reason && update->reason().empty()) {
    say_plain("You must specify a reason when " + std::string{state == "FAIL" ? "FAILING" : "DOWNING or DRAINING"} + " a node. Request denied");
    return 1;
  }
  return send(self, request);
}

}  // namespace

// reboot [ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] ALL|NODES
int scontrol_reboot(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::UpdateNode& update = *request.mutable_update_node();
  update.set_state("REBOOT");
  for (const Text word : words) {
    const std::size_t equals = word.find('=');
    const Text key = word.substr(0, equals), value = equals == Text::npos ? Text{} : word.substr(equals + 1);
    if (equals_ignoring_case(word, "ASAP")) {
      update.set_state("REBOOT_ASAP");
    } else if (equals_ignoring_case(key, "nextstate")) {
      if (!equals_ignoring_case(value, "RESUME") && !equals_ignoring_case(value, "DOWN")) {
        say_plain("Invalid nextstate: " + std::string{value} + "; RESUME or DOWN would be right");
        return 1;
      }
      update.set_next_state(upper_case(value));
    } else if (equals_ignoring_case(key, "reason")) {
      update.set_reason(std::string{value});
    } else if (equals != Text::npos || !update.nodes().empty()) {
      say_plain("invalid option: " + std::string{word});
      return 1;
    } else {
      update.set_nodes(std::string{word});
    }
  }
  if (update.nodes().empty()) {
    say_plain("Missing node list. Specify ALL|NODELIST");
    return 1;
  }
  if (const auto reply = self.ask(request); !reply) {
    say_plain("scontrol_reboot_nodes error: " + reply.error().story);
    return 1;
  }
  return 0;
}

int scontrol_cancel_reboot(Scontrol& self, const Words& words) {
  if (words.size() != 1) {
    say_plain(words.empty() ? "Missing node list. Specify ALL|NODELIST" : "too many arguments for keyword:cancel_reboot");
    return 1;
  }
  wire::Request request;
  request.mutable_update_node()->set_nodes(std::string{words[0]});
  request.mutable_update_node()->set_state("CANCEL_REBOOT");
  if (const auto reply = self.ask(request); !reply) {
    say_plain("scontrol_cancel_reboot error: " + reply.error().story);
    return 1;
  }
  return 0;
}

// power up LIST, power down [asap|force] LIST
int scontrol_power(Scontrol& self, const Words& words) {
  const auto usage = [] {
    say_plain("expected: power up NODES, or power down [asap|force] NODES");
    return 1;
  };
  if (words.size() < 2) return usage();
  const bool up = equals_ignoring_case(words[0], "up");
  if (!up && !equals_ignoring_case(words[0], "down")) return usage();
  std::string state = up ? "POWER_UP" : "POWER_DOWN";
  if (words.size() == 3 && !up && (equals_ignoring_case(words[1], "asap") || equals_ignoring_case(words[1], "force"))) state += "_" + upper_case(words[1]);
  else if (words.size() != 2) return usage();
  wire::Request request;
  request.mutable_update_node()->set_nodes(std::string{words.back()});
  request.mutable_update_node()->set_state(state);
  return send(self, request);
}

int scontrol_create_nodes(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::CreateNodes& ask = *request.mutable_create_nodes();
  for (const Text word : words) {
    const std::size_t equals = word.find('=');
    if (equals_ignoring_case(word, "node")) continue;
    if (equals != Text::npos && equals_ignoring_case(word.substr(0, equals), "NodeName")) ask.set_names(std::string{word.substr(equals + 1)});
    else ask.set_configuration(ask.configuration() + (ask.configuration().empty() ? "" : " ") + std::string{word});
  }
  if (ask.names().empty()) {
    say_plain("NodeName must be given");
    return 1;
  }
  const auto reply = self.ask(request);
  if (reply) return print("Node " + ask.names() + " created\n");
  say_plain("Error creating the node: " + reply.error().story);
  return 1;
}

int scontrol_delete_nodes(Scontrol& self, Text word, Text names) {
  wire::Request request;
  request.mutable_delete_nodes()->set_names(std::string{names});
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("delete_node " + std::string{word} + ": " + reply.error().story);
  return 1;
}

namespace {

// TimeLimit is all that can be changed of a step.
int update_step(Scontrol& self, const std::vector<Pair>& pairs, Text id) {
  const auto name = parse_step_name(id);
  if (!name || !name->has_step()) return say_plain("Invalid job step id: " + std::string{id} + "; it is JOB.STEP, as in 12.0"), 1;
  wire::Request request;
  wire::UpdateStep* update = request.mutable_update_step();
  *update->mutable_step() = *name;
  bool said = false;
  for (const Pair& pair : pairs) {
    if (is_key(pair.key, "StepId", 4)) continue;
    if (!equals_ignoring_case(pair.key, "TimeLimit")) {
      say_plain("Update of this parameter is not supported: " + pair.key + "=" + pair.value + "; of a step TimeLimit can be changed");
      return 1;
    }
    const auto minutes = parse_limit_minutes(pair.value);
    if (!minutes) return say_plain("Invalid TimeLimit value"), 1;
    update->set_time_limit_minutes(*minutes == UINT32_MAX ? 0 : *minutes);
    said = true;
  }
  if (!said) return say_plain("No changes specified"), 1;
  return send(self, request);
}

}  // namespace

int scontrol_update(Scontrol& self, const Words& words) {
  const auto apart = pairs_of(words, true);
  for (const Pair& pair : apart)  // may name a reservation and a partition too
    if (is_key(pair.key, "JobId")) return update_job(self, apart, pair.value);
  const auto pairs = pairs_of(words, false);
  for (const Pair& pair : pairs)  // may name a partition too
    if (is_key(pair.key, "ReservationName")) return scontrol_reserve(self, words, true);
  for (const Pair& pair : pairs) {
    if (is_key(pair.key, "NodeName")) return update_node(self, pairs, pair.value);
    if (equals_ignoring_case(pair.key, "PartitionName")) return scontrol_set_partition(self, words, false);
    if (is_key(pair.key, "StepId", 4)) return update_step(self, pairs, pair.value);
    if (equals_ignoring_case(pair.key, "SlurmctldDebug")) return scontrol_set_log_level(self, {pair.value});
    for (const Text other : {"HetJobId", "SuspendExcNodes", "SuspendExcParts"})
      if (equals_ignoring_case(other, pair.key)) return scontrol_refuse(self, "update " + std::string{other} + "=");
  }
  for (const Pair& pair : apart)
    if (is_key(pair.key, "JobName", 4) || equals_ignoring_case(pair.key, "Name")) return update_jobs_of_name(self, apart);
  for (const Pair& pair : pairs)  // "partition=" says where a job shall be, and otherwise of whom it speaks
    if (pair.key.size() >= 3 && equals_ignoring_case(Text{"PartitionName"}.substr(0, pair.key.size()), pair.key)) return scontrol_set_partition(self, words, false);
  if (words.empty()) return say_plain("too few arguments for update keyword"), 1;
  say_plain("No valid entity in update command");
  say_plain("Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"");
  return 1;
}

std::vector<EntityKeys> scontrol_update_keys() {
  std::vector<EntityKeys> out{{"JobId", {}}, {"NodeName", {}}, {"PartitionName", {}}, {"ReservationName", scontrol_reservation_keys()}};
  for (const auto& key : job_keys)
    if (key.set != nullptr) out[0].keys.push_back(key.name);
  for (const NodeKey& key : node_keys)
    if (key.set != nullptr) out[1].keys.push_back(key.name);
  for (const PartitionKeyRow& key : partition_keys())
    if (key.built && !equals_ignoring_case(key.name, "PartitionName")) out[2].keys.push_back(key.name);
  return out;
}

}  // namespace millrace
