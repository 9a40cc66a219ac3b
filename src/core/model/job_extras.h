// src/core/model/job_extras.h - what a job carries beside its request: who is told of it, words kept with it, how its
// environment is made.
#pragma once

#include "base/fields.h"
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "mail_types", self.mail_types);
    visit(2, "mail_user", self.mail_user);
    visit(3, "wckey", self.wckey);
    visit(4, "extra", self.extra);
    visit(5, "admin_comment", self.admin_comment);
    visit(6, "system_comment", self.system_comment);
    visit(7, "network", self.network);
    visit(8, "acctg_freq", self.acctg_freq);
    visit(9, "profile", self.profile);
    visit(10, "cpu_freq", self.cpu_freq);
    visit(11, "gpu_freq", self.gpu_freq);
    visit(12, "core_spec", field::value_of(self.core_spec));
    visit(1020, "core_spec_said", field::presence_of(self.core_spec));
    visit(13, "threads_spec", self.threads_spec);
    visit(1021, "reboot", self.reboot);
    visit(1022, "resv_ports", self.resv_ports);
    visit(1023, "no_allocate", self.no_allocate);
    visit(14, "delay_boot_seconds", self.delay_boot_seconds);
    visit(15, "overcommit", self.overcommit);
    visit(880, "cron", self.cron);
    visit(990, "derived_exit", self.derived_exit);
    visit(950, "no_kill", self.no_kill);
    visit(952, "batch_features", self.batch_features);
    visit(1027, "site_factor", self.site_factor);
    visit(1028, "accrue_from", self.accrue_from);
    visit(16, "user_env", self.user_env);
  }
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
