// src/config/client_settings.h - the few values a command needs, read without parsing the rest of slurm.conf.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace millrace {

struct ClientSettings {
  std::string path;  // of slurm.conf
  std::string cluster_name = "cluster";
  std::string socket_path;
  std::uint16_t controller_port = 6817;
  std::string controller_host;     // as printed by `scontrol ping`
  std::string controller_address;  // of it; the host's name when nothing else was given
  std::int64_t message_timeout_seconds = 10;
  std::int64_t wait_time_seconds = 0;
  std::int64_t kill_wait_seconds = 30;
  bool kill_on_bad_exit = false;
  std::string mpi_default;
  std::string gres_types;
  bool allow_spec_resources = false;
  std::string srun_prolog, srun_epilog;
  std::string propagate_limits = "ALL", propagate_limits_except;
  std::uint64_t script_size_max = 4u << 20;
  std::uint16_t first_port = 0, last_port = 0;  // SrunPortRange; 0: any
  bool use_interactive_step = false;
  std::string salloc_command;  // SallocDefaultCommand: what salloc runs when it is given nothing; empty: a shell
  std::string bcast_exclude = "/lib,/usr/lib,/lib64,/usr/lib64";  // BcastExclude
  std::string bcast_destination, bcast_compression;               // BcastParameters
  bool bcast_libraries = false;
  std::string interactive_step_options = "--interactive --preserve-env --pty $SHELL";
};

// A missing file is an error only where SLURM_CONF names it: without one there are defaults, and a cluster of no name.
Result<ClientSettings> read_client_settings();
ClientSettings parse_client_settings(const std::string& text, const std::string& path);

}  // namespace millrace
