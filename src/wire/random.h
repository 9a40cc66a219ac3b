// src/wire/random.h - bytes nobody can guess, from the kernel; for keys, secrets and submission keys, never for
// decisions.
#pragma once

#include <cstddef>
#include <string>

namespace millrace {

std::string random_bytes(std::size_t count);

}  // namespace millrace
