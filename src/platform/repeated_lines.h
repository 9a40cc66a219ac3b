// src/platform/repeated_lines.h - lines for the log that a peer can cause as often as it likes: the first is written,
// those that follow are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ports/loop.h"

namespace millrace {

// By kind: a line is said when none of its kind was said for a minute; what came meanwhile is one line at its end, with
// the last of them and how many there were. On the loop's thread.
class RepeatedLines final {
 public:
  // `kinds_max`: where peers choose the kinds, further ones are one kind.
  RepeatedLines(Loop& loop, std::function<void(const std::string&)> say, Duration quiet = seconds(60),
                std::size_t kinds_max = 64);
  ~RepeatedLines();
  void say(const std::string& kind, const std::string& line);
  void say_refused(std::string_view story);  // "address: why": of one kind are those with the same why

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

}  // namespace millrace
