// src/cli/sacct_completion.h - sacct -c: the records of a file of completed jobs (JobCompType=jobcomp/filetxt).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "client.pb.h"

namespace millrace {

// Every line that is a record; others are passed over, and counted in `odd`.
wire::Jobs parse_completions(std::string_view text, std::uint64_t& odd);
Result<std::string> read_completion_file(const std::string& path);

}  // namespace millrace
