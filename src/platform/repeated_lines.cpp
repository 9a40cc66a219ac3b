// src/platform/repeated_lines.cpp - see repeated_lines.h.
#include "platform/repeated_lines.h"

#include <algorithm>
#include <utility>

namespace millrace {

struct RepeatedLines::Inner : std::enable_shared_from_this<Inner> {
  struct Kind {
    std::uint64_t unsaid = 0;
    std::string last;
  };
  Inner(Loop& l, std::function<void(const std::string&)> s, Duration q, std::size_t k)
      : loop(l), say(std::move(s)), quiet(q), kinds_max(k) {}

  void minute_over(const std::string& kind) {
    const auto it = kinds.find(kind);
    if (it == kinds.end()) return;
    if (it->second.unsaid == 0) {
      kinds.erase(it);
      return;
    }
    say(it->second.last +
        (it->second.unsaid > 1 ? " (and " + std::to_string(it->second.unsaid - 1) + " more like it)" : ""));
    it->second = {};
    wait(kind);
  }
  void wait(const std::string& kind) {
    loop.after(quiet, [weak = weak_from_this(), kind] {
      if (const auto self = weak.lock()) self->minute_over(kind);
    });
  }

  Loop& loop;
  std::function<void(const std::string&)> say;
  Duration quiet;
  std::size_t kinds_max;
  std::map<std::string, Kind> kinds;
};

RepeatedLines::RepeatedLines(Loop& loop, std::function<void(const std::string&)> say, Duration quiet,
                             std::size_t kinds_max)
    : inner_(std::make_shared<Inner>(loop, std::move(say), quiet, kinds_max)) {}
RepeatedLines::~RepeatedLines() = default;

void RepeatedLines::say(const std::string& kind, const std::string& line) {
  const bool counted = inner_->kinds.contains(kind) || inner_->kinds.size() < inner_->kinds_max;
  const auto [it, fresh] = inner_->kinds.try_emplace(counted ? kind : std::string{});
  if (fresh) {
    inner_->say(line);
    return inner_->wait(it->first);
  }
  ++it->second.unsaid;
  it->second.last = line;
}

void RepeatedLines::say_refused(std::string_view story) {
  say(std::string{story.substr(std::min(story.find(": "), story.size()))}, "refused: " + std::string{story});
}

}  // namespace millrace
