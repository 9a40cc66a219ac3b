// src/agent/relay.cpp - see relay.h.
#include "agent/relay.h"

#include <vector>

#include "agent.pb.h"
#include "client.pb.h"
#include "wire/reply_parts.h"
#include "wire/request_limits.h"

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
  const std::uint64_t number = number_of_request(bytes);
  if (const auto problem = over_limit(bytes))
    return client.answer(failure(number, too_long_code, too_long_text, problem->c_str()));
  if (!is_connected_) return client.answer(controller_away(number, "this node has no connection to it"));
  if (client.pending.size() >= pending_max)
    return client.answer(controller_away(number, "too many unanswered requests on one connection"));
  if (!client.pending.insert(number).second)
    return client.answer(controller_away(number, "a request of this number has not been answered yet"));
  wire::RelayedRequest relayed;
  relayed.set_client(id);
  relayed.set_uid(client.uid);
  relayed.set_gid(client.gid);
  relayed.set_request(bytes.data(), bytes.size());
  upstream_.request(relayed);
}

bool Relay::waits(ClientId id) const {
  const auto found = clients_.find(id);
  return found != clients_.end() && !found->second.pending.empty();
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
  const ReplyHead head = head_of_reply(bytes);
  if (!head.more) found->second.pending.erase(head.number);
  found->second.answer(std::string{bytes});
}

}  // namespace millrace
