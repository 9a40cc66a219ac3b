// src/agent/relay.cpp - see relay.h.
#include "agent/relay.h"

#include <optional>
#include <vector>

#include "agent.pb.h"
#include "client.pb.h"

namespace millrace {

namespace {

constexpr std::uint32_t connect_failure = 1800;

std::string failure(std::uint64_t number, std::uint32_t code, const char* text, const char* note) {
  wire::Reply reply;
  reply.set_number(number);
  reply.mutable_failure()->set_code(code);
  reply.mutable_failure()->set_text(text);
  if (note != nullptr) reply.mutable_failure()->add_notes(note);
  return reply.SerializeAsString();
}

std::string controller_away(std::uint64_t number, const char* note) {
  return failure(number, connect_failure, "Unable to contact slurm controller (connect failure)", note);
}

std::optional<std::uint64_t> read_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Only the first two fields: a reply may hold a hundred thousand jobs that are none of our business.
struct ReplyHead {
  std::uint64_t number = 0;
  bool more = false;
};
ReplyHead head_of(std::string_view bytes) {
  constexpr std::uint64_t number_tag = 1 << 3, more_tag = 2 << 3;
  ReplyHead head;
  while (const auto tag = read_varint(bytes)) {
    if (*tag != number_tag && *tag != more_tag) break;
    const auto value = read_varint(bytes);
    if (!value) break;
    if (*tag == number_tag) head.number = *value;
    if (*tag == more_tag) head.more = *value != 0;
  }
  return head;
}

}  // namespace

Relay::ClientId Relay::open(std::uint32_t uid, std::uint32_t gid, Answer answer) {
  if (clients_.size() >= clients_max) return 0;
  const ClientId id = ++last_client_;
  Client& client = clients_[id];
  client.uid = uid;
  client.gid = gid;
  client.answer = std::move(answer);
  return id;
}

void Relay::request(ClientId id, std::string_view bytes) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  wire::Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return client.answer(failure(0, 1005, "Unable to unpack message", nullptr));
  if (!is_connected_) return client.answer(controller_away(request.number(), "this node has no connection to it"));
  if (client.pending.size() >= pending_max)
    return client.answer(controller_away(request.number(), "too many unanswered requests on one connection"));
  client.pending.insert(request.number());
  wire::RelayedRequest relayed;
  relayed.set_client(id);
  relayed.set_uid(client.uid);
  relayed.set_gid(client.gid);
  relayed.set_request(bytes.data(), bytes.size());
  upstream_.request(relayed);
}

void Relay::close(ClientId id) {
  if (clients_.erase(id) != 0 && is_connected_) upstream_.closed(id);
}

void Relay::connected(Upstream upstream) {
  upstream_ = std::move(upstream);
  is_connected_ = true;
}

void Relay::disconnected() {
  if (!is_connected_) return;
  is_connected_ = false;
  upstream_ = {};
  // Answers may close clients, so they are taken out of the table first.
  std::vector<std::pair<ClientId, std::uint64_t>> unanswered;
  for (auto& [id, client] : clients_) {
    for (const std::uint64_t number : client.pending) unanswered.emplace_back(id, number);
    client.pending.clear();
  }
  for (const auto& [id, number] : unanswered)
    if (const auto found = clients_.find(id); found != clients_.end())
      found->second.answer(
          controller_away(number, "the connection broke before the answer came: it may have been done"));
}

void Relay::reply(ClientId id, std::string_view bytes) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  const ReplyHead head = head_of(bytes);
  if (!head.more) found->second.pending.erase(head.number);
  found->second.answer(std::string{bytes});
}

}  // namespace millrace
