// src/store/crc32c.h - the checksum of records and snapshots: CRC-32C, by the processor where it can.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// Continues from `crc` (0 at the start): crc32c(b, crc32c(a)) is that of a followed by b.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);  // the same, on every machine

}  // namespace millrace
