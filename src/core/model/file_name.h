// src/core/model/file_name.h - the names of a job's output files: Slurm's % patterns, and which file stdout and stderr
// go to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// What the letters of a pattern stand for.
struct NameFacts {
  std::uint32_t job_id = 0;
  std::uint32_t array_job_id = 0;  // 0: no array
  std::optional<std::uint32_t> array_task;
  bool batch = true;
  std::uint32_t step = 0;  // where it is not the script
  std::string node_name;
  std::uint32_t node_position = 0;
  std::uint32_t restarts = 0;
  std::uint32_t rank = 0;
  std::string user_name;
  std::string job_name;
};

// A backslash anywhere switches all substitution off (and is itself dropped); an unknown letter stays as it is.
std::string expand_pattern(std::string_view pattern, const NameFacts& facts);
// Whether each node or task gets a file of its own, so that it must be opened on the node (%N %n %t).
bool is_per_node(std::string_view pattern);
std::string_view default_output_pattern(const NameFacts& facts);
// Relative names lie under the job's working directory.
std::string under_directory(std::string_view name, std::string_view directory);

}  // namespace millrace
