// src/cli/options/job_draft.h - a job while its options are being read: what goes to the controller and what the
// command keeps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/index_set.h"
#include "job.pb.h"

namespace millrace {

struct JobDraft {
  wire::JobDescription job;
  // What the command itself needs.
  std::optional<std::string> wrap;
  std::string export_list = "ALL";
  bool export_given = false;
  bool parsable = false;
  bool wait = false;  // sbatch -W
  bool test_only = false;
  bool quiet = false;
  int verbose = 0;
  std::map<std::string, std::string> given{};  // options and their values as they were written, wherever
  bool ignore_pbs = false;
  bool external = false;  // sbatch: no script
  bool help = false, usage = false, version = false;
  bool name_given = false;
  // srun inside an allocation
  std::optional<std::uint32_t> job_id;
  std::string job_task;   // --jobid=12_3: job_id is that of the array
  std::string job_sluid;  // --jobid as a SLUID: the controller knows the number
  std::optional<std::uint32_t> first_node;
  bool exact = false;
  bool overlap = false;
  bool immediate = false;
  std::uint32_t immediate_seconds = 1;
  bool list_mpi = false;
  bool list_gres = false;  // --gres=help
  std::optional<IndexSet> het_group;
  bool mpi_given = false;
  bool multi_prog = false;
  std::optional<std::string> srun_prolog, srun_epilog, propagate;
  bool pty = false;
  std::optional<std::string> export_file;
  std::string exported;  // what stands in it: NAME=value, each ended by NUL
  std::string clusters;  // -M, as given
  // salloc
  bool no_shell = false;
  std::optional<bool> bell;  // not set: after a longer wait
  std::optional<std::uint32_t> kill_signal;
  // srun
  bool label = false;
  bool unbuffered = false;
  bool disable_status = false;
  std::optional<std::string> bcast, bcast_compress, bcast_exclude;  // the first: where to; empty: srun's choice
  bool send_libraries = false;
  bool quit_on_interrupt = false;
  bool whole = false;
  bool preserve_env = false;
  bool async = false;
  std::optional<std::uint32_t> resv_ports;  // 0: as many as there are tasks on a node
  bool interactive_step = false;            // srun, for salloc: a shell beside all steps of the job
  std::vector<std::uint32_t> ignored_signals;
  std::optional<bool> kill_on_bad_exit;
  std::optional<std::int64_t> wait_seconds;
};

}  // namespace millrace
