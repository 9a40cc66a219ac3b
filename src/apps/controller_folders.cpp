// src/apps/controller_folders.cpp - see controller_folders.h.
#include "apps/controller_folders.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/hostlist.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "platform/descriptor.h"
#include "wire/credential.h"

namespace millrace {
namespace {

std::string socket_folder(const Configuration& configuration) {
  return configuration.socket_path.substr(0, configuration.socket_path.rfind('/'));
}

}  // namespace

Result<void> make_state_folder(const Configuration& configuration) {
  const auto for_us = [&] { return in_context(make_private_directory(configuration.state_dir), "StateSaveLocation"); };
  if (getuid() != 0) return for_us();
  MR_TRY(const LocalUser user,
         in_context(find_user(configuration.slurm_user), "SlurmUser=" + configuration.slurm_user));
  if (user.uid == 0) return for_us();
  return in_context(own_directory(configuration.state_dir, 0700, user), "StateSaveLocation");
}

namespace {

// Whole or not at all. A disk that is full must not keep the controller from starting: then the next start writes it.
void write_cluster_name(const std::string& path, const std::string& name) {
  const std::string fresh = path + ".new", line = name + "\n";
  const Descriptor file{::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  const bool written = file && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                       ::fsync(file.get()) == 0 && rename(fresh.c_str(), path.c_str()) == 0;
  if (!written) (void)unlink(fresh.c_str());
}

}  // namespace

Result<void> open_state_folder(const Configuration& configuration) {
  MR_TRY_VOID(make_private_directory(configuration.state_dir));
  const std::string path = configuration.state_dir + "/clustername";
  // Not to wait where somebody has put a pipe.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (!file && errno != ENOENT) return fail_errno(Errc::io, path);
  if (!file) return write_cluster_name(path, configuration.cluster_name), Result<void>{};
  char text[4096];
  const ssize_t length = ::read(file.get(), text, sizeof text);
  if (length < 0) return fail_errno(Errc::io, "read " + path);
  const std::string_view name = trim({text, static_cast<std::size_t>(length)});
  if (name == configuration.cluster_name) return {};
  return fail(Errc::refused, "CLUSTER NAME MISMATCH: slurm.conf says ClusterName=" + configuration.cluster_name +
                                 ", and StateSaveLocation has the state of cluster '" + shown_text(name) +
                                 "'. Two clusters need a StateSaveLocation each. If this one has got another name, "
                                 "remove " +
                                 path + " and start again");
}

Result<void> move_aside(const std::string& directory) {
  const std::string aside = directory + ".old-" + std::to_string(time(nullptr));
  if (rename(directory.c_str(), aside.c_str()) != 0 && errno != ENOENT)
    return fail(Errc::io, "moving " + directory + " aside: " + std::strerror(errno));
  return {};
}

Result<void> give_socket_folder(const Configuration& configuration, const LocalUser& user) {
  const std::string folder = socket_folder(configuration);
  if (!folder.starts_with("/run/millrace/"))
    return in_context(own_directory(folder, 0755, user), "the folder of AuthInfo=socket=");
  MR_TRY_VOID(make_directories(folder, 0755));  // an agent of this host may have made it, as root
  if (lchown(folder.c_str(), user.uid, user.gid) != 0) return fail(Errc::io, folder + ": " + std::strerror(errno));
  return {};
}

Result<void> check_socket_folder(const Configuration& configuration) {
  const std::string folder = socket_folder(configuration);
  const auto made = make_directories(folder, 0755);
  if (made && access(folder.c_str(), W_OK) == 0) return {};
  const std::string why = made ? std::strerror(errno) : made.error().story;
  const std::string user = std::to_string(getuid());
  return fail(Errc::refused,
              folder + ": user " + user + " cannot make the socket of commands there (" + why +
                  "); start the controller as root, which becomes SlurmUser, or type as root: install -d -m 0755 -o " +
                  user + " " + folder + " (with systemd: RuntimeDirectory=), or set AuthInfo=socket=PATH");
}

Result<KeyFile> find_cluster_key(const Configuration& configuration, const State& recovered) {
  const std::string& path = configuration.cluster_key_file;
  auto file = read_key_file(path);
  if (file && file->node.empty()) return file;
  if (file) return fail(Errc::invalid, path + ": this is the key of a node; the controller needs the cluster's");
  if (file.error().code != Errc::not_found) return std::unexpected(file.error());
  if (recovered.version == 0) {
    MR_TRY(std::string key, make_cluster_key_file(path));
    return KeyFile{{}, KeyRole::node, std::move(key), {}};
  }
  std::vector<std::string> names;
  for (const auto& [index, node] : recovered.nodes) names.push_back(node->def->name);
  std::string nodes = compress_hostlist_sorted(std::move(names));
  if (nodes.size() > 1000) nodes = nodes.substr(0, 1000) + "...";
  return fail(Errc::not_found,
              "the cluster's key is missing, and its log is there: " + path +
                  "; put the file back from a backup. If there is none, `millrace key make " + path +
                  "` makes another one; then every node and login machine needs a new key of its own (`millrace key "
                  "node NAME`) and a restart of its agent: " +
                  nodes);
}

}  // namespace millrace
