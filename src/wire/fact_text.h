// src/wire/fact_text.h - what facts are about (nodes, partitions, jobs, requests) as words of a line, for event_text.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ledger/event.h"
#include "wire/event_text.h"

namespace millrace::fact_text {

std::string hex(const std::array<std::uint8_t, 16>& bytes);

// Words "name=value" after the kind.
class Line {
 public:
  explicit Line(std::string_view kind) : text_(kind) {}

  Line& word(std::string_view name, std::string_view value) {
    text_ += ' ';
    text_ += name;
    text_ += '=';
    text_ += value;
    return *this;
  }
  Line& number(std::string_view name, std::int64_t value) { return word(name, std::to_string(value)); }
  Line& count(std::string_view name, std::uint64_t value) {
    return value == 0 ? *this : word(name, std::to_string(value));
  }
  Line& quoted(std::string_view name, std::string_view value) {
    return value.empty() ? *this : word(name, quote_text(value));
  }
  Line& flag(std::string_view name, bool value) { return value ? word(name, "yes") : *this; }
  Line& time(std::string_view name, Time at) { return at.is_set() ? word(name, describe_time(at)) : *this; }
  Line& amount(std::string_view name, const std::optional<Mebibytes>& value) {
    return value ? number(name, value->value) : *this;
  }
  Line& digest(std::string_view name, const std::array<std::uint8_t, 16>& bytes) {
    return bytes == std::array<std::uint8_t, 16>{} ? *this : word(name, hex(bytes));
  }
  template <class Items, class Show>
  Line& list(std::string_view name, const Items& items, Show show) {
    if (items.empty()) return *this;
    std::string inside;
    for (const auto& item : items) {
      if (!inside.empty()) inside += ' ';
      inside += show(item);
    }
    return word(name, '[' + inside + ']');
  }
  Line& numbers(std::string_view name, const std::vector<std::uint32_t>& values) {
    return list(name, values, [](std::uint32_t value) { return std::to_string(value); });
  }
  Line& strings(std::string_view name, const std::vector<std::string>& values) {
    return list(name, values, [](const std::string& value) { return quote_text(value); });
  }

  std::string text_;
};

std::string_view name_of(Availability availability);
std::string minutes_text(std::uint32_t count);
std::string show(const NodeGres& kind);
std::string show(const SwitchDef& def);
void add(Line& line, const ResourceRequest& ask);
std::string show(const NodeDef& def);
std::string show(const PriorityPolicy& p);
std::string show(const PartitionDef& def);
std::string show(const Policy& p);
std::string show(const Dependency& d);
std::string show(const NodeShare& s);
void add(Line& line, const Dependencies& dependencies);
void add(Line& line, const Owner& owner);
void add(Line& line, const RareRequest& rare);
void add(Line& line, const JobExtras& extras);
void add(Line& line, const JobSpec& spec);

}  // namespace millrace::fact_text
