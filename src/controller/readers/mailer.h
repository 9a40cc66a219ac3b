// src/controller/readers/mailer.h - sends mail by the site's program: a few at a time, so many waiting, each for so
// long. Nothing waits for it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "ports/programs.h"

namespace millrace {

struct OutgoingMail {
  std::string program, recipient, subject;
  std::vector<std::string> environment;
};

class Mailer final {
 public:
  static constexpr std::size_t waiting_max = 1000, at_a_time = 4;
  static constexpr std::int64_t limit_seconds = 60;

  Mailer(Programs* programs, std::function<void(const std::string&)> say) : programs_(programs), say_(std::move(say)) {}
  void send(OutgoingMail mail);

 private:
  void run_next();

  Programs* programs_;  // null: nothing can be run
  std::function<void(const std::string&)> say_;
  std::deque<OutgoingMail> waiting_;
  std::size_t running_ = 0;
  std::uint64_t dropped_ = 0, failed_ = 0;
};

}  // namespace millrace
