// tests/fuzz/fuzz_x11.cpp - the first bytes of a program that opens a window, and what xauth lists.
#include "cli/x11_relay.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(x11) {
  fuzz::use(cookie_of_listing(input));
  fuzz::Pieces pieces(input);
  X11Greeting greeting;
  const std::size_t step = 1 + pieces.byte();
  for (std::string_view rest = pieces.rest(); !rest.empty(); rest.remove_prefix(std::min(step, rest.size())))
    if (greeting.take(rest.substr(0, step), "0123456789abcdef", "fedcba9876543210") != X11Greeting::Verdict::wants_more)
      break;
  fuzz::use(greeting.bytes());
}
