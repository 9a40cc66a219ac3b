// src/wire/token.h - tokens that prove a user to the HTTP interface: JWT, signed with HS256, as Slurm makes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// Times in seconds since 1970.
std::string make_token(std::string_view key, std::string_view user, std::int64_t issued, std::int64_t expires);
// The bytes of the file. Refused when others may read it, or when it is too short to sign anything by.
Result<std::string> read_token_key(const std::string& path);

}  // namespace millrace
