// src/step/x11/x11_forward.h - a display on this node for the tasks of one step: what programs say to it goes to srun,
// and to the X server there.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "task.pb.h"

namespace millrace {

// One entry of an Xauthority file, for every address of this display.
std::string xauthority_entry(std::uint32_t display, const std::string& cookie);

class X11Forward {
 public:
  X11Forward() = default;
  X11Forward(const X11Forward&) = delete;
  X11Forward& operator=(const X11Forward&) = delete;
  ~X11Forward();

  // Finds a display that is free on all of loopback. authority_entry() is what the file must hold that lets the user's
  // programs, and nobody else's, use it.
  Result<void> open(std::uint32_t screen);
  std::string authority_entry() const { return xauthority_entry(number_, cookie_); }
  bool is_open() const { return !listeners_.empty(); }
  const std::string& display() const { return display_; }  // DISPLAY
  wire::X11Piece greeting() const;

  void add_polls(std::vector<pollfd>& polls, bool may_read) const;
  // False: not one of ours. Pieces for srun are added to `out`.
  bool handle(const pollfd& ready, std::vector<wire::X11Piece>& out);
  void take(const wire::X11Piece& piece);
  void close();

 private:
  struct Connection {
    int fd = -1;
    std::string unsent;
    bool ended = false;  // srun's side is: closed when all is written
  };
  void accept_all(int listener);
  void flush(Connection& connection);

  std::vector<int> listeners_;  // 127.0.0.1 and, where there is one, ::1
  std::uint32_t number_ = 0;
  std::string display_, cookie_;
  std::map<std::uint32_t, Connection> connections_;
  std::uint32_t next_ = 1;
};

}  // namespace millrace
