// src/controller/settings.h - what the configuration says to the controller, and what its process does for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "controller/loop/config_facts.h"
#include "controller/loop/launch_plan.h"
#include "core/ledger/event.h"

namespace millrace {

struct ControllerSettings {
  ClusterFacts cluster;
  std::string host;
  std::string version;
  UserId slurm_user;
  Duration agent_timeout = seconds(300);
  Duration complete_wait{};                  // no job starts while others have been completing for less
  Duration inactive_limit{};                 // allocations whose client is gone for so long end; 0: none do
  bool crontabs = false;                     // scrontab is allowed
  bool tell_completions = false;             // somebody wants to hear of jobs that ended (JobCompType)
  bool user_triggers = false;                // users who are no administrators may set triggers, which run as them
  bool is_root = false;                      // and so programs can be run as others
  Duration relaunch_after = seconds(2);      // an order that shows no effect is given again after this
  std::uint64_t snapshot_bytes = 64u << 20;  // of log since the last snapshot
  bool planning = true;                      // false: a foreign scheduler drives us
  std::uint32_t backfill_depth = 100;        // jobs that get a planned start
  Duration replan_every = seconds(30);       // while someone waits, although nothing happened
  bool ask_all_laws = false;                 // before each decision becomes a fact: for tests
};

// What a configuration that was read again brings: facts for the ledger, and settings of which names, paths and version
// stay as they were.
struct Reconfiguration {
  ClusterConfigured facts;
  ControllerSettings settings;
};

// What the site wants the controller to run, as the configuration says now.
struct SitePrograms {
  std::vector<std::string> prolog, epilog;                 // files or patterns
  Duration prolog_limit{}, epilog_limit{};                 // 0: none
  bool nodes_can_reboot = false;                           // RebootProgram
  std::string suspend{}, resume{}, resume_failed{};        // power saving; empty: none
  std::string mail{}, mail_domain{};                       // sends mail; of recipients that have none
  std::string reservation_prolog{}, reservation_epilog{};  // run with the name of the reservation
  std::string job_completion{};                            // told of each job that ended
};

// By what tokens are signed, and who gets which.
struct TokenRules {
  std::string key;
  bool only_administrators = false;
  std::uint32_t longest_seconds = unlimited;
};

// What the process does for the controller.
struct ControllerHooks {
  std::function<void(const std::string&)> say = [](const std::string&) {};  // the daemon's log
  // What a node can cause as often as it likes, by kind; not set: said like all others.
  std::function<void(const std::string& kind, const std::string& line)> say_often;
  Log* log = nullptr;           // the same with levels; null: nobody wants more than say() has
  Log* schedule_log = nullptr;  // what the scheduler decides, in a file of its own
  std::function<void(const std::string&)> fatal = [](const std::string&) {};  // stop at once: the log is lost
  std::function<void()> peak_passed = [] {};  // much memory was just given back: a moment to hand it to the system
  std::function<void(bool agents_too)> shutdown = [](bool) {};
  // Reads the configuration again, or says what is wrong with it; the old one stays then.
  std::function<Result<Reconfiguration>()> reconfigure;
  std::function<void(wire::Config&)> show_config = [](wire::Config&) {};
  std::function<SitePartitions()> site_partitions = [] { return SitePartitions{}; };
  std::function<Result<TokenRules>()> token_rules = [] {
    return Result<TokenRules>{
        fail(Errc::refused, "tokens need AuthAltTypes=auth/jwt and AuthAltParameters=jwt_key=FILE in slurm.conf")};
  };
  std::function<SitePrograms()> site_programs = [] { return SitePrograms{}; };
  // Lines about jobs that ended, to be written somewhere by somebody else; null: nobody wants them.
  std::function<void(std::string)> record_completions;
};

}  // namespace millrace
