// src/agent/relay.cpp - see relay.h.
#include "agent/relay.h"

#include <utility>
#include <vector>

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

Relay::ClientId Relay::open(std::uint32_t uid, std::uint32_t gid, Answer answer, Hold hold) {
  if (clients_.size() >= clients_max) return 0;
  const ClientId id = ++last_client_;
  Client& client = clients_[id];
  client.uid = uid;
  client.gid = gid;
  client.answer = std::move(answer);
  client.hold = std::move(hold);
  if (is_to_wait(uid)) settle_holds();
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
  if (waiting_.empty() && upstream_.unsent() < unsent_enough) return send_up(id, client, bytes);
  const Request& request = waiting_[client.uid].requests.emplace_back(id, std::string{bytes});
  waiting_[client.uid].cost += request.cost();
  waiting_cost_ += request.cost();
  if (is_to_wait(client.uid)) settle_holds();
  send_on();
}

void Relay::send_up(ClientId id, const Client& client, std::string_view bytes) {
  last_user_ = client.uid;
  wire::RelayedRequest relayed;
  relayed.set_client(id);
  relayed.set_uid(client.uid);
  relayed.set_gid(client.gid);
  relayed.set_request(bytes.data(), bytes.size());
  upstream_.request(relayed);
}

// As much as the link takes, a request of each user at a time.
void Relay::send_on() {
  bool settle = false;
  while (!waiting_.empty() && is_connected_ && upstream_.unsent() < unsent_enough) {
    auto next = waiting_.upper_bound(last_user_);
    if (next == waiting_.end()) next = waiting_.begin();
    const bool waited = is_to_wait(next->first);
    const Request request = std::move(next->second.requests.front());
    next->second.requests.pop_front();
    next->second.cost -= request.cost();
    waiting_cost_ -= request.cost();
    if (next->second.requests.empty()) waiting_.erase(next);
    settle = settle || waited;
    send_up(request.client, clients_.at(request.client), request.bytes);
  }
  if (settle) settle_holds();
  if (waiting_.empty() || !is_connected_ || std::exchange(asked_, true)) return;
  upstream_.when_unsent_below(unsent_enough, [this, alive = std::weak_ptr{alive_}] {
    if (alive.expired()) return;
    asked_ = false;
    send_on();
  });
}

void Relay::forget_waiting(ClientId id, std::uint32_t uid) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) return;
  const bool waited = is_to_wait(uid);
  std::erase_if(found->second.requests, [&](const Request& request) {
    if (request.client != id) return false;
    found->second.cost -= request.cost();
    waiting_cost_ -= request.cost();
    return true;
  });
  if (found->second.requests.empty()) waiting_.erase(found);
  if (waited) settle_holds();
}

bool Relay::is_to_wait(std::uint32_t uid) const {
  const auto found = waiting_.find(uid);
  return waiting_cost_ >= waiting_enough || (found != waiting_.end() && found->second.cost >= waiting_per_user_enough);
}

void Relay::settle_holds() {
  for (auto& [id, client] : clients_) {
    const bool held = is_to_wait(client.uid);
    if (std::exchange(client.held, held) != held && client.hold) client.hold(held);
  }
}

bool Relay::waits(ClientId id) const {
  const auto found = clients_.find(id);
  return found != clients_.end() && (!found->second.pending.empty() || found->second.held);
}

// What it has asked and what has not left yet is not asked any more.
void Relay::close(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  const std::uint32_t uid = found->second.uid;
  clients_.erase(found);
  forget_waiting(id, uid);
  if (is_connected_) upstream_.closed(id);
}

void Relay::connected(Upstream upstream) {
  upstream_ = std::move(upstream);
  is_connected_ = true;
  asked_ = false;
  send_on();
}

void Relay::disconnected() {
  if (!is_connected_) return;
  is_connected_ = false;
  upstream_ = {};
  asked_ = false;
  waiting_.clear();
  waiting_cost_ = 0;
  settle_holds();
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
