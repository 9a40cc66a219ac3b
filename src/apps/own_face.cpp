// src/apps/own_face.cpp - see own_face.h.
#include "apps/own_face.h"

#include <unistd.h>

#include <utility>

#include "apps/munge_nodes.h"
#include "platform/daemon.h"
#include "wire/credential.h"

namespace millrace {

Result<OwnFace> OwnFace::find(const Configuration& configuration, std::string node, const std::string& key_file,
                              bool relay) {
  OwnFace face;
  face.node_ = std::move(node);
  face.slurm_user_ = configuration.slurm_user;
  auto file = read_key_file(key_file.empty() ? configuration.node_key_file : key_file);
  if (!file && key_file.empty() && file.error().code == Errc::not_found) {
    auto cluster = read_key_file(configuration.cluster_key_file);
    if (!cluster) {
      const std::string none = "no key for this node: " + file.error().story + "; " + cluster.error().story;
      if (!configuration.munge || geteuid() != 0) return fail(Errc::not_found, none);
      auto munge = Munge::open(configuration.munge_socket);
      if (!munge) return fail(Errc::not_found, none + "; AuthType=auth/munge: " + munge.error().story);
      face.munge_ = *std::move(munge);
      return face;
    }
    file = std::move(cluster);
  }
  if (!file) return std::unexpected(file.error());
  if (!file->node.empty() && file->node != face.node_)
    return fail(Errc::invalid, "the key is of node " + file->node + ", and this is " + face.node_);
  const bool of_cluster = file->node.empty();
  const KeyName name = of_cluster ? file->current(face.node_, relay ? KeyRole::login_root : KeyRole::node)
                                  : KeyName{file->role, face.node_};
  face.key_ = of_cluster ? derive_key(file->key, name) : file->key;
  face.identity_ = text_of({name.role, name.node});  // the controller knows the generation
  return face;
}

Result<NodeFace> OwnFace::show() const {
  if (!munge_) return NodeFace{identity_, key_};
  MR_TRY(const LocalUser reader, in_context(find_user(slurm_user_), "SlurmUser"));
  return munge_face(*munge_, node_, reader.uid);
}

}  // namespace millrace
