// src/ports/programs.h - programs of the site: started beside the loop, never waited for on it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace millrace {

// Somebody else than the daemon, which is root then.
struct RunAs {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups{};
};

struct ProgramRun {
  std::string program;                   // its path
  std::vector<std::string> arguments{};  // after its name
  std::vector<std::string> environment;  // all of it; nothing is inherited
  Duration limit{};                      // killed after this, and all it started; 0: never
  std::optional<RunAs> as{};
  std::string file_variable{},
      file_text{};  // where not empty: a variable that names a file with this text, for as long as it runs
};

struct ProgramEnd {
  int exit_code = 0, signal = 0;
  bool timed_out = false;
  std::string words{};  // the end of what it printed, or why it could not be started

  bool went_well() const { return exit_code == 0 && signal == 0 && !timed_out; }
};
constexpr int could_not_start = 127;  // exit code of what is not there, as a shell has it

// "/etc/x exited with 3: no disk"
inline std::string describe(const std::string& program, const ProgramEnd& end) {
  const std::string how = end.timed_out     ? " took too long and was killed"
                          : end.signal != 0 ? " was killed by signal " + std::to_string(end.signal)
                                            : " exited with " + std::to_string(end.exit_code);
  return program + how + (end.words.empty() ? "" : ": " + end.words);
}

class Programs {
 public:
  using Id = std::uint64_t;  // 0 is never given out
  virtual ~Programs() = default;
  // The files a pattern stands for, in the order of their names; what has no wildcard stands for itself.
  virtual std::vector<std::string> find(const std::string& pattern) = 0;
  // `ended` is called on the loop, after run() has returned.
  virtual Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) = 0;
  // With everything it started; `ended` is not called any more.
  virtual void kill(Id program) = 0;
};

}  // namespace millrace
