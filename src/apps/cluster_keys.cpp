// src/apps/cluster_keys.cpp - see cluster_keys.h.
#include "apps/cluster_keys.h"

#include <utility>

namespace millrace {
namespace {

constexpr Duration between_looks = seconds(1);  // one stat() of a local file

}  // namespace

ClusterKeys::ClusterKeys(Loop& loop, std::string path, KeyFile file, Revoked revoked,
                         std::function<void(const std::string&)> complain)
    : loop_(loop),
      path_(std::move(path)),
      file_(std::move(file)),
      revoked_(std::move(revoked)),
      complain_(std::move(complain)) {
  look();
}

std::optional<NodeProof> ClusterKeys::proof_of(std::string_view identity) const {
  auto name = parse_key_name(identity);
  // The generation is ours to say, and munged speaks for itself.
  if (!name || name->generation != 0 || name->role == KeyRole::munge) return std::nullopt;
  const KeyName current = file_.current(std::move(name->node), name->role);
  return NodeProof{text_of(current), derive_key(file_.key, current)};
}

bool ClusterKeys::holds(const KeyName& name) const {
  return name.role == KeyRole::munge || file_.current(name.node, name.role).generation == name.generation;
}

void ClusterKeys::look() {
  struct stat now{};
  const bool there = stat(path_.c_str(), &now) == 0;
  const bool same = now.st_ino == seen_.st_ino && now.st_size == seen_.st_size &&
                    now.st_mtim.tv_sec == seen_.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec;
  if (there && !same) {
    seen_ = now;
    read_again();
  }
  loop_.after(between_looks, [this] { look(); });
}

// What cannot be read changes nothing: nodes go on, and the log says why. Nor does a list with less in it: only a start
// forgets.
void ClusterKeys::read_again() {
  auto fresh = read_key_file(path_);
  if (!fresh) return complain_("the cluster's key file has changed and cannot be read: " + fresh.error().story);
  if (!fresh->node.empty() || fresh->key != file_.key)
    return complain_(path_ + " holds another key now; it takes effect when the controller is started again");
  for (const auto& [node, generation] : fresh->generations) {
    KeyGeneration& known = file_.generations[node];
    if (generation.number <= known.number) continue;
    known = generation;
    revoked_(node, generation.number);
  }
}

}  // namespace millrace
