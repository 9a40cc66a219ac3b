// src/ports/transport.h - messages to and from one peer, whatever carries them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ports/loop.h"

namespace millrace {

// Called on the owner's loop. After closed() nothing more comes. A handler may close or destroy its link from inside a
// call.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;
  virtual void message(std::string_view bytes) = 0;
  virtual void closed(std::string_view why) = 0;
};

// Messages may be lost when the link breaks, and a simulated one also doubles and reorders them: whoever uses a link
// numbers what matters. Destroying it closes it, without a call to closed().
class Link {
 public:
  virtual ~Link() = default;
  virtual void send(std::string bytes) = 0;
  virtual void close() = 0;                // closed() is not called for one's own close
  virtual std::size_t unsent() const = 0;  // bytes waiting for the peer, for limits on slow readers
  // Runs `then` once fewer than so many bytes wait, perhaps at once; never if the link ends before. One such wish at a
  // time: a second replaces the first.
  virtual void when_unsent_below(std::size_t, Task then) { then(); }
  // While it is held, no message comes: what the peer sends waits, at last with the peer, and no time runs out for it.
  virtual void hold(bool) {}
};

// Opens links to the controller; `handler` hears of success only through messages, of failure through closed().
class Dialer {
 public:
  virtual ~Dialer() = default;
  virtual std::unique_ptr<Link> dial(LinkHandler& handler) = 0;
};

}  // namespace millrace
