// src/controller/sessions.h - the clients of this moment: bytes from their links become requests, replies go back.
#pragma once

#include <map>
#include <memory>

#include "controller/controller.h"
#include "ports/transport.h"

namespace millrace {

class Sessions final : public Clients {
 public:
  Sessions();
  ~Sessions() override;
  // Set before the first client comes; the controller needs its Clients first.
  void serve(Controller& controller) { controller_ = &controller; }

  // A client on a local socket. `start` hands the link its handler.
  ClientId accept(std::unique_ptr<Link> link, UserId uid, GroupId gid);
  LinkHandler& handler(ClientId client);
  // A client of a relay: its bytes come inside an agent's session, answers leave through `send`.
  ClientId accept_relayed(UserId uid, GroupId gid, std::move_only_function<void(std::string)> send);
  void relayed_message(ClientId client, std::string_view bytes);
  void relayed_closed(ClientId client);

  void reply(ClientId client, const wire::Reply& reply) override;
  void reply_encoded(ClientId client, std::string reply) override;
  void when_read(ClientId client, Task then) override;

 private:
  class Session;
  void received(ClientId client, std::string_view bytes);
  void left(ClientId client);

  Controller* controller_ = nullptr;
  std::map<ClientId, std::unique_ptr<Session>> sessions_;
  ClientId next_ = 1;
};

}  // namespace millrace
