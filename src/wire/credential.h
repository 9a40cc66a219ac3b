// src/wire/credential.h - keys, digests and the signed launch credential: what proves to a node that the controller
// wants this run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/node_keys.h"

namespace millrace {

constexpr std::size_t key_size = 32;

std::string sha256(std::string_view bytes);                            // 32 bytes
std::string hmac_sha256(std::string_view key, std::string_view text);  // 32 bytes

// The key of one node's session; whoever has the cluster key can make it, the node itself can make no other.
std::string derive_node_key(std::string_view cluster_key, std::string_view node);

// Signs launch credentials (Ed25519). Only the controller has one; its seed is derived from the cluster key.
class CredentialSigner {
 public:
  static Result<CredentialSigner> from_cluster_key(std::string_view cluster_key);
  CredentialSigner(CredentialSigner&& other) noexcept;
  CredentialSigner& operator=(CredentialSigner&&) = delete;
  ~CredentialSigner();
  std::string sign(std::string_view bytes) const;
  const std::string& verify_key() const { return verify_key_; }  // public, 32 bytes

 private:
  explicit CredentialSigner(void* key);
  void* key_;  // EVP_PKEY; OpenSSL stays out of headers
  std::string verify_key_;
};

bool verify_credential(std::string_view verify_key, std::string_view bytes, std::string_view signature);

// Key files are text, mode 0600: "millrace-cluster-key 1 HEX", with the generations of node_keys.h in further lines, or
// "millrace-node-key 1 NAME HEX", where NAME may have a role before it.
struct KeyFile {
  std::string node;  // empty: a cluster key
  KeyRole role = KeyRole::node;
  std::string key;
  KeyGenerations generations;
  // Of a cluster key: the name as its next key has it.
  KeyName current(std::string node_name, KeyRole as) const;
};
Result<KeyFile> read_key_file(const std::string& path);  // refused when others may read it
// Made with O_EXCL, synced; an existing file is left alone and is an error.
Result<std::string> make_cluster_key_file(const std::string& path);
std::string node_key_line(std::string_view name, std::string_view key);
// Every key that this name has had is worthless from now on. Gives its new generation.
Result<std::uint32_t> revoke_keys(const std::string& cluster_key_path, const std::string& node);
// The name of a key that is to be made. A name has keys of one role: where those so far may have another, they are
// worthless from now on.
Result<KeyName> name_next_key(const std::string& cluster_key_path, const std::string& node, KeyRole role);

}  // namespace millrace
