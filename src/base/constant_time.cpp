// src/base/constant_time.cpp - see constant_time.h.
#include "base/constant_time.h"

namespace millrace {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned difference = 0;  // volatile: no compiler may end the loop early
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

}  // namespace millrace
