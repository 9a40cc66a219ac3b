// src/base/assert.h - crash on bugs, in every build; never for input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace millrace {

// Hears of a failed assertion first, in this thread, and may throw: for whoever can do without what was begun, and for
// nobody else (wire/replay).
inline thread_local void (*on_failed_assertion)(const char* what) = nullptr;

[[noreturn]] inline void assertion_failed(const char* what, std::source_location at = std::source_location::current()) {
  if (on_failed_assertion != nullptr) on_failed_assertion(what);
  std::fprintf(stderr, "bug: %s at %s:%u\n", what, at.file_name(), static_cast<unsigned>(at.line()));
  std::abort();
}

}  // namespace millrace

#define MR_ASSERT(condition) ((condition) ? void() : ::millrace::assertion_failed(#condition))
