// src/cli/options/arguments.h - takes a command line apart as getopt_long does, and in its words when it cannot.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

enum class ArgKind : std::uint8_t { none, required, optional };  // optional ones must be glued: -I60, --immediate=60

struct OptionShape {
  std::string_view name;  // without the dashes
  char letter;            // '\0': none
  ArgKind arg;
};

struct GivenOption {
  std::size_t shape;  // index into the shapes
  bool has_value;
  std::string_view value;
};

struct Arguments {
  std::vector<GivenOption> options;  // in the order given
  std::vector<std::string_view> operands;
};

enum class Operands : std::uint8_t {
  end_options,  // the first operand and all after it belong to the program to run
  mixed,        // options may follow operands
};

// An error's story is getopt's line without the command's name: "unrecognized option '--x'".
Result<Arguments> parse_arguments(std::span<const OptionShape> shapes, std::span<const std::string_view> words,
                                  Operands operands);

}  // namespace millrace
