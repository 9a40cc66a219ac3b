// src/controller/sessions.cpp - see sessions.h.
#include "controller/sessions.h"

#include <deque>
#include <utility>

#include "wire/frame.h"
#include "wire/reply_parts.h"
#include "wire/request_limits.h"

namespace millrace {

constexpr std::size_t almost_read = 256u << 10;  // so little unsent keeps a client busy while the next is made

class Sessions::Session final : public LinkHandler {
 public:
  Session(Sessions& sessions, Asker asker) : sessions_(sessions), asker_(asker) {}
  void message(std::string_view bytes) override { sessions_.received(asker_.client, bytes); }
  void closed(std::string_view) override { sessions_.left(asker_.client); }

  // Answers leave as fast as the client reads: what it has not read waits here, once, and not in its link as well.
  void answer(std::string reply) {
    outgoing_.emplace_back(std::move(reply));
    send_on();
  }
  void when_read(Task then) {
    wish_ = std::move(then);
    send_on();
  }

  Sessions& sessions_;
  Asker asker_;
  std::unique_ptr<Link> link_;
  std::move_only_function<void(std::string)> send_;

 private:
  void send_on() {
    while (!outgoing_.empty()) {
      // How fast a relayed client reads is between it and its relay.
      if (link_ && link_->unsent() >= almost_read) return wait_for_reader();
      std::string bytes = outgoing_.front().next();
      if (outgoing_.front().done()) outgoing_.pop_front();
      if (link_) {
        link_->send(std::move(bytes));
        continue;
      }
      // Its relay may turn out to be gone, and this session with it.
      const Sessions& sessions = sessions_;
      const ClientId client = asker_.client;
      send_(std::move(bytes));
      if (!sessions.sessions_.contains(client)) return;
    }
    if (!wish_) return;
    if (link_ && link_->unsent() >= almost_read) return wait_for_reader();
    if (Task then = std::exchange(wish_, nullptr)) then();
  }
  void wait_for_reader() {
    // By number: the session may have ended when this runs.
    link_->when_unsent_below(almost_read, [&sessions = sessions_, client = asker_.client] {
      if (const auto it = sessions.sessions_.find(client); it != sessions.sessions_.end()) it->second->send_on();
    });
  }

  std::deque<ReplyCutter> outgoing_;
  Task wish_;  // when everything is read
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
  const auto refuse = [&](std::uint64_t number, std::uint32_t code, const char* text, std::string note) {
    wire::Reply out;
    out.set_number(number);
    out.mutable_failure()->set_code(code);
    out.mutable_failure()->set_text(text);
    if (!note.empty()) out.mutable_failure()->add_notes(std::move(note));
    reply(client, out);
  };
  // Before it is read: lists that are too long never become objects.
  if (auto problem = over_limit(bytes))
    return refuse(number_of_request(bytes), too_long_code, too_long_text, *std::move(problem));
  wire::Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    refuse(0, 1802, "Unable to contact slurm controller (receive failure)", "the request could not be read");
    return left(client);
  }
  if (request.protocol() != protocol_version)
    return refuse(request.number(), 1005, "Incompatible versions of client and server code", {});
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
  it->second->answer(std::move(reply));
}

void Sessions::when_read(ClientId client, Task then) {
  const auto it = sessions_.find(client);
  if (it != sessions_.end()) it->second->when_read(std::move(then));
}

}  // namespace millrace
