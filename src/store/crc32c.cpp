// src/store/crc32c.cpp - see crc32c.h.
#include "store/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace millrace {

namespace {

static_assert(std::endian::native == std::endian::little,
              "records are little endian and written as they lie in memory");

constexpr std::uint32_t polynomial = 0x82f63b78;  // Castagnoli, reflected

// tables[k][b]: the effect of byte b followed by k zero bytes, so that eight bytes are folded at once.
constexpr auto tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> made{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    made[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = made[k - 1][byte];
      made[k][byte] = before >> 8 ^ made[0][before & 0xff];
    }
  return made;
}();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_processor(std::string_view bytes, std::uint32_t crc) {
  std::uint64_t state = ~crc;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state = __builtin_ia32_crc32di(state, word);
    bytes.remove_prefix(8);
  }
  auto last = static_cast<std::uint32_t>(state);
  for (const char byte : bytes) last = __builtin_ia32_crc32qi(last, static_cast<unsigned char>(byte));
  return ~last;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][word >> (8 * k) & 0xff];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) crc = crc >> 8 ^ tables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  static const bool by_processor = __builtin_cpu_supports("sse4.2");
  if (by_processor) return crc32c_by_processor(bytes, crc);
#endif
  return crc32c_by_table(bytes, crc);
}

}  // namespace millrace
