// src/apps/local_shape.h - how large a cluster of `millrace up` is, in words of its slurm.conf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// What was asked for on the command line; what is not set does not matter.
struct LocalShape {
  std::optional<std::uint32_t> nodes, cpus, memory_mib;
};

constexpr std::string_view shape_words = "# Written by `millrace up`; shape:";  // the file begins with them
// The shape an earlier `up` wrote into the file; nothing: not written by us.
std::optional<LocalShape> shape_of(const std::string& conf_text);
// A sentence when what is asked for differs from what is there.
std::optional<std::string> difference(const LocalShape& asked, const LocalShape& there);
std::string words_of(const LocalShape& shape);

}  // namespace millrace
