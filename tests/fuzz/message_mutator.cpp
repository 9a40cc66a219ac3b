// tests/fuzz/message_mutator.cpp - changes a protobuf message by its wire format alone, so that it stays one.
#include <algorithm>
#include <optional>

#include "base/prng.h"
#include "target.h"

namespace millrace::fuzz {
namespace {

struct Field {
  std::uint64_t tag = 0;    // number and wire type
  std::uint64_t value = 0;  // of a varint or a fixed one
  std::string bytes;        // of wire type 2
  std::uint64_t type() const { return tag & 7; }
};

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t out = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(from[0]);
    from.remove_prefix(1);
    out |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return out;
  }
  return std::nullopt;
}

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

std::optional<std::vector<Field>> take_apart(std::string_view message) {
  std::vector<Field> out;
  while (!message.empty()) {
    Field field;
    const auto tag = take_varint(message);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 1u << 29) return std::nullopt;
    field.tag = *tag;
    if (field.type() == 0 || field.type() == 2) {
      const auto value = take_varint(message);
      if (!value || (field.type() == 2 && *value > message.size())) return std::nullopt;
      if (field.type() == 0) field.value = *value;
      if (field.type() == 2) field.bytes = message.substr(0, *value), message.remove_prefix(*value);
    } else if (field.type() == 1 || field.type() == 5) {
      const std::size_t size = field.type() == 1 ? 8 : 4;
      if (message.size() < size) return std::nullopt;
      for (std::size_t i = 0; i < size; ++i)
        field.value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(message[i])) << (8 * i);
      message.remove_prefix(size);
    } else if (field.type() > 5) {  // 3 and 4 are groups, which have no value of their own
      return std::nullopt;
    }
    out.push_back(std::move(field));
  }
  return out;
}

std::string put_together(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    put_varint(out, field.tag);
    if (field.type() == 0) put_varint(out, field.value);
    if (field.type() == 2) put_varint(out, field.bytes.size()), out += field.bytes;
    if (field.type() == 1 || field.type() == 5)
      for (int i = 0; i < (field.type() == 1 ? 8 : 4); ++i) out += static_cast<char>(field.value >> (8 * i));
  }
  return out;
}

constexpr std::uint64_t numbers[] = {0,          1,          2,         255,        65535,      65536,      INT32_MAX,
                                     UINT32_MAX, 4294967294, INT64_MAX, UINT64_MAX, 1ULL << 63, 1ULL << 32, 1000000};
constexpr std::string_view texts[] = {"",       "n[1-3]", "1-10:2%3", "afterok:1", "4294967295", "-1",
                                      "cpu=-1", "gpu:2",  "a&(b|c)",  "*",         "\xff\xfe",   "12_3+1"};

void mutate_text(std::string& text, Prng& random) {
  if (random.chance(1, 4) || text.empty()) {
    text = texts[random.below(std::size(texts))];
  } else if (random.chance(1, 3)) {
    const std::size_t at = random.below(text.size()), count = 1 + random.below(text.size() - at);
    text.insert(at, text.substr(at, count));
  } else if (random.chance(1, 2)) {
    text[random.below(text.size())] = static_cast<char>(random.next());
  } else {
    text.erase(random.below(text.size()), 1 + random.below(4));
  }
}

// Most messages have small numbers; what came later begins at 450.
std::uint64_t field_number(Prng& random) {
  return random.chance(2, 3) ? 1 + random.below(90) : 450 + random.below(700);
}

std::string mutate(std::string_view message, Prng& random, int depth);

void mutate_field(Field& field, Prng& random, int depth) {
  if (field.type() != 2) {
    field.value = random.chance(1, 2) ? numbers[random.below(std::size(numbers))] : random.next() >> random.below(64);
  } else if (depth < 6 && take_apart(field.bytes) && !field.bytes.empty() && random.chance(3, 4)) {
    field.bytes = mutate(field.bytes, random, depth + 1);
  } else {
    mutate_text(field.bytes, random);
  }
}

std::string mutate(std::string_view message, Prng& random, int depth) {
  auto fields = take_apart(message);
  if (!fields) return {};
  if (fields->empty()) fields->push_back({field_number(random) << 3, 1, {}});
  const std::size_t at = random.below(fields->size());
  switch (random.below(8)) {
    case 0: {
      Field again = (*fields)[at];
      fields->insert(fields->begin() + static_cast<std::ptrdiff_t>(at), std::move(again));
      break;
    }
    case 1:
      fields->erase(fields->begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 2:  // another field of the same type
      (*fields)[at].tag = ((*fields)[at].tag & 7) | field_number(random) << 3;
      break;
    case 3: {  // one more, of any kind
      Field fresh{field_number(random) << 3 | (random.chance(1, 2) ? 2u : 0u), 1, {}};
      mutate_field(fresh, random, depth);
      fields->push_back(std::move(fresh));
      break;
    }
    default:
      mutate_field((*fields)[at], random, depth);
  }
  return put_together(*fields);
}

}  // namespace

static std::uint64_t largest(std::string_view message, int depth) {
  const auto fields = take_apart(message);
  std::uint64_t out = 0;
  if (fields)
    for (const Field& field : *fields)
      out = std::max({out, field.value, depth < 8 && field.type() == 2 ? largest(field.bytes, depth + 1) : 0});
  return out;
}

std::uint64_t largest_number(std::string_view message) { return largest(message, 0); }

std::string mutate_message(std::string_view message, std::uint64_t seed) {
  Prng random(seed);
  std::string out = mutate(message, random, 0);
  for (std::uint64_t more = random.below(4); more > 0 && !out.empty(); --more) out = mutate(out, random, 0);
  return out;
}

}  // namespace millrace::fuzz
