// src/apps/munge_nodes.cpp - see munge_nodes.h.
#include "apps/munge_nodes.h"

#include <unistd.h>

#include <chrono>

#include "wire/node_keys.h"
#include "wire/random.h"

namespace millrace {
namespace {

constexpr std::string_view greeting = "millrace 1 ";  // then the key, then the node's name
using Steady = std::chrono::steady_clock;
constexpr std::chrono::seconds too_long{1}, shut_for{60};

}  // namespace

Result<NodeFace> munge_face(Munge& munge, const std::string& node, uid_t reader) {
  NodeFace face;
  face.key = random_bytes(node_key_size);
  MR_TRY(face.identity, munge.seal(std::string{greeting} + face.key + node, reader));
  return face;
}

Result<NodeProof> read_munge_payload(std::string_view payload) {
  if (!payload.starts_with(greeting) || payload.size() <= greeting.size() + node_key_size)
    return fail(Errc::invalid, "its credential holds something else");
  const std::string node{payload.substr(greeting.size() + node_key_size)};
  if (!is_node_name(node)) return fail(Errc::invalid, "its credential names no node");
  return NodeProof{text_of({KeyRole::munge, node}), std::string{payload.substr(greeting.size(), node_key_size)}};
}

MungeNodes::MungeNodes(std::unique_ptr<Munge> munge, std::function<void(const std::string&)> say)
    : munge_(std::move(munge)), say_(std::move(say)) {}

std::optional<NodeProof> MungeNodes::open(std::string_view credential) {
  const auto before = Steady::now();
  if (before < shut_until_) return std::nullopt;
  const auto opened = munge_->unseal(std::string{credential});
  const auto after = Steady::now();
  if (after - before > too_long) {
    shut_until_ = after + shut_for;
    say_("munged took longer than a second; nodes without a key of their own are turned away for a minute");
  }
  if (!opened) {
    say_("a node is turned away: " + opened.error().story);
    return std::nullopt;
  }
  if (opened->uid != 0 && opened->uid != getuid()) {
    say_("a node is turned away: its credential is of user " + std::to_string(opened->uid) +
         ", and only root's and our own user's are believed");
    return std::nullopt;
  }
  auto proof = read_munge_payload(opened->payload);
  if (!proof) {
    say_("a node is turned away: " + proof.error().story);
    return std::nullopt;
  }
  return *std::move(proof);
}

}  // namespace millrace
