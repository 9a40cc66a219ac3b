// src/base/assert.h - crash on bugs, in every build; never for input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace millrace {

[[noreturn]] inline void assertion_failed(const char* what, std::source_location at = std::source_location::current()) {
  std::fprintf(stderr, "bug: %s at %s:%u\n", what, at.file_name(), static_cast<unsigned>(at.line()));
  std::abort();
}

}  // namespace millrace

#define MR_ASSERT(condition) ((condition) ? void() : ::millrace::assertion_failed(#condition))
