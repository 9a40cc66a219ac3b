// tests/fuzz/target.h - what a fuzz target is: a name and a function that takes any bytes and must come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::fuzz {

// A target crashes, asserts, hangs or eats memory: that is a finding. What it returns nobody looks at.
using Run = void (*)(std::string_view input);

struct Target {
  std::string_view name;
  Run run;
  bool binary;  // messages of protobuf: mutated field by field besides byte by byte
};

// Inputs that cannot be kept as text: made from golden logs, or by hand as messages.
struct Seeds {
  std::string_view name;  // of the target
  std::vector<std::string> (*make)();
};

std::vector<Target>& targets();  // all that are linked in
std::vector<Seeds>& seed_makers();
std::vector<std::string> made_seeds(std::string_view name);
const Target* chosen(const char* name);  // null: there is none; the names are printed

// Keeps a result from being thrown away before it was made.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r,m"(&value) : "memory");
}

// A law that must hold for every input, such as "what is written is read back".
void must(bool holds, const char* law);

// The message without its schema: fields are changed, repeated, dropped and swapped by their wire types, lengths fit
// again afterwards. Empty: it is no message.
std::string mutate_message(std::string_view message, std::uint64_t seed);

// The largest number in the message and in what seems to be a message in it. Below zero is large, as it is written.
std::uint64_t largest_number(std::string_view message);

// Pieces of the input, for targets that need several texts.
class Pieces {
 public:
  explicit Pieces(std::string_view input) : rest_(input) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte();
  std::string_view until(char end);  // and drops the end itself
  std::string_view sized();          // two bytes of length, then so many
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace millrace::fuzz

// FUZZ_TEXT(hostlist) { ... input ... }
#define FUZZ_TARGET_(id, is_binary)                                     \
  static void fuzz_##id(std::string_view input);                        \
  namespace {                                                           \
  const bool registered_##id = [] {                                     \
    ::millrace::fuzz::targets().push_back({#id, fuzz_##id, is_binary}); \
    return true;                                                        \
  }();                                                                  \
  }                                                                     \
  static void fuzz_##id(std::string_view input)
#define FUZZ_SEEDS(id)                                               \
  static std::vector<std::string> seeds_of_##id();                   \
  namespace {                                                        \
  const bool seeded_##id = [] {                                      \
    ::millrace::fuzz::seed_makers().push_back({#id, seeds_of_##id}); \
    return true;                                                     \
  }();                                                               \
  }                                                                  \
  static std::vector<std::string> seeds_of_##id()
#define FUZZ_TEXT(id) FUZZ_TARGET_(id, false)
#define FUZZ_BINARY(id) FUZZ_TARGET_(id, true)
