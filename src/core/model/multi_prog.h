// src/core/model/multi_prog.h - the file of srun --multi-prog: which tasks run which program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index_set.h"
#include "base/result.h"

namespace millrace {

// "0-1 a %t" and "* b": lines of task numbers and a command. # begins a comment, \ at the end goes on in the next line,
// quotes and \ keep blanks together. %t is the task's number, %o its place among those of its line. The first line that
// names a task is its own.
class MultiProg {
 public:
  static Result<MultiProg> parse(std::string_view text);
  Result<std::vector<std::string>> command_of(std::uint32_t task) const;
  // Whether each of so many tasks has a program.
  Result<void> check(std::uint32_t tasks) const;

 private:
  struct Line {
    bool everybody = false;
    IndexSet tasks;
    std::vector<std::string> words;
  };
  const Line* line_of(std::uint32_t task) const;
  std::vector<Line> lines_;
};

}  // namespace millrace
