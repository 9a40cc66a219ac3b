// tests/fuzz/fuzz_frame.cpp - messages on a stream, cut into pieces of any size.
#include "target.h"
#include "wire/frame.h"

using namespace millrace;

FUZZ_TEXT(frame) {
  fuzz::Pieces pieces(input);
  const std::size_t step = 1 + pieces.byte();
  const std::string_view all = pieces.rest();
  FrameReader reader(request_size_max);
  for (std::string_view rest = all; !rest.empty(); rest.remove_prefix(std::min(step, rest.size()))) {
    reader.feed(rest.substr(0, step));
    for (;;) {
      const auto message = reader.next();
      if (!message) return;
      if (!*message) break;
      fuzz::use(**message);
    }
  }
  FrameReader own(request_size_max);
  own.feed(frame(all));
  const auto back = own.next();
  fuzz::must(back && *back && **back == all, "what was framed is read back");
}
