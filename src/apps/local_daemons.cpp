// src/apps/local_daemons.cpp - see local_cluster.h: finding the daemons of a local cluster, ending them and what is
// left of jobs.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>
#include <set>

#include "agent/inventory.h"
#include "agent/leftovers.h"
#include "apps/admin_commands.h"
#include "apps/local_cluster.h"
#include "apps/local_questions.h"
#include "base/text.h"
#include "config/slurm_conf.h"
#include "platform/daemon.h"

namespace millrace {
namespace {

constexpr Duration daemon_patience = seconds(30);
constexpr Duration grace = seconds(20);  // beyond KillWait, for jobs to be reported as ended

std::string read_proc(pid_t pid, const char* name) {
  return read_text_file("/proc/" + std::to_string(pid) + "/" + name).value_or("");
}

bool runs_as_us(pid_t pid) {
  // Not the owner of /proc/PID: that is root for a process that must not be dumped.
  const std::string status = read_proc(pid, "status");
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with("Uid:\t")) continue;
    const auto words = split(line.substr(5), '\t');
    return words.size() > 1 && parse_integer(words[1]) == static_cast<std::int64_t>(geteuid());
  }
  return false;
}

// The pid file is only a hint: the process must be that program, started for this slurm.conf, and ours.
std::optional<RunningDaemon> find_daemon(const std::string& name, const std::string& pid_file, std::string_view program,
                                         const std::vector<std::string>& wanted) {
  const auto text = read_text_file(pid_file);
  const auto number = text ? parse_integer(trim(*text)) : std::nullopt;
  if (!number || *number <= 1 || *number > INT32_MAX) return std::nullopt;
  const auto pid = static_cast<pid_t>(*number);
  Descriptor process{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
  if (!process) return std::nullopt;
  const std::string line = read_proc(pid, "cmdline");  // readable even where /proc/PID/exe is not
  std::vector<std::string> words;
  for (const std::string_view word : split(line, '\0')) words.emplace_back(word);
  if (words[0].substr(words[0].rfind('/') + 1) != program) return std::nullopt;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (words.size() <= i + 1 || words[i + 1] != wanted[i]) return std::nullopt;
  if (!runs_as_us(pid)) return std::nullopt;
  return RunningDaemon{name, pid, std::move(process)};
}

void pause_ms(int count) { poll(nullptr, 0, count); }

// Returns how many processes had to be killed.
std::uint32_t end_leftovers(const std::string& spool) {
  std::uint32_t killed = 0;
  const auto directory = SpoolDirectory::open(spool);
  if (!directory) return 0;
  const std::string boot = read_boot_id("");
  for (const AttemptName name : directory->list()) {
    const auto record = directory->read(name);
    if (!record || record->boot_id != boot) continue;
    std::set<pid_t> counted;
    for (int round = 0; round < 500; ++round) {
      std::vector<pid_t> left = find_leftovers(*record, directory->path_of(name));
      const pid_t supervisor = record->supervisor.pid;
      if (supervisor > 1 && start_time_of(supervisor) != 0 &&
          start_time_of(supervisor) == record->supervisor.start_time)
        left.push_back(supervisor);
      if (left.empty()) break;
      for (const pid_t pid : left)
        if (::kill(pid, SIGKILL) == 0) counted.insert(pid);
      pause_ms(10);
    }
    killed += static_cast<std::uint32_t>(counted.size());
  }
  return killed;
}

void remove_tree(const std::string& path) {
  std::error_code ignored;  // what cannot be removed is in nobody's way; links are not followed
  std::filesystem::remove_all(path, ignored);
}

void forget_cluster(const ClusterFolder& folder, const std::string& scratch) {
  for (const std::string& path :
       {folder.state(), folder.logs(), folder.run(), folder.bin(), folder.directory + "/scratch"})
    remove_tree(path);
  if (!scratch.empty()) remove_tree(scratch);
  unlink(folder.conf().c_str());
  unlink(folder.lock().c_str());
  rmdir(folder.directory.c_str());  // only when nothing of the user's is in it
}

std::string plural(std::uint32_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string controller_pid_path(const Configuration& configuration) { return configuration.controller_pid_file; }
std::string agent_pid_path(const Configuration& configuration, const std::string& node) {
  return expand_node_path(configuration.agent_pid_file, node, host_name());
}
std::string spool_path(const Configuration& configuration, const std::string& node) {
  return expand_node_path(configuration.agent_spool_pattern, node, host_name());
}

std::optional<RunningDaemon> find_controller(const Configuration& configuration) {
  return find_daemon("controller", controller_pid_path(configuration), "millrace-controller",
                     {"-f", configuration.path});
}

std::optional<RunningDaemon> find_agent(const Configuration& configuration, const std::string& node) {
  return find_daemon("agent " + node, agent_pid_path(configuration, node), "millrace-agent",
                     {"-f", configuration.path, "-N", node});
}

bool wait_for_end(const RunningDaemon& daemon, Duration patience) {
  pollfd ended{daemon.process.get(), POLLIN, 0};
  return poll(&ended, 1, static_cast<int>(patience.value / 1000)) > 0;
}

bool end_daemon(const RunningDaemon& daemon, Duration patience) {
  syscall(SYS_pidfd_send_signal, daemon.process.get(), SIGTERM, nullptr, 0);
  if (wait_for_end(daemon, patience)) return true;
  syscall(SYS_pidfd_send_signal, daemon.process.get(), SIGKILL, nullptr, 0);
  wait_for_end(daemon, seconds(10));
  return false;
}

Result<Descriptor> lock_cluster(const ClusterFolder& folder) {
  Descriptor file{::open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return fail_errno(Errc::io, folder.lock());
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::unavailable,
                "another `millrace up` or `down` is at work in " + folder.directory + "; try again when it is done");
  return file;
}

Result<Stopped> stop_cluster(const ClusterFolder& folder, const Configuration& configuration) {
  Stopped stopped;
  auto controller = find_controller(configuration);
  std::vector<RunningDaemon> agents;
  for (const ConfiguredNode& node : configuration.nodes)
    if (auto agent = find_agent(configuration, node.name)) agents.push_back(std::move(*agent));
  if (controller) {
    const auto ended = end_running_jobs(configuration, configuration.kill_wait + grace);
    if (ended) {
      stopped.jobs_known = true;
      stopped.cancelled_jobs = ended->cancelled;
      stopped.pending_jobs = ended->pending;
    } else {
      say("the controller could not be asked to end its jobs (" + ended.error().story + "); they are killed");
    }
  }
  // All at once: each of them may take a moment.
  for (const RunningDaemon& agent : agents) syscall(SYS_pidfd_send_signal, agent.process.get(), SIGTERM, nullptr, 0);
  for (const RunningDaemon& agent : agents)
    if (!end_daemon(agent, daemon_patience))
      say(agent.name + " (pid " + std::to_string(agent.pid) + ") did not end by itself and was killed");
  for (const ConfiguredNode& node : configuration.nodes)
    if (access(spool_path(configuration, node.name).c_str(), F_OK) == 0)
      stopped.killed += end_leftovers(spool_path(configuration, node.name));
  if (controller && !end_daemon(*controller, daemon_patience))
    say("the controller (pid " + std::to_string(controller->pid) +
        ") did not end by itself and was killed; what it answered is in its log");
  for (const ConfiguredNode& node : configuration.nodes) unlink(agent_pid_path(configuration, node.name).c_str());
  unlink(controller_pid_path(configuration).c_str());
  unlink(configuration.socket_path.c_str());
  unlink((configuration.socket_path + ".relay").c_str());
  // Only what `up` made and nobody else can have put there.
  const std::string scratch = scratch_of(configuration);
  if (scratch.starts_with("/dev/shm/millrace-" + std::to_string(geteuid()) + "-") ||
      scratch == folder.directory + "/scratch")
    remove_tree(scratch);
  return stopped;
}

int down_and_report(const ClusterFolder& folder, bool forget) {
  const auto text = read_text_file(folder.conf());
  if (!text) return say_failure("down", "there is no cluster in " + folder.directory + ": " + text.error().story);
  if (!shape_of(*text))
    return say_failure(
        "down", folder.conf() + " was not written by `millrace up`; its daemons are stopped the way they were started");
  const auto configuration = load_configuration(folder.conf());
  if (!configuration) return say_failure("down", configuration.error().story);
  const auto lock = lock_cluster(folder);
  if (!lock) return say_failure("down", lock.error().story);
  bool ran = find_controller(*configuration).has_value();
  for (const ConfiguredNode& node : configuration->nodes) ran = ran || find_agent(*configuration, node.name);
  const auto stopped = stop_cluster(folder, *configuration);
  if (!stopped) return say_failure("down", stopped.error().story);
  std::string line =
      ran ? "The cluster in " + folder.directory + " is down" : "No cluster was running in " + folder.directory;
  if (stopped->jobs_known)
    line += ": " + plural(stopped->cancelled_jobs, "running job") + " cancelled, " +
            std::to_string(stopped->pending_jobs) + " pending";
  if (stopped->jobs_known && stopped->pending_jobs > 0)
    line += forget ? " and forgotten" : " and kept for the next `millrace up`";
  if (stopped->killed > 0) line += "; " + plural(stopped->killed, "left-over process") + " killed";
  say(line + ".");
  if (!forget) return 0;
  forget_cluster(folder, scratch_of(*configuration));
  say("Its state, logs and configuration are removed.");
  return 0;
}

}  // namespace millrace
