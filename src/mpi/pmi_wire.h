// src/mpi/pmi_wire.h - the words of PMI-1 and PMI-2: commands as keys and values, in each version's writing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

struct PmiCommand {
  std::string name;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string_view get(std::string_view key) const;  // empty when missing
};

// PMI-1: "cmd=put kvsname=a key=b value=c", without its newline. A value of `put` may have spaces.
PmiCommand parse_pmi1(std::string_view line);
// PMI-2: "cmd=kvs-put;key=b;value=c;", without the length before it. Two semicolons are one of the value.
PmiCommand parse_pmi2(std::string_view text);
std::string format_pmi1(const PmiCommand& command);
std::string format_pmi2(const PmiCommand& command);

// Cuts commands out of what a task sends. It begins in lines; after PMI-2 was agreed upon, each command has six digits
// before it.
class PmiReader {
 public:
  void feed(std::string_view bytes);
  std::optional<PmiCommand> next();
  void speak_pmi2() { pmi2_ = true; }
  void speak_lines() { pmi2_ = false; }
  bool is_pmi2() const { return pmi2_; }
  bool is_broken() const { return broken_; }

 private:
  std::optional<std::string_view> cut(std::optional<std::size_t> length);
  std::string buffer_;
  std::size_t at_ = 0;  // of buffer_: what was cut out before
  bool pmi2_ = false;
  bool broken_ = false;
};

}  // namespace millrace
