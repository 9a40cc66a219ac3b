// src/apps/munge_nodes.h - nodes without a key file prove themselves by MUNGE: the key of a session travels in a
// credential that only the controller's user can open.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "platform/dialer.h"
#include "platform/munge.h"
#include "platform/tls.h"

namespace millrace {

// The node's side: a face that is good for one connection. `reader` is SlurmUser.
Result<NodeFace> munge_face(Munge& munge, const std::string& node, uid_t reader);

// What a credential that was opened says: the node that made it, and the key of its session.
Result<NodeProof> read_munge_payload(std::string_view payload);

// The controller's side.
class MungeNodes {
 public:
  MungeNodes(std::unique_ptr<Munge> munge, std::function<void(const std::string&)> say);
  static bool is_credential(std::string_view identity) { return identity.starts_with("MUNGE:"); }
  std::optional<NodeProof> open(std::string_view credential);

 private:
  std::unique_ptr<Munge> munge_;
  std::function<void(const std::string&)> say_;
  std::chrono::steady_clock::time_point
      shut_until_{};  // munged did not answer: it is not asked for a while, because the controller waits with it
};

}  // namespace millrace
