// src/apps/local_cluster.cpp - see local_cluster.h. Directories and slurm.conf; the daemons are in local_daemons.cpp.
#include "apps/local_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <climits>
#include <cstdlib>

#include "agent/inventory.h"
#include "base/text.h"
#include "platform/daemon.h"

namespace millrace {
namespace {

constexpr std::size_t socket_path_max = 100;  // sockaddr_un holds 108, and ".relay" goes behind it
constexpr std::uint64_t scratch_bytes_min = 64u << 20;

// slurm.conf knows neither quotes nor escapes, and % is ours in it.
bool fits_into_conf(std::string_view path) {
  for (const char letter : path)
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
          std::string_view{"/._-+@:~"}.find(letter) != std::string_view::npos))
      return false;
  return true;
}

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  const passwd* user = getpwuid(getuid());
  return user != nullptr ? user->pw_dir : "";
}

std::string default_directory() {
  if (geteuid() == 0) return "/var/lib/millrace";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/')
    return std::string{state} + "/millrace";
  const std::string home = home_directory();
  return home.empty() ? "" : home + "/.local/state/millrace";
}

std::string hash_text(std::string_view text) {
  std::uint32_t hash = 2166136261u;  // FNV-1a: only has to tell directories apart
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  char out[16];
  std::snprintf(out, sizeof out, "%08x", hash);
  return out;
}

// A job's script is written, synced and executed there: memory is right for it, if it is large and may execute.
bool is_good_tmpfs(const char* path) {
  struct statfs kind{};
  struct statvfs room{};
  if (statfs(path, &kind) != 0 || statvfs(path, &room) != 0) return false;
  return static_cast<unsigned long>(kind.f_type) == TMPFS_MAGIC && (room.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0 &&
         room.f_bavail * room.f_frsize >= scratch_bytes_min && access(path, W_OK) == 0;
}

mode_t open_mode() { return geteuid() == 0 ? 0711 : 0700; }  // root's cluster is for all users, another's for its owner

std::string choose_scratch(const ClusterFolder& folder) {
  const std::string shared = "/dev/shm/millrace-" + std::to_string(geteuid()) + "-" + hash_text(folder.directory);
  // Whoever was faster with this name may be somebody else: then the disk is good enough.
  if (is_good_tmpfs("/dev/shm") && make_own_directory(shared, open_mode())) return shared;
  return folder.directory + "/scratch";
}

std::string host_label() {
  const std::string name = host_name();
  return !name.empty() && fits_into_conf(name) && name.find_first_of("/@:~+") == std::string::npos ? name : "localhost";
}

}  // namespace

Result<ClusterFolder> cluster_folder(const std::string& given) {
  std::string path = given.empty() ? default_directory() : given;
  if (path.empty())
    return fail(Errc::not_found, "there is no home directory to keep the cluster in; --dir DIR names another");
  if (path[0] != '/') {
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == nullptr) return fail_errno(Errc::io, "the current directory");
    path = std::string{here} + "/" + path;
  }
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) != nullptr) path = real;  // one cluster, whatever way leads to it
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (!fits_into_conf(path))
    return fail(
        Errc::invalid,
        "'" + path +
            "' cannot be written in a slurm.conf; a directory with letters, digits and /._-+@:~ alone would be right");
  return ClusterFolder{path};
}

Result<void> make_own_directory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return fail_errno(Errc::io, "make directory " + path);
  const Descriptor opened{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!opened) return fail_errno(Errc::refused, path + " is not a directory of ours");
  struct stat info{};
  if (fstat(opened.get(), &info) != 0) return fail_errno(Errc::io, path);
  if (info.st_uid != geteuid())
    return fail(Errc::refused, path + " belongs to user " + std::to_string(info.st_uid) +
                                   "; it would have to be ours, or another --dir");
  if ((info.st_mode & 022) != 0)
    return fail(Errc::refused, path + " can be written by others; chmod go-w " + path + " would be right");
  return {};
}

bool port_is_free(std::uint16_t port) {
  const Descriptor probe{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int yes = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
         listen(probe.get(), 1) == 0;
}

Result<std::uint16_t> find_free_port() {
  const Descriptor probe{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail_errno(Errc::unavailable, "find a free port");
  return ntohs(address.sin_port);
}

Result<std::string> new_configuration(const ClusterFolder& folder, LocalShape& shape) {
  const wire::Inventory host = read_inventory("", "/tmp");
  const std::uint32_t nodes = shape.nodes.value_or(1);
  const auto cpus = shape.cpus.value_or(std::max<std::uint32_t>(1, static_cast<std::uint32_t>(host.cpus())));
  // Too many CPUs make jobs slow, too much memory makes the kernel kill them: only the first is given to every virtual
  // node.
  const auto memory =
      shape.memory_mib.value_or(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, host.memory_mib() / nodes)));
  shape = {nodes, cpus, memory};
  const std::string scratch = choose_scratch(folder);
  std::string socket = folder.run() + "/millrace.sock";
  if (socket.size() > socket_path_max) socket = scratch + "/millrace.sock";
  if (socket.size() > socket_path_max)
    return fail(Errc::invalid, folder.directory + " is too long a name: a socket below it would have more than " +
                                   std::to_string(socket_path_max) + " bytes; --dir names a shorter one");
  MR_TRY(const std::uint16_t port, find_free_port());
  const std::string host_word = host_label();
  const std::string names = nodes == 1 ? host_word : "n[1-" + std::to_string(nodes) + "]";
  std::string out{shape_words};
  out +=
      " " + words_of(shape) + "\n# Yours to change; `millrace down --forget` removes it with everything else here.\n";
  out +=
      "ClusterName=millrace\nSlurmctldHost=" + host_word + "(127.0.0.1)\nSlurmctldPort=" + std::to_string(port) + "\n";
  out += "AuthInfo=socket=" + socket + "\n";
  out += "StateSaveLocation=" + folder.state() + "\nSlurmdSpoolDir=" + scratch + "/spool/%n\n";
  out += "SlurmctldPidFile=" + folder.run() + "/controller.pid\nSlurmdPidFile=" + folder.run() + "/agent-%n.pid\n";
  out += "SlurmctldLogFile=" + folder.logs() + "/controller.log\nSlurmdLogFile=" + folder.logs() + "/agent-%n.log\n";
  out += "ReturnToService=2\nMaxJobCount=100000\nJobFileAppend=0\nKillWait=10\nScronParameters=enable\n";
  // Memory is shared out with the CPUs: otherwise the first job that does not ask for any gets all of its node's.
  out += "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\nDefMemPerCPU=" +
         std::to_string(std::max(1u, memory / cpus)) + "\n";
  out += "NodeName=" + names + " CPUs=" + std::to_string(cpus) + " RealMemory=" + std::to_string(memory) +
         " State=UNKNOWN\n";
  out += "PartitionName=main Nodes=" + names + " Default=YES MaxTime=INFINITE State=UP\n";
  return out;
}

std::string scratch_of(const Configuration& configuration) {
  const std::string& pattern = configuration.agent_spool_pattern;
  const std::size_t end = pattern.rfind("/spool/%n");
  return end == std::string::npos || end + 9 != pattern.size() ? "" : pattern.substr(0, end);
}

Result<std::string> read_text_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return fail_errno(errno == ENOENT ? Errc::not_found : Errc::io, path);
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(file.get(), buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  if (count < 0) return fail_errno(Errc::io, path);
  return text;
}

Result<void> write_text_file(const std::string& path, std::string_view text, mode_t mode) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  const Descriptor file{::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)};
  if (!file) return fail_errno(Errc::io, fresh);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) || fsync(file.get()) != 0)
    return fail_errno(Errc::io, fresh);
  if (rename(fresh.c_str(), path.c_str()) != 0) return fail_errno(Errc::io, path);
  return {};
}

}  // namespace millrace
