// src/wire/node_keys.h - keys of nodes and login machines: what each lets its holder do, and how one is made worthless.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// What the key of a machine lets whoever holds it do, besides being the machine of that name.
enum class KeyRole : std::uint8_t {
  node,        // speak for those who have a job there (controller/relay_rights)
  login,       // speak for every user, but not for root and SlurmUser
  login_root,  // speak for root and SlurmUser, too
  munge,       // no key of ours: munged vouches for root of that host. As `node`
};

struct KeyName {
  KeyRole role = KeyRole::node;
  std::string node;
  // How often the keys of this name were revoked before this one was made.
  std::uint32_t generation = 0;
  bool operator==(const KeyName&) const = default;
};

// Names go into words, lines and derivations: what could be read in two ways is none.
bool is_node_name(std::string_view name);

// "n1", "login:n1", "login-root:n1", "munge:n1"; with a generation behind it ("n1@2"), unless that is 0. A peer says it
// without one, and never "munge:". Nothing: it is none.
std::string text_of(const KeyName& name);
std::optional<KeyName> parse_key_name(std::string_view text);

// Whoever has the cluster key can make it; whoever has it can make no other.
std::string derive_key(std::string_view cluster_key, const KeyName& name);

// Of each name that was ever revoked, how often, and the role of the keys made since: a name has keys of one role.
// Those of a compute node are not written down: they are what a name has of which nothing else is known.
struct KeyGeneration {
  std::uint32_t number = 0;
  KeyRole role = KeyRole::node;
  bool operator==(const KeyGeneration&) const = default;
};
using KeyGenerations = std::map<std::string, KeyGeneration, std::less<>>;

// Lines of a cluster key file behind the key: "revoked NAME TIMES", and behind that "login" or "login-root" for keys of
// that role.
std::string generation_lines(const KeyGenerations& generations);
std::optional<KeyGenerations> parse_generation_lines(std::string_view lines);

}  // namespace millrace
