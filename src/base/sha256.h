// src/base/sha256.h - SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) for programs that must not load OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

constexpr std::size_t sha256_size = 32;

// Meant for a few hundred bytes at a time, such as proofs; the log's payloads use the faster one of wire/credential.
class Sha256 {
 public:
  void add(std::string_view bytes);
  std::string finish();  // 32 bytes; once

 private:
  static constexpr std::size_t block_size = 64;
  void take_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, block_size> block_{};
  std::uint64_t size_ = 0;  // of everything added
};

std::string sha256_of(std::string_view bytes);
std::string hmac_sha256_of(std::string_view key, std::string_view text);

}  // namespace millrace
