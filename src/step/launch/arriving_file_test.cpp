// src/step/launch/arriving_file_test.cpp - a file of sbcast is put down whole, and never larger than was announced.
#include "step/launch/arriving_file.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 9);
  out.resize(size);
  return out;
}

class Arriving : public testing::Test {
 protected:
  // What went wrong; empty: nothing.
  std::string arrive(std::uint64_t size, bool is_packed, std::string_view bytes) {
    wire::ReceivedFile file;
    file.set_size(size);
    file.set_packed(is_packed);
    ArrivingFile arriving(file, [this](std::string_view part) -> Result<void> {
      written_ += part;
      return {};
    });
    for (; !bytes.empty(); bytes.remove_prefix(1)) {
      const auto more = arriving.take(bytes.substr(0, 1));
      if (!more) return more.error().story;
      if (!*more) break;
    }
    const auto end = arriving.end();
    return end ? "" : end.error().story;
  }
  std::string written_;
};

TEST_F(Arriving, A_packed_file_is_unpacked) {
  EXPECT_EQ(arrive(6, true, packed("abcabc")), "");
  EXPECT_EQ(written_, "abcabc");
}

TEST_F(Arriving, What_unpacks_to_more_than_was_announced_is_refused_there) {
  EXPECT_EQ(arrive(1000, true, packed(std::string(1u << 22, 'x'))), "more than the 1000 bytes of the file arrived");
  EXPECT_LE(written_.size(), 1000u);
}

TEST_F(Arriving, So_is_a_plain_file_that_goes_on) {
  EXPECT_EQ(arrive(2, false, "abc"), "more than the 2 bytes of the file arrived");
  EXPECT_EQ(written_, "ab");
}

TEST_F(Arriving, A_file_that_ends_early_is_not_whole) {
  EXPECT_EQ(arrive(4, false, "abc"), "only 3 of 4 bytes arrived");
  EXPECT_EQ(arrive(4, true, "not packed"), "what arrives is not packed as it should be");
}

}  // namespace
}  // namespace millrace
