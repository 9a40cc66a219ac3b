// src/base/patience_fixture.h - for tests: how long they wait for what must happen, stretched by MR_SLOW.
#pragma once

#include <poll.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/quantity.h"

namespace millrace {

// Far above what anything takes that a test waits for: only a hang reaches it. MR_SLOW=10 stretches it for a machine
// that is ten times slower, as every other limit of the tests.
inline Duration patience() {
  const char* slow = std::getenv("MR_SLOW");
  return seconds(static_cast<std::int64_t>(300 * std::clamp(slow ? std::atof(slow) : 1.0, 1.0, 1'000.0)));
}

inline int patience_ms() { return static_cast<int>(patience().value / 1'000); }

inline bool wait_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, patience_ms()) == 1;
}

// For what has no descriptor to wait for: looks again and again. False: it did not happen.
template <typename Condition>
bool wait_until(Condition holds) {
  for (int looks = 0; looks < patience_ms(); ++looks) {
    if (holds()) return true;
    poll(nullptr, 0, 1);
  }
  return holds();
}

}  // namespace millrace
