// src/wire/credential.h - who may start what: signed launch credentials, node keys, and the files the keys lie in.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::wire {
class LaunchPlan;
}

namespace millrace {

constexpr std::size_t cluster_key_size = 32;

std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
bool equal_in_constant_time(std::string_view a, std::string_view b);

// The key a node proves itself with; whoever has the cluster key can make it, nobody can go back from it.
std::string derive_node_key(std::string_view cluster_key, std::string_view node_name);
// What Credential.plan_digest holds: SHA-256 of the serialized plan (no maps in it, so there is one serialization).
std::string plan_digest(const wire::LaunchPlan& plan);

// Ed25519 under a seed derived from the cluster key, so every controller of a cluster signs alike and nothing more need
// be kept. Only controllers have one; agents get the verify key in the Welcome.
class CredentialSigner {
 public:
  static Result<CredentialSigner> from_cluster_key(std::string_view cluster_key);
  CredentialSigner(CredentialSigner&&) noexcept;
  CredentialSigner& operator=(CredentialSigner&&) noexcept;
  ~CredentialSigner();

  std::string sign(std::string_view bytes) const;  // 64 bytes
  const std::string& verify_key() const { return verify_key_; }

 private:
  struct Key;
  explicit CredentialSigner(std::unique_ptr<Key> key);
  std::unique_ptr<Key> key_;
  std::string verify_key_;  // 32 bytes
};

bool verify_signature(std::string_view verify_key, std::string_view bytes, std::string_view signature);

// One line each: "millrace-cluster-key 1 HEX" and "millrace-node-key 1 NODE HEX". Reading refuses a file that anybody
// but its owner could read, and one whose owner is neither we nor root.
struct NodeKey {
  std::string node;
  std::string key;
};
Result<std::string> make_cluster_key_file(const std::string& path);  // refuses to replace; gives the key
Result<std::string> read_cluster_key_file(const std::string& path);
Result<void> write_node_key_file(const std::string& path, const NodeKey& key);  // refuses to replace
Result<NodeKey> read_node_key_file(const std::string& path);

}  // namespace millrace
