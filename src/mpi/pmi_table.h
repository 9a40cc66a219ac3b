// src/mpi/pmi_table.h - keys and values that tasks have put, with what it costs to keep them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace millrace {

class PmiTable {
 public:
  using Entries = std::map<std::string, std::string, std::less<>>;

  static std::size_t cost(std::string_view key, std::string_view value) {
    return key.size() + value.size() + entry_bytes;
  }
  // By how much bytes() would grow; 0 where it would not.
  std::size_t growth(std::string_view key, std::string_view value) const {
    const std::string* old = find(key);
    const std::size_t before = old == nullptr ? 0 : cost(key, *old), after = cost(key, value);
    return after > before ? after - before : 0;
  }
  void set(std::string_view key, std::string_view value) {
    if (const std::string* old = find(key)) bytes_ -= cost(key, *old);
    entries_.insert_or_assign(std::string{key}, std::string{value});
    bytes_ += cost(key, value);
  }
  const std::string* find(std::string_view key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  void clear() {
    entries_.clear();
    bytes_ = 0;
  }
  const Entries& entries() const { return entries_; }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t entry_bytes = 160;  // what a map needs for an entry besides its texts

  Entries entries_;
  std::size_t bytes_ = 0;
};

}  // namespace millrace
