// src/cli/output_lines.cpp - see output_lines.h.
#include "cli/output_lines.h"

#include <string.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "cli/console.h"

namespace millrace {
namespace {

constexpr std::size_t partial_max = 64u << 10;  // a line longer than this is passed on in pieces

std::size_t digits(std::uint32_t number) { return std::to_string(number).size(); }

}  // namespace

// A full disk does not stop the tasks: they may have better places to write to. Nobody reading (srun | head) is no
// trouble at all.
void OutputLines::write_out(int fd, std::string_view text) {
  if (write_all(fd, text) || errno == EPIPE || problem_known_) return;
  problem_ = errno;
  problem_known_ = true;
}

void OutputLines::put(std::uint32_t task, bool is_error, std::string_view text) {
  const int fd = is_error ? options_.error_fd : options_.output_fd;
  if (!options_.label) {
    write_out(fd, text);
    return;
  }
  char label[32];
  const int width = static_cast<int>(digits(tasks_ == 0 ? 0 : tasks_ - 1));
  std::snprintf(label, sizeof label, "%0*u: ", width, task);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    out += label;
    out += line;
    text.remove_prefix(line.size());
  }
  if (!out.empty() && out.back() != '\n') out += '\n';
  write_out(fd, out);
}

void OutputLines::take(std::uint32_t task, bool is_error, std::string_view data) {
  const auto& only = is_error ? options_.only_error_of : options_.only_output_of;
  if (only && *only != task) return;
  // One task's lines cannot mix with another's: pass them on as they come.
  if (options_.unbuffered || (tasks_ == 1 && !options_.label)) return put(task, is_error, data);
  std::string& rest = partial_[{task, is_error}];
  rest += data;
  std::size_t whole = rest.rfind('\n') + 1;  // 0 when there is none
  if (whole == 0 && rest.size() >= partial_max) whole = rest.size();
  if (whole == 0) return;
  put(task, is_error, std::string_view{rest}.substr(0, whole));
  rest.erase(0, whole);
}

void OutputLines::flush(std::uint32_t task) {
  for (const bool is_error : {false, true}) {
    const auto it = partial_.find({task, is_error});
    if (it == partial_.end()) continue;
    if (!it->second.empty()) put(task, is_error, it->second);
    partial_.erase(it);
  }
}

std::vector<std::string> end_lines(const std::vector<TaskEnd>& ends) {
  struct Kind {
    std::uint32_t code, signal;
    bool core, out_of_memory;
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, std::pair<std::vector<std::string>, IndexSet>> kinds;
  for (const TaskEnd& end : ends) {
    if (end.exit_code == 0 && end.exit_signal == 0) continue;
    auto& [nodes, tasks] = kinds[{end.exit_code, end.exit_signal, end.core_dumped, end.out_of_memory}];
    if (std::ranges::find(nodes, end.node) == nodes.end()) nodes.push_back(end.node);
    tasks.insert(end.task);
  }
  std::vector<std::string> out;
  for (const auto& [kind, group] : kinds) {
    const auto& [nodes, tasks] = group;
    std::string line =
        compress_hostlist_sorted(nodes) + (tasks.size() == 1 ? ": task " : ": tasks ") + format_index_set(tasks) + ": ";
    if (kind.out_of_memory) {
      line += "Out Of Memory";
    } else if (kind.signal != 0) {
      const char* words = sigdescr_np(static_cast<int>(kind.signal));
      line += words != nullptr ? words : "Unknown signal " + std::to_string(kind.signal);
      if (kind.core) line += " (core dumped)";
    } else {
      line += "Exited with exit code " + std::to_string(kind.code);
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace millrace
