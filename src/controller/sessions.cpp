// src/controller/sessions.cpp - see sessions.h.
#include "controller/sessions.h"

#include "wire/frame.h"

namespace millrace {

constexpr std::size_t almost_read = 256u << 10;  // so little unsent keeps a client busy while the next is made

class Sessions::Session final : public LinkHandler {
 public:
  Session(Sessions& sessions, Asker asker) : sessions_(sessions), asker_(asker) {}
  void message(std::string_view bytes) override { sessions_.received(asker_.client, bytes); }
  void closed(std::string_view) override { sessions_.left(asker_.client); }

  Sessions& sessions_;
  Asker asker_;
  std::unique_ptr<Link> link_;
  std::move_only_function<void(std::string)> send_;
};

Sessions::Sessions() = default;
Sessions::~Sessions() = default;

ClientId Sessions::accept(std::unique_ptr<Link> link, UserId uid, GroupId gid) {
  const ClientId client = next_++;
  auto session = std::make_unique<Session>(*this, Asker{client, uid, gid});
  session->link_ = std::move(link);
  sessions_.emplace(client, std::move(session));
  return client;
}

LinkHandler& Sessions::handler(ClientId client) { return *sessions_.at(client); }

ClientId Sessions::accept_relayed(UserId uid, GroupId gid, std::move_only_function<void(std::string)> send) {
  const ClientId client = next_++;
  auto session = std::make_unique<Session>(*this, Asker{client, uid, gid});
  session->send_ = std::move(send);
  sessions_.emplace(client, std::move(session));
  return client;
}

void Sessions::relayed_message(ClientId client, std::string_view bytes) { received(client, bytes); }
void Sessions::relayed_closed(ClientId client) { left(client); }

void Sessions::received(ClientId client, std::string_view bytes) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end() || !controller_) return;
  wire::Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    wire::Reply out;
    out.mutable_failure()->set_code(1802);
    out.mutable_failure()->set_text("Unable to contact slurm controller (receive failure)");
    out.mutable_failure()->add_notes("the request could not be read");
    reply(client, out);
    return left(client);
  }
  if (request.protocol() != protocol_version) {
    wire::Reply out;
    out.set_number(request.number());
    out.mutable_failure()->set_code(1005);
    out.mutable_failure()->set_text("Incompatible versions of client and server code");
    return reply(client, out);
  }
  const Asker asker = it->second->asker_;  // a copy: handling may end the session
  controller_->request(asker, request);
}

void Sessions::left(ClientId client) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return;
  // Removed from the table first: what the controller does now must not find it.
  const std::unique_ptr<Session> gone = std::move(it->second);
  sessions_.erase(it);
  if (controller_) controller_->client_left(client);
}

void Sessions::reply(ClientId client, const wire::Reply& reply) { reply_encoded(client, reply.SerializeAsString()); }

void Sessions::reply_encoded(ClientId client, std::string reply) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return;
  if (it->second->link_)
    it->second->link_->send(std::move(reply));
  else
    it->second->send_(std::move(reply));
}

// How fast a relayed client reads is between it and its relay.
void Sessions::when_read(ClientId client, Task then) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return;
  if (it->second->link_)
    it->second->link_->when_unsent_below(almost_read, std::move(then));
  else
    then();
}

}  // namespace millrace
