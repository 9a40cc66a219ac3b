// src/agent/marker_search.cpp - see marker_search.h.
#include "agent/marker_search.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace millrace {

std::string read_at_most(int fd, std::size_t max, const std::function<bool(std::string_view)>& enough) {
  std::string text;
  char chunk[16u << 10];
  while (text.size() < max) {
    const ssize_t count = read(fd, chunk, std::min(sizeof chunk, max - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(chunk, static_cast<std::size_t>(count));
    if (enough(text)) break;
  }
  return text;
}

bool MarkerSearch::names_one(int environ, uid_t owner, const std::function<bool(std::string_view folder)>& is_right) {
  constexpr std::string_view name = "MILLRACE_ATTEMPT=";
  std::size_t& read_of_user = read_of_[owner];
  const std::size_t left = std::min(bytes_of_user_max - std::min(bytes_of_user_max, read_of_user),
                                    bytes_of_all_max - std::min(bytes_of_all_max, read_of_all_));
  const std::size_t max = std::clamp(left, bytes_at_least, bytes_of_process_max);
  bool found = false;
  int variables = 0;
  std::size_t entry = 0, searched = 0;  // each byte is looked at once, however long a variable is
  const auto judge = [&](std::string_view variable) {
    if (variable.starts_with(name) && variables < variables_max && ++variables > 0)
      found = is_right(variable.substr(name.size()));
  };
  const std::string text = read_at_most(environ, max, [&](std::string_view so_far) {
    for (std::size_t end; !found && (end = so_far.find('\0', searched)) != std::string_view::npos;) {
      judge(so_far.substr(entry, end - entry));
      entry = searched = end + 1;
    }
    searched = std::max(searched, so_far.size());
    return found || variables == variables_max;
  });
  const bool stopped = found || variables == variables_max;
  if (!stopped && text.size() < max) judge(std::string_view{text}.substr(entry));  // the last one need not end
  if (!stopped && text.size() == max) {
    char more = 0;
    if (read(environ, &more, 1) == 1) ++cut_short_;
  }
  read_of_user += text.size();
  read_of_all_ += text.size();
  return found;
}

}  // namespace millrace
