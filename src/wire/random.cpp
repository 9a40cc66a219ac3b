// src/wire/random.cpp - see random.h.
#include "wire/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/assert.h"

namespace millrace {

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t got = getrandom(out.data() + have, count - have, 0);
    if (got < 0 && errno == EINTR) continue;
    MR_ASSERT(got > 0);
    have += static_cast<std::size_t>(got);
  }
  return out;
}

}  // namespace millrace
