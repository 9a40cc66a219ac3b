// src/apps/local_cluster.h - the cluster that `millrace up` keeps in one directory: its files, its daemons.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/local_shape.h"
#include "base/quantity.h"
#include "base/result.h"
#include "config/configuration.h"
#include "platform/descriptor.h"

namespace millrace {

// Everything lies at a fixed name below `directory`, except the spool and sometimes the socket: slurm.conf says where.
struct ClusterFolder {
  std::string directory;
  std::string conf() const { return directory + "/slurm.conf"; }
  std::string state() const { return directory + "/state"; }
  std::string logs() const { return directory + "/logs"; }
  std::string run() const { return directory + "/run"; }
  std::string bin() const { return directory + "/bin"; }
  std::string lock() const { return directory + "/lock"; }
};

// --dir, else /var/lib/millrace for root, else $XDG_STATE_HOME/millrace or ~/.local/state/millrace.
Result<ClusterFolder> cluster_folder(const std::string& given);

// Makes the directory itself: ours, not a link, not to be written by others.
Result<void> make_own_directory(const std::string& path, mode_t mode);

// slurm.conf for a new cluster of this shape; `shape` comes back complete.
Result<std::string> new_configuration(const ClusterFolder& folder, LocalShape& shape);
bool port_is_free(std::uint16_t port);
Result<std::uint16_t> find_free_port();

// The directory for everything that may be forgotten at a reboot; the parent of the nodes' spools.
std::string scratch_of(const Configuration& configuration);

Result<std::string> read_text_file(const std::string& path);
Result<void> write_text_file(const std::string& path, std::string_view text, mode_t mode);  // by a rename

// A daemon of this cluster that lives, held so that its number cannot come to mean another process.
struct RunningDaemon {
  std::string name;  // "controller", "agent n1"
  pid_t pid = 0;
  Descriptor process;
};
// Empty when the pid file is missing or names something that is not this daemon of this cluster.
std::optional<RunningDaemon> find_controller(const Configuration& configuration);
std::optional<RunningDaemon> find_agent(const Configuration& configuration, const std::string& node);
std::string controller_pid_path(const Configuration& configuration);
std::string agent_pid_path(const Configuration& configuration, const std::string& node);
std::string spool_path(const Configuration& configuration, const std::string& node);
// Sends TERM, waits, then KILL. True: it ended by itself.
bool end_daemon(const RunningDaemon& daemon, Duration patience);
bool wait_for_end(const RunningDaemon& daemon, Duration patience);

// One `up` or `down` at a time in a directory.
Result<Descriptor> lock_cluster(const ClusterFolder& folder);

// Says what it does. Running jobs are cancelled, nothing new starts, daemons and what is left of jobs are ended, the
// spool goes.
struct Stopped {
  std::uint32_t cancelled_jobs = 0, pending_jobs = 0, killed = 0;
  bool jobs_known = false;  // a controller answered
};
Result<Stopped> stop_cluster(const ClusterFolder& folder, const Configuration& configuration);
int down_and_report(const ClusterFolder& folder, bool forget);

}  // namespace millrace
