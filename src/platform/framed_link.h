// src/platform/framed_link.h - a Link over a stream socket: wire frames in both directions, plain or through a filter
// (TLS).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "platform/socket.h"
#include "ports/loop.h"
#include "ports/transport.h"
#include "wire/frame.h"

namespace millrace {

class EventLoop;

// Changes bytes between the socket and the frames. TLS is one; without one, bytes pass as they are.
class StreamFilter {
 public:
  virtual ~StreamFilter() = default;
  // Bytes from the peer; appends what they mean to `plain`. An error ends the link; take_output() may hold a last word.
  virtual Result<void> received(std::string_view bytes, std::string& plain) = 0;
  virtual Result<void> send(std::string_view plain) = 0;  // only when established
  virtual std::string take_output() = 0;                  // bytes for the peer
  virtual bool established() const = 0;
  virtual std::string identity() const = 0;  // of the peer, once established
  virtual void finish() = 0;                 // puts a farewell into the output
};

struct LinkLimits {
  std::size_t receive_max = request_size_max;  // bytes of one message
  std::size_t send_max = reply_size_max;
  std::size_t unsent_max = 2 * reply_size_max;  // a peer that reads so slowly is dropped
  Duration connect_time_max = seconds(5);
  // From the connection to the end of the peer's first message; for one we opened, to the end of the handshake.
  Duration first_message_time_max = seconds(10);
  Duration farewell_time_max = seconds(5);  // after close(), for what is still unsent
  Duration message_time_max = seconds(60);  // from the first byte of a message to its last
  Duration unread_time_max = seconds(300);  // while bytes wait for the peer and it takes none
  // A peer for which so many bytes wait is not read: it gets the next answer when it has read this one. Not between two
  // daemons, which would wait for each other.
  std::size_t read_while_unsent_below = SIZE_MAX;
};

// A connection's place among others: what it holds in memory counts there. Ends with the socket.
class LinkPlace {
 public:
  virtual ~LinkPlace() = default;
  virtual bool holds(std::size_t bytes) = 0;      // false: more than it may
  virtual std::string last_word() { return {}; }  // a message for a peer that holds too much; empty: none
};

class FramedLink final : public Link {
 public:
  // A connected socket. Nothing is read before start(). `place` is kept as long as the socket is open (see Listener).
  FramedLink(EventLoop& loop, Descriptor socket, Peer peer, LinkLimits limits,
             std::unique_ptr<StreamFilter> filter = nullptr, std::shared_ptr<LinkPlace> place = nullptr);
  // Connects first, to whichever of the addresses answers.
  FramedLink(EventLoop& loop, std::string name, LinkLimits limits, std::unique_ptr<StreamFilter> filter);
  ~FramedLink() override;

  // Reads from now on. `established`, where given, is called once when the filter's handshake is done, before the first
  // message: it passes the link on, `handler` is forgotten, and the new owner calls start() again.
  void start(LinkHandler& handler, Task established = {});
  // For the second constructor, after start(). A host that is a name is looked up on `resolver`.
  void connect(std::vector<SocketAddress> addresses);
  void connect(Worker& resolver, std::string host, std::uint16_t port);
  void fail_later(std::string why);  // closed(why) in the next turn of the loop
  const Peer& peer() const;

  void send(std::string bytes) override;
  void close() override;
  std::size_t unsent() const override;
  void when_unsent_below(std::size_t bytes, Task then) override;
  void hold(bool held) override;

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

}  // namespace millrace
