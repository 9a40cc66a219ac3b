// src/apps/cluster_keys.h - the controller's view of the cluster's key file: who may connect, and what was revoked
// since.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "platform/tls.h"
#include "ports/loop.h"
#include "wire/credential.h"

namespace millrace {

class ClusterKeys {
 public:
  // A name whose keys so far are worthless now, and the generation of the next.
  using Revoked = std::function<void(const std::string& node, std::uint32_t generation)>;
  ClusterKeys(Loop& loop, std::string path, KeyFile file, Revoked revoked,
              std::function<void(const std::string&)> complain);

  // Of what a peer says it is. Nothing: it is no name.
  std::optional<NodeProof> proof_of(std::string_view identity) const;
  // Whether what a peer has proved still holds: keys may have been revoked since its handshake began.
  bool holds(const KeyName& name) const;

 private:
  void look();
  void read_again();

  Loop& loop_;
  const std::string path_;
  KeyFile file_;
  const Revoked revoked_;
  const std::function<void(const std::string&)> complain_;
  struct stat seen_{};
};

}  // namespace millrace
