// src/core/model/mpi_type.h - the words of --mpi and MpiDefault: how the tasks of a parallel program find each other.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// "pmi2", "pmix" (also for pmix_v4 and the like: the library on the node decides what it speaks), or empty for none.
Result<std::string> parse_mpi_type(std::string_view text);

}  // namespace millrace
