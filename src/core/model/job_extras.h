// src/core/model/job_extras.h - what a job carries beside its request: who is told of it, words kept with it, how its
// environment is made.
#pragma once

#include "base/quantity.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

enum MailType : std::uint32_t {  // written to the log: never reorder
  mail_begin = 1,
  mail_end = 2,
  mail_fail = 4,
  mail_requeue = 8,
  mail_invalid_depend = 16,
  mail_stage_out = 32,  // nothing is staged here: known, never sent
  mail_time_limit_50 = 64,
  mail_time_limit_80 = 128,
  mail_time_limit_90 = 256,
  mail_time_limit = 512,
  mail_array_tasks = 1024,  // of each task; without it of the array as a whole
};

constexpr std::uint32_t no_core_spec = UINT32_MAX;  // of one that was changed: as if nothing had been said

struct JobExtras {
  std::uint32_t mail_types = 0;
  std::string mail_user{};  // empty: the owner
  std::string wckey{}, extra{}, admin_comment{}, system_comment{}, network{}, acctg_freq{}, profile{}, cpu_freq{},
      gpu_freq{};
  std::optional<std::uint32_t>
      core_spec{};  // cores of each node that are kept for the system, whatever the node's line says; 0: it uses all
  bool threads_spec = false;     // core_spec counts threads
  bool reboot = false;           // its nodes are rebooted before it begins
  std::uint32_t resv_ports = 0;  // its steps will want so many ports at least
  bool no_allocate = false;      // it takes nothing of its nodes from other jobs, and asks nobody
  std::uint32_t delay_boot_seconds = 0;
  bool overcommit = false;     // CPUs for one task on each node, however many tasks there are
  std::string cron{};          // the times of a job of scrontab, as the user wrote them: it comes again after each end
  std::string derived_exit{};  // "1:0", set by somebody afterwards; empty: the highest of its steps
  bool no_kill = false;        // it goes on without the nodes that fail
  std::string batch_features{};  // what the node of the script has to have
  std::int32_t site_factor = 0;  // an operator's, added to its priority
  Time accrue_from{};            // its age begins then at the earliest; not set: with the time it became eligible
  std::string
      user_env{};  // --get-user-env: S or L, then the seconds it may take; empty: the submitter's environment alone
  bool operator==(const JobExtras&) const = default;
};

// "BEGIN,END" and the like, NONE, ALL; in any case. Nothing: a word is unknown.
std::optional<std::uint32_t> parse_mail_types(std::string_view text);
std::string mail_types_text(std::uint32_t types);
// Addresses with commas between them. Nothing that a mail program, which runs as the controller's user, could take for
// an option, a file or a command.
bool is_mail_address(std::string_view text);

// The seconds between two looks at the usage of tasks in "task=30,energy=0" or "30"; nothing: it says nothing of that,
// or is wrong.
std::optional<std::uint32_t> task_sampling_seconds(std::string_view acctg_freq);
bool is_acctg_freq(std::string_view text);

}  // namespace millrace
