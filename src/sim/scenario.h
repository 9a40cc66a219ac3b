// src/sim/scenario.h - runs a scenario file: a small cluster, a few jobs, and what must start when and where.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

// Empty when every expectation holds; otherwise one line for each that does not. An error: the file itself is wrong.
// The language is described in tests/scenarios/README.md.
Result<std::vector<std::string>> run_scenario(std::string_view text);

}  // namespace millrace
