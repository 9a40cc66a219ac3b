// src/platform/completion_file.h - lines about jobs that ended, added to a file by a thread of their own
// (JobCompType=jobcomp/filetxt).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/worker.h"

namespace millrace {

// The file is opened for each batch, so that it may be moved away at any time. What cannot be written is kept and tried
// again; where that becomes too much, the oldest are given up, which is said. A line whose job and end are at the end
// of the file already is not written again: a controller that starts tells of all ended jobs it knows.
class CompletionFile final {
 public:
  static constexpr std::size_t waiting_max = 64u << 20;  // bytes
  static constexpr std::int64_t retry_seconds = 10;

  CompletionFile(Loop& loop, std::function<void(const std::string&)> say);
  void write(const std::string& path, std::string lines);

 private:
  void flush();

  Loop& loop_;
  std::function<void(const std::string&)> say_;
  std::string path_;
  std::deque<std::string> waiting_;  // on the loop
  std::size_t waiting_bytes_ = 0;
  bool writing_ = false, complained_ = false;
  ThreadWorker worker_;  // last: its thread ends first
};

// What tells the end of each of these jobs from any other.
std::set<std::string> completion_marks(std::string_view lines);
// The lines about ends that are not known, each once, and their marks.
struct FreshCompletions {
  std::string lines;
  std::vector<std::string> marks;
};
FreshCompletions fresh_completions(std::string_view lines, const std::set<std::string>& known);

// Adds the lines that the file does not have among its last ones; `known` is what is known of those, and is read from
// the file where it is null.
Result<void> append_completions(const std::string& path, const std::string& lines,
                                std::unique_ptr<std::set<std::string>>& known);

}  // namespace millrace
