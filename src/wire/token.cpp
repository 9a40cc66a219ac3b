// src/wire/token.cpp - see token.h.
#include "wire/token.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "wire/credential.h"

namespace millrace {
namespace {

constexpr std::size_t shortest_key = 16;

std::string base64url(std::string_view bytes) {
  constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i <= count; ++i) out += letters[group >> (18 - 6 * i) & 63];
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 32) out += c;
  }
  return out + '"';
}

}  // namespace

std::string make_token(std::string_view key, std::string_view user, std::int64_t issued, std::int64_t expires) {
  const std::string claims =
      "{\"exp\":" + std::to_string(expires) + ",\"iat\":" + std::to_string(issued) + ",\"sun\":" + quoted(user) + "}";
  const std::string text = base64url("{\"alg\":\"HS256\",\"typ\":\"JWT\"}") + '.' + base64url(claims);
  return text + '.' + base64url(hmac_sha256(key, text));
}

Result<std::string> read_token_key(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return fail(Errc::io, "jwt_key " + path + " cannot be read");
  if ((status.st_mode & 007) != 0)
    return fail(Errc::refused, "jwt_key " + path + " is open to everybody; mode 0600 would be right");
  std::ifstream file{path, std::ios::binary};
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file || bytes.str().size() < shortest_key)
    return fail(Errc::invalid, "jwt_key " + path + " has fewer than " + std::to_string(shortest_key) +
                                   " bytes; `openssl rand 32` would be right");
  return bytes.str();
}

}  // namespace millrace
