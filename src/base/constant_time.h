// src/base/constant_time.h - compares secrets without telling by its time how much of them is right.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

inline bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned difference = 0;  // volatile: the compiler must not stop at the first difference
  for (std::size_t i = 0; i < a.size(); ++i)
    difference =
        difference | static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

}  // namespace millrace
