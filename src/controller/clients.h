// src/controller/clients.h - people and programs that asked something: where answers go.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "client.pb.h"
#include "ports/loop.h"

namespace millrace {

using ClientId = std::uint64_t;

// A client that has left is ignored.
class Clients {
 public:
  virtual ~Clients() = default;
  virtual void reply(ClientId client, const wire::Reply& reply) = 0;
  virtual void reply_encoded(ClientId client, std::string reply) = 0;
  // Runs `then` once the client has read most of what it was sent, perhaps at once, and never if it leaves before.
  virtual void when_read(ClientId client, Task then) = 0;
  // This request waits for something that may take days, and nothing of it is kept but who asked.
  virtual void waits(ClientId, std::uint64_t) {}
};

// Who asks, as proved by the socket.
struct Asker {
  ClientId client = 0;
  UserId uid;
  GroupId gid;
  // Who vouches for it lends it nothing that sacctmgr gives (AdminLevel, coordinated accounts): see relay_rights.h.
  bool plain_user = false;
  std::uint64_t relay = 0;  // through which it asks; where plain_user is set
};

}  // namespace millrace
