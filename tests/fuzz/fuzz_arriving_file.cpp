// tests/fuzz/fuzz_arriving_file.cpp - sbcast's file as it arrives on a node, packed and not; also bytes that unpack to
// far more than they are.
#include <zlib.h>

#include "step/launch/arriving_file.h"
#include "target.h"

using namespace millrace;

namespace {

std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 9);
  out.resize(size);
  return out;
}

struct Arrived {
  bool whole = false;
  std::string bytes;
};

// In pieces of this size.
Arrived arrive(const wire::ReceivedFile& file, std::string_view bytes, std::size_t step) {
  Arrived out;
  ArrivingFile arriving(file, [&](std::string_view part) -> Result<void> {
    out.bytes += part;
    return {};
  });
  for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(std::min(step, rest.size()))) {
    const auto more = arriving.take(rest.substr(0, step));
    if (!more) return out;
    if (!*more) break;
  }
  out.whole = arriving.end().has_value();
  return out;
}

}  // namespace

// Size of the pieces, size of the file in three bytes, what arrives.
FUZZ_SEEDS(arriving_file) {
  const std::string zeros(1u << 22, '\0'), text = "#!/bin/sh\nexec true\n";
  return {std::string("\x10\x14\0\0", 4) + packed(text), std::string("\xff\xff\xff\x3f", 4) + packed(zeros),
          std::string("\x01\x14\0\0", 4) + text};
}

FUZZ_TEXT(arriving_file) {
  fuzz::Pieces pieces(input);
  const std::size_t step = 1 + pieces.byte();
  wire::ReceivedFile file;
  std::uint64_t size = 0;
  for (const int shift : {0, 8, 16}) size |= std::uint64_t{pieces.byte()} << shift;
  file.set_size(size);
  const std::string_view bytes = pieces.rest();
  const Arrived plain = arrive(file, bytes, step);
  fuzz::must(plain.bytes.size() <= size, "no more is written than was announced");
  fuzz::must(plain.whole == (bytes.size() == size), "a file is whole when all of it has come");
  file.set_packed(true);
  const Arrived unpacked = arrive(file, bytes, step);
  fuzz::must(unpacked.bytes.size() <= size, "no more is unpacked than was announced");
  fuzz::must(!unpacked.whole || unpacked.bytes.size() == size, "a file that is whole has its size");
  file.set_size(bytes.size());
  const Arrived back = arrive(file, packed(std::string{bytes}), step);
  fuzz::must(back.whole && back.bytes == bytes, "what was packed is unpacked");
}
