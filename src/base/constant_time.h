// src/base/constant_time.h - comparing secrets without telling by the time it takes how much of a guess was right.
#pragma once

#include <string_view>

namespace millrace {

bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace millrace
