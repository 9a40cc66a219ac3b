// src/cli/sacct_completion.cpp - see sacct_completion.h.
#include "cli/sacct_completion.h"

#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "base/text.h"

namespace millrace {
namespace {

using Text = std::string_view;

// In the order in which they are written. Values may have blanks: each goes on to the next key.
constexpr Text keys[] = {"JobId",        "UserId",          "GroupId",      "Name",       "JobState",    "Partition",
                         "TimeLimit",    "StartTime",       "EndTime",      "NodeList",   "NodeCnt",     "ProcCnt",
                         "WorkDir",      "ReservationName", "Tres",         "Account",    "QOS",         "WcKey",
                         "Cluster",      "SubmitTime",      "EligibleTime", "ArrayJobId", "ArrayTaskId", "HetJobId",
                         "HetJobOffset", "DerivedExitCode", "ExitCode"};

std::map<Text, std::string> fields_of(Text line) {
  std::map<Text, std::string> out;
  Text open;
  std::size_t from = 0;
  const auto close = [&](std::size_t until) {
    if (!open.empty()) out[open] = std::string{trim(line.substr(from, until - from))};
  };
  std::size_t at = 0;
  for (const Text key : keys) {
    const std::string mark = (at == 0 ? "" : " ") + std::string{key} + "=";
    const std::size_t found = at == 0 ? (line.starts_with(mark) ? 0 : Text::npos) : line.find(mark, at);
    if (found == Text::npos) continue;
    close(found);
    open = key;
    from = at = found + mark.size();
    if (at > 0) --at;  // the blank before the next key may come at once
  }
  close(line.size());
  return out;
}

std::int64_t moment(const std::string& text) {
  std::tm local{};
  if (text.empty() || strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &local) == nullptr) return 0;
  local.tm_isdst = -1;
  return static_cast<std::int64_t>(mktime(&local)) * 1'000'000;
}

std::uint32_t number(const std::string& text) {
  const auto value = parse_integer(text);
  return value && *value > 0 && *value <= UINT32_MAX ? static_cast<std::uint32_t>(*value) : 0;
}

// alice(1000)
void owner(const std::string& text, std::string* name, std::uint32_t& id) {
  const std::size_t open = text.rfind('(');
  if (open == std::string::npos || !text.ends_with(')')) return;
  *name = text.substr(0, open);
  id = number(text.substr(open + 1, text.size() - open - 2));
}

std::pair<std::uint32_t, std::uint32_t> exit_pair(const std::string& text) {
  const std::size_t colon = text.find(':');
  return {number(text.substr(0, colon)), colon == std::string::npos ? 0 : number(text.substr(colon + 1))};
}

std::optional<wire::JobView> record_of(Text line) {
  std::map<Text, std::string> f = fields_of(line);
  wire::JobView job;
  job.set_job_id(number(f["JobId"]));
  wire::JobStateName state{};
  if (job.job_id() == 0 || !wire::JobStateName_Parse(f["JobState"], &state)) return std::nullopt;
  job.set_state(state);
  std::uint32_t uid = 0, gid = 0;
  owner(f["UserId"], job.mutable_user_name(), uid);
  owner(f["GroupId"], job.mutable_group_name(), gid);
  job.set_uid(uid);
  job.set_gid(gid);
  job.set_name(f["Name"]);
  job.set_partition(f["Partition"]);
  job.set_time_limit_minutes(f["TimeLimit"] == "UNLIMITED" ? UINT32_MAX : number(f["TimeLimit"]));
  job.set_start_at_us(moment(f["StartTime"]));
  job.set_end_at_us(moment(f["EndTime"]));
  job.set_submit_at_us(moment(f["SubmitTime"]));
  job.set_eligible_at_us(moment(f["EligibleTime"]));
  if (f["NodeList"] != "(null)") job.set_nodes(f["NodeList"]);
  job.set_node_count(number(f["NodeCnt"]));
  job.set_cpus(number(f["ProcCnt"]));
  job.set_work_dir(f["WorkDir"]);
  job.mutable_resources()->set_reservation(f["ReservationName"]);
  job.set_account(f["Account"]);
  job.set_qos(f["QOS"]);
  job.mutable_extras()->set_wckey(f["WcKey"]);
  job.mutable_extras()->set_derived_exit(f["DerivedExitCode"]);
  if (number(f["ArrayJobId"]) != 0) {
    job.set_array_job_id(number(f["ArrayJobId"]));
    if (const auto task = parse_integer(f["ArrayTaskId"]); task && *task >= 0 && *task < UINT32_MAX)
      job.set_array_task(static_cast<std::uint32_t>(*task));
    else
      job.set_array_tasks(f["ArrayTaskId"]);
  }
  job.set_het_job_id(number(f["HetJobId"]));
  job.set_het_job_offset(number(f["HetJobOffset"]));
  const auto [code, signal] = exit_pair(f["ExitCode"]);
  job.set_exit_code(code);
  job.set_exit_signal(signal);
  job.mutable_accounted()->set_started(job.start_at_us() != 0);
  return job;
}

}  // namespace

wire::Jobs parse_completions(Text text, std::uint64_t& odd) {
  wire::Jobs out;
  std::uint64_t place = 0;
  for (const Text line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    auto record = record_of(line);
    if (!record) {
      ++odd;
      continue;
    }
    record->mutable_accounted()->set_key(++place);  // as they stand in the file
    *out.add_jobs() = *std::move(record);
  }
  return out;
}

Result<std::string> read_completion_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return fail(Errc::io, "open " + path + ": it cannot be read");
  return std::string{std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace millrace
