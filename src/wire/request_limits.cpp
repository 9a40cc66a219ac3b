// src/wire/request_limits.cpp - see request_limits.h. The rows of the tables are in request_limit_rows.cpp and
// agent_limit_rows.cpp.
#include "wire/request_limits.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"
#include "wire/varint.h"

namespace millrace {
namespace {

constexpr std::uint64_t varint_type = 0, fixed64_type = 1, length_type = 2, group_type = 3, fixed32_type = 5;
constexpr std::size_t fields_max = 64;
// Lists in lists multiply: over all of them so many texts and messages, and numbers, become objects.
constexpr std::size_t agent_objects_max = 512u << 10, agent_numbers_max = 4096u << 10;

// One field of the wire format, as protobuf reads it.
struct WireField {
  std::uint64_t tag = 0, type = 0, value = 0;
  std::string_view bytes;  // of length_type
};

std::optional<WireField> take_field(std::string_view& from) {
  const auto key = take_varint(from);
  if (!key) return std::nullopt;
  WireField out{(*key & 0xffffffff) >> 3, *key & 7, 0, {}};  // protobuf drops what is above 32 bits
  if (out.type == group_type) return out;
  if (out.type == varint_type) {
    const auto value = take_varint(from);
    if (!value) return std::nullopt;
    out.value = *value;
    return out;
  }
  std::uint64_t size = 0;
  if (out.type == fixed64_type)
    size = 8;
  else if (out.type == fixed32_type)
    size = 4;
  else if (const auto length = out.type == length_type ? take_varint(from) : std::nullopt)
    size = *length;
  else
    return std::nullopt;
  if (size > from.size()) return std::nullopt;
  out.bytes = from.substr(0, size);
  from.remove_prefix(size);
  return out;
}

class Check {
 public:
  explicit Check(std::size_t objects_max = SIZE_MAX, std::size_t numbers_max = SIZE_MAX)
      : objects_max_(objects_max), numbers_max_(numbers_max) {}
  // False: `problem` says what is over its limit.
  bool look(std::string_view bytes, const MessageLimits& limits) {
    MR_ASSERT(limits.fields.size() <= fields_max);
    std::array<Seen, fields_max> seen{};
    while (!bytes.empty()) {
      const auto field = take_field(bytes);
      if (!field) return true;  // protobuf will not read it either
      if (field->type == group_type) return refuse("has a group, which no message has", 0);
      const auto row = std::ranges::lower_bound(limits.fields, field->tag, {}, &FieldLimit::tag);
      if (row == limits.fields.end() || row->tag != field->tag) continue;
      path_.push_back(row->name);
      if (!look_at(*field, *row, seen[static_cast<std::size_t>(row - limits.fields.begin())])) return false;
      path_.pop_back();
    }
    return true;
  }
  std::string problem;
  std::size_t objects = 0;  // texts and messages in it

 private:
  struct Seen {
    std::size_t count = 0, bytes = 0;
  };

  bool look_at(const WireField& field, const FieldLimit& row, Seen& seen) {
    if (row.kind == WireKind::number) {
      // Numbers of a list come one by one, or many in one field.
      const std::size_t more =
          field.type != length_type
              ? 1
              : static_cast<std::size_t>(std::ranges::count_if(field.bytes, [](char c) { return (c & 0x80) == 0; }));
      seen.count += more;
      numbers_ += more;
      if (numbers_ > numbers_max_) return refuse("makes more numbers in all", numbers_max_);
      return counted(row, seen);
    }
    if (field.type != length_type) return true;  // not this field: protobuf puts it aside
    const std::size_t size = field.bytes.size();
    if (++objects > objects_max_) return refuse("makes more parts in all", objects_max_);
    if (size > row.bytes_max) return refuse("has " + std::to_string(size) + " bytes", row.bytes_max);
    seen.bytes += size;
    if (row.total_max > 0 && seen.bytes > row.total_max) return refuse("has more bytes in all", row.total_max);
    ++seen.count;
    // One of a kind that comes again is added to the first: lists in it could grow beyond their limits.
    if (row.kind == WireKind::message && !row.repeated && seen.count > 1) return refuse("is given twice", 1);
    if (row.repeated && !counted(row, seen)) return false;
    return row.kind != WireKind::message || look(field.bytes, *row.message);
  }

  bool counted(const FieldLimit& row, const Seen& seen) {
    return seen.count <= row.count_max || refuse("has more entries", row.count_max);
  }

  bool refuse(const std::string& what, std::size_t limit) {
    for (const std::string_view name : path_) {
      if (!problem.empty()) problem += '.';
      problem += name;
    }
    problem += ' ' + what + "; the limit is " + std::to_string(limit);
    return false;
  }

  const std::size_t objects_max_, numbers_max_;
  std::size_t numbers_ = 0;
  std::vector<std::string_view> path_;
};

}  // namespace

std::optional<std::string> over_limit(std::string_view request) {
  Check check;
  if (check.look(request, request_limits())) return std::nullopt;
  return std::move(check.problem);
}

std::optional<std::string> agent_word_over_limit(std::string_view word) {
  Check check(agent_objects_max, agent_numbers_max);
  if (check.look(word, agent_word_limits())) return std::nullopt;
  return std::move(check.problem);
}

std::size_t memory_of_request(std::string_view request) {
  constexpr std::size_t object_bytes = 64, small = 4096;
  Check check;
  check.look(request, request_limits());
  return std::max(small, request.size() + check.objects * object_bytes);
}

std::uint64_t number_of_request(std::string_view request) {
  constexpr std::uint64_t number_tag = 2;
  std::uint64_t number = 0;
  while (const auto field = take_field(request)) {
    if (field->type == group_type) break;
    if (field->tag == number_tag && field->type == varint_type) number = field->value;
  }
  return number;
}

}  // namespace millrace
