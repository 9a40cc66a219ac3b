// src/cli/options/job_environment.h - the environment a job takes along, as --export says.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// NAME=value, each ended by NUL. `environment` is a null-terminated list like environ; `extra` are set in any case.
std::string pack_environment(const char* const* environment, std::string_view export_list);
// Sets or replaces one variable of a packed environment.
void set_variable(std::string& packed, std::string_view name, std::string_view value);

}  // namespace millrace
