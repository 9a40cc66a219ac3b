// src/wire/node_keys.cpp - see node_keys.h.
#include "wire/node_keys.h"

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "wire/credential.h"

namespace millrace {
namespace {

struct RoleWord {
  KeyRole role;
  std::string_view before;
  constexpr std::string_view alone() const { return before.substr(0, before.size() - 1); }
};
constexpr RoleWord role_words[] = {
    {KeyRole::login, "login:"},
    {KeyRole::login_root, "login-root:"},
    {KeyRole::munge, "munge:"},
};

std::optional<KeyRole> parse_login_role(std::string_view text) {
  for (const RoleWord& word : role_words)
    if (word.alone() == text && word.role != KeyRole::munge) return word.role;
  return std::nullopt;
}

std::optional<std::uint32_t> parse_generation(std::string_view text) {
  const auto number = text.size() <= 9 ? parse_integer(text) : std::nullopt;
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

bool is_node_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::string text_of(const KeyName& name) {
  std::string out;
  for (const RoleWord& word : role_words)
    if (word.role == name.role) out = word.before;
  out += name.node;
  if (name.generation > 0) out += "@" + std::to_string(name.generation);
  return out;
}

std::optional<KeyName> parse_key_name(std::string_view text) {
  KeyName name;
  for (const RoleWord& word : role_words) {
    if (!text.starts_with(word.before)) continue;
    name.role = word.role;
    text.remove_prefix(word.before.size());
    break;
  }
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    const auto generation = parse_generation(text.substr(at + 1));
    if (!generation) return std::nullopt;
    name.generation = *generation;
    text = text.substr(0, at);
  }
  if (!is_node_name(text)) return std::nullopt;
  name.node = text;
  return name;
}

std::string derive_key(std::string_view cluster_key, const KeyName& name) {
  MR_ASSERT(name.role != KeyRole::munge);
  // The first keys of nodes are older than roles and generations. No name has a colon or an @.
  if (name.role == KeyRole::node && name.generation == 0) return derive_node_key(cluster_key, name.node);
  return hmac_sha256(cluster_key, "key:" + text_of(name));
}

std::string generation_lines(const KeyGenerations& generations) {
  std::string out;
  for (const auto& [node, generation] : generations) {
    out += "revoked " + node + " " + std::to_string(generation.number);
    for (const RoleWord& word : role_words)
      if (word.role == generation.role) out += " " + std::string{word.alone()};
    out += "\n";
  }
  return out;
}

std::optional<KeyGenerations> parse_generation_lines(std::string_view lines) {
  KeyGenerations out;
  for (const std::string_view line : split(lines, '\n')) {
    if (trim(line).empty()) continue;
    const auto words = split(trim(line), ' ');
    if (words.size() < 3 || words.size() > 4 || words[0] != "revoked" || !is_node_name(words[1])) return std::nullopt;
    const auto times = parse_generation(words[2]);
    const auto role = words.size() == 3 ? KeyRole::node : parse_login_role(words[3]);
    if (!times || !role || !out.emplace(words[1], KeyGeneration{*times, *role}).second) return std::nullopt;
  }
  return out;
}

}  // namespace millrace
