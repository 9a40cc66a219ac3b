// src/controller/requests/sessions.h - the clients of this moment: bytes from their links become requests, replies go
// back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/controller.h"
#include "ports/transport.h"

namespace millrace {

// What one user's clients may leave lying here. A connection that asks nothing is closed after a while; one that waits
// for an answer, perhaps for days, is not.
struct SessionLimits {
  std::size_t unread_bytes_per_user_max = 256u << 20;  // of answers that are made and not read
  std::size_t unanswered_max = 256;                    // requests of one connection
  std::size_t unanswered_per_user_max = 4096;
  std::size_t unanswered_bytes_per_user_max = 256u << 20;  // of memory that these requests take
  std::size_t waiting_per_user_max = 32'768;               // srun, salloc and the like, for as long as their jobs run
  int idle_sweeps_max = 10;                                // see sweep()
};

class Sessions final : public Clients {
 public:
  explicit Sessions(SessionLimits limits = {});
  ~Sessions() override;
  // Set before the first client comes; the controller needs its Clients first.
  void serve(Controller& controller) { controller_ = &controller; }
  // Which cluster this is: requests for another one are refused. The port may change when the files are read again.
  void set_cluster(std::string name, std::uint16_t port);
  // For whom the limits of users do not hold.
  void set_privileged(std::function<bool(UserId)> is_privileged) { is_privileged_ = std::move(is_privileged); }

  // A client on a local socket. `start` hands the link its handler.
  ClientId accept(std::unique_ptr<Link> link, UserId uid, GroupId gid);
  LinkHandler& handler(ClientId client);
  // A client of a relay: its bytes come inside an agent's session, answers leave through `path`, or through `send`.
  // `judge` says why a request is not taken from there; nothing: it is. `relay`: the one of a compute node, whose
  // clients are plain users (see Asker).
  using Judge = std::function<std::optional<std::string>(const wire::Request&)>;
  ClientId accept_relayed(UserId uid, GroupId gid, std::unique_ptr<Link> path, Judge judge = {},
                          std::optional<std::uint64_t> relay = {});
  ClientId accept_relayed(UserId uid, GroupId gid, std::move_only_function<void(std::string)> send);
  void relayed_message(ClientId client, std::string_view bytes);
  void relayed_closed(ClientId client);
  // Once a minute: closes local connections that have asked nothing for a while and wait for nothing.
  void sweep();
  std::size_t connections() const { return sessions_.size(); }

  void reply(ClientId client, const wire::Reply& reply) override;
  void reply_encoded(ClientId client, std::string reply) override;
  void when_read(ClientId client, Task then) override;
  void waits(ClientId client, std::uint64_t number) override;

 private:
  class Session;
  void received(ClientId client, std::string_view bytes);
  void left(ClientId client);
  bool has_number_twice(ClientId client, std::uint64_t number);  // and ends the session
  bool is_for_another(ClientId client, const wire::Request& request);
  void refuse(ClientId client, std::uint64_t number, std::uint32_t code, const char* text, std::string note);
  // Why this user has to wait with another request of so many bytes; empty: he has not.
  std::string too_many(const Session& session, const wire::Request& request, std::size_t bytes) const;

  const SessionLimits limits_;
  Controller* controller_ = nullptr;
  std::string cluster_;               // empty: not known
  std::vector<std::uint16_t> ports_;  // what SlurmctldPort has been since the start
  std::function<bool(UserId)> is_privileged_ = [](UserId uid) { return uid.value == 0; };
  std::map<UserId, std::size_t> unread_;  // bytes, of users who have some
  struct Unanswered {
    std::size_t requests = 0, bytes = 0, waiting = 0;
  };
  std::map<UserId, Unanswered> unanswered_;  // of users who wait for answers
  std::map<ClientId, std::unique_ptr<Session>> sessions_;
  ClientId next_ = 1;
};

// The way to a relayed client.
class RelayedPath final : public Link {
 public:
  using Send = std::move_only_function<void(std::string)>;
  using Unsent = std::function<std::size_t()>;
  using WhenBelow = std::function<void(std::size_t, Task)>;
  explicit RelayedPath(Send send, Unsent unsent = {}, WhenBelow when_below = {})
      : send_(std::move(send)), unsent_(std::move(unsent)), when_below_(std::move(when_below)) {}
  void send(std::string bytes) override { send_(std::move(bytes)); }
  void close() override {}
  std::size_t unsent() const override { return unsent_ ? unsent_() : 0; }
  void when_unsent_below(std::size_t bytes, Task then) override {
    if (when_below_)
      when_below_(bytes, std::move(then));
    else
      then();
  }

 private:
  Send send_;
  Unsent unsent_;
  WhenBelow when_below_;
};

}  // namespace millrace
