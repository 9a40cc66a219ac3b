// src/agent/marker_search.h - looks for MILLRACE_ATTEMPT in the environments of processes, whose owners decide how long
// those are and what is in them: no process, user or number of users makes one sweep take long.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "wire/limits.h"

namespace millrace {

// Of an open file of /proc, from where it stands: until `enough` says so of what was read so far, and never more than
// `max` bytes.
std::string read_at_most(
    int fd, std::size_t max,
    const std::function<bool(std::string_view)>& enough = [](std::string_view) { return false; });

// One sweep over processes. What is beyond a bound is not looked at, as if the variable were not set: a job can clean
// its environment in any case, and only its cgroup, where there are cgroups, holds such a process.
class MarkerSearch {
 public:
  // execve() takes no more of arguments and variables together, so an honest process has its variable within this,
  // wherever its shell put it. A process may claim (PR_SET_MM) that its environment is all of its gigabytes.
  static constexpr std::size_t bytes_of_process_max = launch_text_max;
  // Of each user, so that nobody hides the processes of others; and of all, for one may have many subordinate numbers.
  // Who is found is killed, and then there is another sweep: it has these bytes for the others.
  static constexpr std::size_t bytes_of_user_max = 64u << 20, bytes_of_all_max = 256u << 20;
  // Of each process when nothing is left for its user: most environments are no longer.
  static constexpr std::size_t bytes_at_least = 16u << 10;
  // Of variables of this name in one process: each may cost its judge a look at the disk.
  static constexpr int variables_max = 8;

  // Whether one of the attempts that the environment names is the right one. `environ` is an open file.
  bool names_one(int environ, uid_t owner, const std::function<bool(std::string_view folder)>& is_right);
  std::size_t cut_short() const { return cut_short_; }  // processes that had more to read

 private:
  std::map<uid_t, std::size_t> read_of_;
  std::size_t read_of_all_ = 0;
  std::size_t cut_short_ = 0;
};

}  // namespace millrace
