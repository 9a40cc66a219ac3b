// src/step/attempt/running_task.h - a task of an attempt on this node, from its start to the end of its epilogs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "agent.pb.h"

namespace millrace {

struct RunningTask {
  std::uint32_t rank = 0;
  pid_t pid = -1;
  int report = -1;
  std::optional<int> wait_status;  // once its epilogs are done, too
  std::uint32_t local_rank = 0;
  std::optional<int> program_status;
  std::size_t epilogs_begun = 0;
  std::int64_t epilog_until_us = 0;  // 0: none runs
  wire::TaskSample sample{};         // the most that was seen, and once ended all that was used
};

}  // namespace millrace
