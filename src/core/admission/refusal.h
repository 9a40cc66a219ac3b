// src/core/admission/refusal.h - why a command was not carried out: Slurm's number and text for it, and our words.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/ledger/event.h"

namespace millrace {

// The value is Slurm's error number: clients and scripts know it.
enum class RefusalCode : std::uint16_t {
  unspecified = 1,
  no_such_process = 3,
  invalid_partition = 2000,
  no_default_partition = 2001,
  access_denied = 2002,
  group_not_permitted = 2003,
  nodes_not_in_partition = 2004,
  invalid_node_count = 2006,
  too_many_jobs = 2007,
  script_missing = 2009,
  invalid_user = 2010,
  too_long = 2012,
  node_configuration_unavailable = 2014,
  nodes_busy = 2016,
  invalid_job_id = 2017,
  invalid_node_name = 2018,
  no_room = 2019,
  already_done = 2021,
  bad_distribution = 2023,
  job_pending = 2024,
  bad_task_count = 2025,
  invalid_node_state = 2028,
  invalid_feature = 2029,
  active_not_available = 2031,
  not_supported = 2036,
  disabled = 2037,
  dependency = 2038,
  job_held = 2042,
  invalid_task_memory = 2044,
  invalid_account = 2045,
  invalid_licenses = 2048,
  accounting_policy = 2050,
  invalid_time_limit = 2051,
  missing_time_limit = 8000,
  topology_unavailable = 2178,
  segment_does_not_fit = 7204,
  reservation_access = 2052,
  reservation_invalid = 2053,
  invalid_time = 2054,
  reservation_busy = 2055,
  invalid_wckey = 2057,
  reservation_overlap = 2058,
  too_few_ports = 2060,
  prolog_running = 2061,
  missing_work_dir = 2063,
  invalid_qos = 2066,
  invalid_cpu_count = 2069,
  partition_not_available = 2070,
  circular_dependency = 2071,
  invalid_gres = 2072,
  not_pending = 2073,
  partition_in_use = 2075,
  suspended = 2077,
  reservation_empty = 2080,
  invalid_array = 2081,
  reservation_name_taken = 2082,
  already_finished = 2084,
  not_running = 2085,
  not_pending_nor_running = 2086,
  not_suspended = 2087,
  duplicate_trigger = 2089,
  cannot_modify_cron = 2096,
  cannot_cancel_cron = 2098,
  not_het_job = 2106,
  not_whole_het_job = 2108,
  batch_constraint = 2114,
  invalid_tres = 2115,
  invalid_nice = 2123,
  invalid_time_min = 2124,
  invalid_sluid = 2185,
  reservation_user_group = 2129,
  invalid_prefer = 2133,
  too_many_components = 2148,
  no_token = 6009,
  jobs_on_association = 7001,
  default_account_needed = 7009,
};
const char* slurm_text(RefusalCode code);

struct Refusal {
  RefusalCode code{};
  std::vector<std::string> notes;  // whole lines that say what exactly was wrong and what would be right
};

using Decision = std::expected<std::vector<Event>, Refusal>;

inline std::unexpected<Refusal> refuse(RefusalCode code, std::string note = {}) {
  Refusal refusal{code, {}};
  if (!note.empty()) refusal.notes.push_back(std::move(note));
  return std::unexpected(std::move(refusal));
}

// Who asks, proved by the transport.
struct Actor {
  UserId uid;
  bool is_admin = false;     // root, SlurmUser, or an administrator by sacctmgr
  bool is_operator = false;  // may change jobs, reservations and accounts of all, and neither nodes nor the daemons
  std::string name{};        // where it is known
  std::vector<std::string> accounts{};  // it coordinates, those below them included; sorted
  bool is_super = false;                // root or SlurmUser: may act as other users
};

}  // namespace millrace
