// src/apps/millrace_up.cpp - `millrace up` and `millrace down`: a whole cluster on this machine, with nothing
// configured.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>

#include "apps/admin_commands.h"
#include "apps/local_cluster.h"
#include "apps/local_questions.h"
#include "base/text.h"
#include "config/slurm_conf.h"
#include "platform/daemon.h"

extern char** environ;

namespace millrace {
namespace {

constexpr std::uint32_t nodes_max = 1024;
constexpr int ready_limit_ms = 120'000;
constexpr int look_every_ms = 50;

constexpr FlagRow up_rows[] = {
    {"--nodes", "N", "virtual nodes n1, n2, ... (default: one node, this machine)"},
    {"--cpus", "C", "CPUs of each node (default: this machine's)"},
    {"--memory", "MB", "memory of each node (default: this machine's, shared out)"},
    {"--dir", "DIR", "keep everything here (default: /var/lib/millrace for root, else ~/.local/state/millrace)"},
    {"--detach", "", "return when it serves; otherwise it runs until Ctrl-C"},
    {"--help", "", "print this help"},
};
constexpr FlagRow down_rows[] = {
    {"--dir", "DIR", "the directory `millrace up` was given"},
    {"--forget", "", "remove its state, logs and configuration too"},
    {"--help", "", "print this help"},
};

std::string own_folder() {
  char self[PATH_MAX]{};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string folder(self, length > 0 ? static_cast<std::size_t>(length) : 0);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  return folder;
}

// Installed in bin/ and sbin/, built in one folder.
Result<std::string> find_program(const std::string& name) {
  for (const char* place : {"/../sbin/", "/../bin/", "/"})
    if (const std::string path = own_folder() + place + name; access(path.c_str(), X_OK) == 0) {
      char real[PATH_MAX];
      return realpath(path.c_str(), real) != nullptr ? std::string{real} : path;
    }
  return fail(Errc::not_found, "the program " + name + " is neither beside millrace-admin in " + own_folder() +
                                   " nor in ../sbin or ../bin");
}

Result<pid_t> start(const std::string& program, std::vector<std::string> words) {
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, "/");  // a daemon must not hold the directory the user stands in
  posix_spawnattr_t attributes;  // our signals are ours: a Ctrl-C while they start is answered here, in order
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return fail_errno(Errc::io, program, problem);
  return pid;
}

// A daemon's first process returns once it serves; what went wrong it has said itself.
bool started_well(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The client knows best under which names it answers.
Result<std::vector<std::string>> names_of(const std::string& client) {
  FILE* pipe = popen(("'" + client + "' commands").c_str(), "re");
  if (pipe == nullptr) return fail_errno(Errc::io, client);
  std::vector<std::string> out;
  char line[256];
  while (std::fgets(line, sizeof line, pipe) != nullptr) out.emplace_back(trim(line));
  if (pclose(pipe) != 0 || out.empty()) return fail(Errc::io, client + " commands: does not list its names");
  return out;
}

Result<void> make_links(const ClusterFolder& folder) {
  MR_TRY(const std::string client, find_program("millrace"));
  MR_TRY_VOID(make_own_directory(folder.bin(), 0755));
  MR_TRY(std::vector<std::string> names, names_of(client));
  names.emplace_back("millrace");
  for (const std::string& name : names) {
    const std::string link = folder.bin() + "/" + name;
    unlink(link.c_str());
    if (symlink(client.c_str(), link.c_str()) != 0) return fail_errno(Errc::io, link);
  }
  return {};
}

Result<void> make_folder(const ClusterFolder& folder) {
  const mode_t mode = geteuid() == 0 ? 0755 : 0700;  // root's cluster is for all users
  const std::size_t slash = folder.directory.rfind('/');
  if (slash > 0) MR_TRY_VOID(make_directories(folder.directory.substr(0, slash), 0755));
  MR_TRY_VOID(make_own_directory(folder.directory, mode));
  MR_TRY_VOID(make_own_directory(folder.state(), 0700));
  MR_TRY_VOID(make_own_directory(folder.logs(), 0755));
  return make_own_directory(folder.run(), 0755);
}

// Another program may have taken the port while the cluster was down.
Result<void> renew_port(const ClusterFolder& folder, std::string text, std::uint16_t port) {
  const std::string line = "\nSlurmctldPort=" + std::to_string(port) + "\n";
  const std::size_t at = text.find(line);
  if (at == std::string::npos || port_is_free(port)) return {};
  MR_TRY(const std::uint16_t fresh, find_free_port());
  text.replace(at, line.size(), "\nSlurmctldPort=" + std::to_string(fresh) + "\n");
  return write_text_file(folder.conf(), text, 0644);
}

// The configuration there is, or a new one.
Result<Configuration> configure(const ClusterFolder& folder, LocalShape asked) {
  auto text = read_text_file(folder.conf());
  if (!text && text.error().code != Errc::not_found) return std::unexpected(text.error());
  if (!text) {
    MR_TRY(const std::string fresh, new_configuration(folder, asked));
    MR_TRY_VOID(write_text_file(folder.conf(), fresh, 0644));
  } else {
    const auto there = shape_of(*text);
    if (!there)
      return fail(
          Errc::refused,
          folder.conf() + " was not written by `millrace up`; start its daemons as it says, or name another --dir");
    if (const auto story = difference(asked, *there)) return fail(Errc::refused, folder.conf() + ": " + *story);
    MR_TRY(const Configuration old, load_configuration(folder.conf()));
    if (!find_controller(old)) MR_TRY_VOID(renew_port(folder, *text, old.controller_port));
  }
  return load_configuration(folder.conf());
}

// Memory is empty after a reboot; the name may then be taken by anybody.
Result<void> make_scratch(const Configuration& configuration) {
  const std::string scratch = scratch_of(configuration);
  if (scratch.empty()) return {};  // the user has put the spool elsewhere; the agents make and check it
  const mode_t mode = geteuid() == 0 ? 0711 : 0700;
  MR_TRY_VOID(make_own_directory(scratch, mode));
  return make_own_directory(scratch + "/spool", mode);
}

Result<void> start_daemons(const Configuration& configuration) {
  MR_TRY(const std::string controller, find_program("millrace-controller"));
  MR_TRY(const std::string agent, find_program("millrace-agent"));
  MR_TRY_VOID(find_program("millrace-step"));
  if (!find_controller(configuration)) {
    MR_TRY(const pid_t pid, start(controller, {"-f", configuration.path}));
    if (!started_well(pid))
      return fail(Errc::unavailable,
                  "the controller did not start; " + configuration.controller_log_file + " may say more");
  }
  std::vector<pid_t> starting;
  for (const ConfiguredNode& node : configuration.nodes) {
    if (find_agent(configuration, node.name)) continue;
    MR_TRY(const pid_t pid, start(agent, {"-f", configuration.path, "-N", node.name}));
    starting.push_back(pid);
  }
  bool all_well = true;
  for (const pid_t pid : starting) all_well = started_well(pid) && all_well;
  if (!all_well)
    return fail(Errc::unavailable,
                "an agent did not start; its log beside " + configuration.controller_log_file + " may say more");
  return {};
}

Result<void> wait_for_nodes(const Configuration& configuration, int signals) {
  Session session{session_options(configuration, seconds(2))};
  NodeCounts counts;
  for (int waited = 0; waited < ready_limit_ms; waited += look_every_ms) {
    MR_TRY(counts, count_nodes(session));
    if (counts.all == configuration.nodes.size() && counts.ready == counts.all) return {};
    pollfd asked_to_stop{signals, POLLIN, 0};
    if (poll(&asked_to_stop, 1, look_every_ms) > 0) return fail(Errc::refused, "stopped while it started");
  }
  std::string story = std::to_string(counts.ready) + " of " + std::to_string(counts.all) + " nodes are ready";
  for (const std::string& node : counts.not_ready) story += "; " + node;
  return fail(Errc::unavailable, story);
}

std::string list_nodes(const Configuration& configuration) {
  const ConfiguredNode& first = configuration.nodes.front();
  const std::size_t count = configuration.nodes.size();
  return (count == 1 ? "node " + first.name : std::to_string(count) + " nodes") +
         (count == 1 ? " with " : " with each ") + std::to_string(first.cpus) + (first.cpus == 1 ? " CPU" : " CPUs") +
         " and " + std::to_string(first.memory.value) + " MB";
}

void say_what_next(const ClusterFolder& folder, const Configuration& configuration, const std::string& dir_flag,
                   bool detach) {
  say("Millrace is up: " + list_nodes(configuration) + ".");
  say("");
  say("    export SLURM_CONF=" + folder.conf());
  say("    export PATH=" + folder.bin() + ":$PATH");
  say("    sinfo");
  say("    sbatch --wrap 'hostname; date'");
  say("    squeue");
  say("");
  say("Logs: " + folder.logs() + "/. State: " + folder.state() + "/.");
  say(detach ? "To stop it: millrace down" + dir_flag : "Ctrl-C stops it; so does: millrace down" + dir_flag);
}

// Until a signal comes or the controller goes; gives the exit code.
int stay(const ClusterFolder& folder, const Configuration& configuration, int signals) {
  const auto controller = find_controller(configuration);
  pollfd watched[2] = {{signals, POLLIN, 0}, {controller ? controller->process.get() : -1, POLLIN, 0}};
  if (controller)
    while (poll(watched, 2, -1) < 0 && errno == EINTR) {
    }
  if (watched[0].revents != 0) {
    say("");
    return down_and_report(folder, false);
  }
  // `millrace down` in another terminal holds the lock while it works; a crash does not.
  if (const auto lock = lock_cluster(folder); !lock || access(controller_pid_path(configuration).c_str(), F_OK) != 0) {
    say("The cluster was stopped by somebody else.");
    return 0;
  }
  say_failure("up", "the controller has ended; " + configuration.controller_log_file +
                        " says why. Jobs go on; `millrace up` starts it again");
  return 1;
}

Result<LocalShape> read_shape(const Flags& flags) {
  LocalShape shape;
  if (flags.has("--nodes")) {
    MR_TRY(shape.nodes, flag_number(flags, "--nodes", 1, nodes_max));
  }
  if (flags.has("--cpus")) {
    MR_TRY(shape.cpus, flag_number(flags, "--cpus", 1, 4096));
  }
  if (flags.has("--memory")) {
    MR_TRY(shape.memory_mib, flag_number(flags, "--memory", 1, UINT32_MAX / 2));
  }
  return shape;
}

// Everything up to the moment the cluster serves.
Result<Configuration> bring_up(const ClusterFolder& folder, const LocalShape& asked, int signals) {
  MR_TRY_VOID(make_folder(folder));
  MR_TRY(const Descriptor lock, lock_cluster(folder));
  MR_TRY(const Configuration configuration, configure(folder, asked));
  if (configuration.nodes.empty()) return fail(Errc::invalid, folder.conf() + " has no node");
  if (const auto running = find_controller(configuration))
    return fail(Errc::refused, "a cluster already runs from " + folder.directory + " (controller pid " +
                                   std::to_string(running->pid) + "); export SLURM_CONF=" + folder.conf() +
                                   " to use it, `millrace down --dir " + folder.directory + "` to stop it");
  MR_TRY_VOID(make_scratch(configuration));
  MR_TRY_VOID(make_links(folder));
  std::vector<RunningDaemon> before;  // agents that outlived their controller
  for (const ConfiguredNode& node : configuration.nodes)
    if (auto agent = find_agent(configuration, node.name)) before.push_back(std::move(*agent));
  auto started = start_daemons(configuration);
  if (started) started = wait_for_nodes(configuration, signals);
  if (started) return configuration;
  // Half a cluster helps nobody. Jobs of an earlier one that still run are left alone: nobody asked to end them.
  for (const ConfiguredNode& node : configuration.nodes)
    if (const auto agent = find_agent(configuration, node.name);
        agent && std::ranges::find(before, agent->pid, &RunningDaemon::pid) == before.end())
      end_daemon(*agent, seconds(10));
  if (const auto controller = find_controller(configuration)) end_daemon(*controller, seconds(30));
  return std::unexpected(started.error());
}

}  // namespace

int run_up(const Words& words) {
  const auto flags = read_flags(words, up_rows);
  if (!flags) return say_failure("up", flags.error().story);
  if (flags->has("--help"))
    return std::fputs(
               flag_help("millrace up [--nodes N] [--cpus C] [--memory MB] [--dir DIR] [--detach]", up_rows).c_str(),
               stdout) < 0;
  if (!flags->rest.empty())
    return say_failure("up", "there is no place for '" + std::string{flags->rest[0]} + "' here");
  const auto shape = read_shape(*flags);
  if (!shape) return say_failure("up", shape.error().story);
  const auto folder = cluster_folder(flags->text("--dir"));
  if (!folder) return say_failure("up", folder.error().story);
  const bool detach = flags->has("--detach");
  sigset_t waited;
  sigemptyset(&waited);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&waited, signal);
  sigprocmask(SIG_BLOCK, &waited, nullptr);
  const Descriptor signals{signalfd(-1, &waited, SFD_CLOEXEC)};
  const auto configuration = bring_up(*folder, *shape, signals.get());
  if (!configuration) return say_failure("up", configuration.error().story);
  say_what_next(*folder, *configuration, flags->has("--dir") ? " --dir " + folder->directory : "", detach);
  if (detach) return 0;
  return stay(*folder, *configuration, signals.get());
}

int run_down(const Words& words) {
  const auto flags = read_flags(words, down_rows);
  if (!flags) return say_failure("down", flags.error().story);
  if (flags->has("--help"))
    return std::fputs(flag_help("millrace down [--dir DIR] [--forget]", down_rows).c_str(), stdout) < 0;
  if (!flags->rest.empty())
    return say_failure("down", "there is no place for '" + std::string{flags->rest[0]} + "' here");
  const auto folder = cluster_folder(flags->text("--dir"));
  if (!folder) return say_failure("down", folder.error().story);
  return down_and_report(*folder, flags->has("--forget"));
}

}  // namespace millrace
