// src/wire/token_test.cpp - tokens are what anybody else's JWT library makes of the same claims.
#include "wire/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

namespace millrace {
namespace {

TEST(Token, Is_a_JWT_signed_with_HS256) {
  // By Python: hmac.new(key, text, sha256), base64.urlsafe_b64encode.
  EXPECT_EQ(make_token("0123456789abcdef", "alice", 1000, 2800),
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjI4MDAsImlhdCI6MTAwMCwic3VuIjoiYWxpY2UifQ.0kSifz_"
            "UJZWPYcdrVubwowWnh6cS7OkR5ATm-zbmlME");
}

TEST(Token, A_key_that_everybody_can_read_or_that_is_short_is_refused) {
  const std::string path = testing::TempDir() + "token-key";
  std::ofstream{path} << "short";
  chmod(path.c_str(), 0600);
  EXPECT_EQ(read_token_key(path).error().code, Errc::invalid);
  std::ofstream{path} << "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(*read_token_key(path), "0123456789abcdef0123456789abcdef");
  chmod(path.c_str(), 0644);
  EXPECT_EQ(read_token_key(path).error().code, Errc::refused);
  EXPECT_EQ(read_token_key(path + ".none").error().code, Errc::io);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace millrace
