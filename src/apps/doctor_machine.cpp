// src/apps/doctor_machine.cpp - see doctor_report.h: the checks that look at this machine alone.
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/un.h>

#include <cstring>

#include "apps/doctor_report.h"
#include "apps/local_cluster.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr std::uint64_t mib = 1u << 20;

// True: there and as it must be, or nothing that we could judge.
bool check_key_file(DoctorReport& report, const std::string& path, std::string_view first_word, uid_t owner) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == EACCES) report.note("key", path + " is in a directory we may not read, as it should be for a user");
    return errno == EACCES;
  }
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777u);
  if (!S_ISREG(info.st_mode))
    report.wrong("key", path + " is not a file");
  else if ((info.st_mode & 077) != 0)
    report.wrong("key", path + " has mode " + mode + ": others may read the secret; chmod 600 " + path);
  else if (info.st_uid != owner)
    report.wrong("key", path + " belongs to user " + std::to_string(info.st_uid) + " and not to " +
                            std::to_string(owner) + ", who runs the daemon; chown " + std::to_string(owner) + " " +
                            path);
  else if (const auto text = read_text_file(path); text && !text->starts_with(first_word))
    report.wrong("key",
                 path + " does not begin with '" + std::string{first_word} + "'; `millrace key` makes such a file");
  else
    report.ok("key", path + ", mode " + mode);
  return true;
}

uid_t owner_of(const std::string& path, uid_t otherwise) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_uid : otherwise;
}

std::string existing_part(std::string path) {
  while (access(path.c_str(), F_OK) != 0 && path.rfind('/') != std::string::npos && path.size() > 1)
    path.resize(std::max<std::size_t>(1, path.rfind('/')));
  return path;
}

// Says how much is free; `enough` below which it is remarkable.
void check_free(DoctorReport& report, const char* what, const std::string& path, std::uint64_t enough) {
  struct statvfs room{};
  const std::string place = existing_part(path);
  if (statvfs(place.c_str(), &room) != 0) return report.wrong(what, path + ": " + std::strerror(errno));
  const std::uint64_t free = room.f_bavail * room.f_frsize / mib;
  const std::string text = path + ": " + std::to_string(free) + " MB free";
  if (free < 64)
    report.wrong(what, text + "; less than 64 MB means refused submissions or failed starts; make room");
  else if (free < enough)
    report.note(what, text + "; " + std::to_string(enough) + " MB would be comfortable");
  else
    report.ok(what, text);
  if (room.f_files != 0 && room.f_favail < 1000)
    report.wrong(what, path + ": only " + std::to_string(room.f_favail) + " files can be made there (inodes)");
}

bool is_tmpfs(const std::string& path) {
  struct statfs kind{};
  return statfs(existing_part(path).c_str(), &kind) == 0 && static_cast<unsigned long>(kind.f_type) == TMPFS_MAGIC;
}

bool somebody_listens(const std::string& path) {
  const Descriptor probe{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void check_pid_file(DoctorReport& report, const std::string& path, const std::string& whose, bool& told) {
  const auto text = read_text_file(path);
  if (!text) return;
  const auto pid = parse_integer(trim(*text));
  if (pid && *pid > 0 && (kill(static_cast<pid_t>(*pid), 0) == 0 || errno == EPERM)) return;
  told = true;
  report.note("pid files", path + " is left of " + whose + " that did not end cleanly; its next start replaces it");
}

}  // namespace

void check_keys(DoctorReport& report, const Configuration& configuration, const Role& role) {
  const std::string& cluster = configuration.cluster_key_file;
  const std::string& own = configuration.node_key_file;
  if (role.controller &&
      !check_key_file(report, cluster, "millrace-cluster-key 1 ", owner_of(configuration.state_dir, geteuid())))
    report.note("key", cluster + " is not there; the controller makes it at its first start");
  if (role.controller || role.node == nullptr) return;
  // A machine that is only a node needs its own key; the cluster's would open all others.
  if (!check_key_file(report, own, "millrace-node-key 1 ", owner_of(own, 0)))
    report.wrong("key", own + " is not there; `millrace key node " + role.node->name +
                            "` on the controller's host prints what belongs in it");
  if (access(cluster.c_str(), F_OK) == 0)
    report.note("key", cluster + " is on a node; its own key in " + own +
                           " would be enough, and a stolen node would not open the cluster");
}

void check_port(DoctorReport& report, const Configuration& configuration, const Role& role, bool answers) {
  if (!role.controller) return;
  const std::string port = std::to_string(configuration.controller_port);
  const bool free = port_is_free(configuration.controller_port);
  if (answers && free)
    report.wrong("port", "nobody listens on port " + port +
                             ", although a controller answers: it was started with another SlurmctldPort; restart it");
  else if (answers)
    report.ok("port", port + " is in use while the controller answers");
  else if (free)
    report.ok("port", port + " is free for the controller");
  else
    report.wrong("port", port + " is used by another program; end it or set another SlurmctldPort");
}

void check_pid_files(DoctorReport& report, const Configuration& configuration, const Role& role, bool answers) {
  bool told = false;
  if (role.controller) check_pid_file(report, controller_pid_path(configuration), "a controller", told);
  std::size_t looked = 0;
  for (const ConfiguredNode& node : configuration.nodes)
    if (role.nodes > 0 && looked++ < 1000)
      check_pid_file(report, agent_pid_path(configuration, node.name), "an agent", told);
  for (const std::string& path : {configuration.socket_path, configuration.socket_path + ".relay"}) {
    struct stat info{};
    if (lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISSOCK(info.st_mode))
      report.wrong("sockets", path + " is not a socket; remove it, the daemons make it");
    else if (!somebody_listens(path))
      report.note("sockets", path + " is left behind and nobody listens; the next start replaces it"), told = true;
  }
  if (!told)
    report.ok("left-overs",
              std::string{"no stale pid file or socket"} + (answers ? "" : " (and no daemon that answers)"));
}

void check_space(DoctorReport& report, const Configuration& configuration, const Role& role) {
  if (role.controller) check_free(report, "state", configuration.state_dir, 1024);
  if (role.node == nullptr) return;
  const std::string spool = spool_path(configuration, role.node->name);
  check_free(report, "spool", spool, 256);
  struct statvfs room{};
  if (statvfs(existing_part(spool).c_str(), &room) == 0 && (room.f_flag & ST_NOEXEC) != 0)
    report.wrong("spool", spool +
                              " is on a file system mounted noexec, and scripts of jobs are executed there; another "
                              "SlurmdSpoolDir would be right");
  if (!is_tmpfs(spool))
    report.note("spool", spool + " is on a disk; on a tmpfs, as below /run or /dev/shm, short jobs start faster");
}

void check_cgroups(DoctorReport& report) {
  struct statfs kind{};
  if (statfs("/sys/fs/cgroup", &kind) != 0)
    return report.note("cgroups", "none are mounted; jobs are found by their sessions and environment alone");
  if (static_cast<unsigned long>(kind.f_type) == CGROUP2_SUPER_MAGIC) {
    const std::string has{trim(read_text_file("/sys/fs/cgroup/cgroup.controllers").value_or(""))};
    return report.note("cgroups", "version 2; controllers: " + (has.empty() ? "none" : has));
  }
  std::string has;
  const std::string table = read_text_file("/proc/cgroups").value_or("");
  for (const std::string_view line : split(table, '\n')) {
    const auto words = split(line, '\t');
    if (words.size() == 4 && words[3] == "1") has += (has.empty() ? "" : " ") + std::string{words[0]};
  }
  report.note("cgroups", "version 1; controllers: " + (has.empty() ? "none" : has));
}

void check_limits(DoctorReport& report) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const std::string text = std::to_string(files.rlim_cur) + " open files" +
                           (files.rlim_max == files.rlim_cur
                                ? ""
                                : ", up to " + (files.rlim_max == RLIM_INFINITY ? std::string{"any number"}
                                                                                : std::to_string(files.rlim_max)));
  if (files.rlim_max < 1024)
    report.wrong("limits",
                 text + "; a controller needs one for each node and client; LimitNOFILE=65536 would be right");
  else if (files.rlim_cur < 1024 || files.rlim_max < 4096)
    report.note("limits", text + "; LimitNOFILE=65536 is right for a large cluster");
  else
    report.ok("limits", text);
}

}  // namespace millrace
