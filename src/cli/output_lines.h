// src/cli/output_lines.h - what tasks write, as lines of srun's own streams, and how their ends are told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

struct StreamOptions {
  bool label = false;
  bool unbuffered = false;
  int output_fd = 1;
  int error_fd = 2;
  std::optional<std::uint32_t> only_output_of;                    // -o with a task's number
  std::optional<std::uint32_t> only_error_of{}, only_input_to{};  // sattach's filters
};

struct TaskEnd {
  std::uint32_t task = 0;
  std::string node;
  std::uint32_t exit_code = 0, exit_signal = 0;
  bool core_dumped = false;
  bool out_of_memory = false;
};

// Puts bytes of many tasks on two descriptors, line by line, so that lines of different tasks do not mix.
class OutputLines {
 public:
  explicit OutputLines(StreamOptions options) : options_(options) {}
  void set_task_count(std::uint32_t tasks) { tasks_ = tasks; }
  void set_descriptors(int output, int error) { options_.output_fd = output, options_.error_fd = error; }
  void take(std::uint32_t task, bool is_error, std::string_view data);
  void flush(std::uint32_t task);                            // what has no newline at the end of a task
  int take_problem() { return std::exchange(problem_, 0); }  // errno, once: what came since is lost

 private:
  void put(std::uint32_t task, bool is_error, std::string_view whole_lines);
  void write_out(int fd, std::string_view text);
  StreamOptions options_;
  std::uint32_t tasks_ = 1;
  int problem_ = 0;
  bool problem_known_ = false;
  std::map<std::pair<std::uint32_t, bool>, std::string> partial_;
};

// "srun: error: c[1-2]: tasks 0-3: Exited with exit code 2", one line per kind of end, zero exits left out.
std::vector<std::string> end_lines(const std::vector<TaskEnd>& ends);

}  // namespace millrace
