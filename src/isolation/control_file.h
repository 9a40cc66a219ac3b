// src/isolation/control_file.h - the small text files by which the kernel is told and asked (cgroupfs, /proc, /sys).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

std::string read_control(const std::string& path);  // empty when it cannot be read
bool has_control(const std::string& path);
// One write, as the kernel wants it; never makes the file.
Result<void> write_control(const std::string& path, std::string_view text);
// The number after a word at the beginning of a line: "oom_kill 3".
std::optional<std::uint64_t> control_number(std::string_view text, std::string_view word);

}  // namespace millrace
