// src/cli/render/data_tree.h - a record as a tree of names and values, before it is printed as JSON or YAML (or
// answered over HTTP).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace {

class Data;
using DataList = std::vector<Data>;
using DataMember = std::pair<std::string, Data>;
using DataMap = std::vector<DataMember>;  // in the order of writing: people read it

class Data {
 public:
  Data() = default;  // null
  Data(bool value) : value_(value) {}
  Data(double value) : value_(value) {}
  Data(std::int32_t value) : value_(std::int64_t{value}) {}
  Data(std::uint32_t value) : value_(std::int64_t{value}) {}
  Data(std::int64_t value) : value_(value) {}
  Data(std::uint64_t value) : value_(value) {}
  Data(const char* value) : value_(std::string{value}) {}
  Data(std::string_view value) : value_(std::string{value}) {}
  Data(std::string value) : value_(std::move(value)) {}
  Data(DataList value) : value_(std::move(value)) {}
  Data(DataMap value) : value_(std::move(value)) {}

  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, DataList, DataMap>;
  const Value& value() const { return value_; }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_number() const {
    return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_) ||
           std::holds_alternative<double>(value_);
  }
  const DataList* list() const { return std::get_if<DataList>(&value_); }
  const DataMap* map() const { return std::get_if<DataMap>(&value_); }
  const Data* find(std::string_view key) const;  // of a map; nullptr: not there
  Data& at_path(std::string_view path);          // "nodes/total": maps are made on the way
  bool operator==(const Data&) const = default;

 private:
  Value value_{nullptr};
};

// --- values Slurm writes in forms of their own ---

// {"set":..,"infinite":..,"number":..}
Data number_or_not(std::uint64_t number);  // it is set
Data number_not_set();
Data number_infinite();
Data number_or_infinite(std::uint32_t number);  // 0xffffffff: infinite
Data number_if(bool set, std::uint64_t number);
Data real_if(bool set, double number);
Data time_of(std::int64_t microseconds);  // seconds, set even when 0, as Slurm does
Data exit_code_data(std::uint32_t code, std::uint32_t signal);
Data words_of(std::initializer_list<std::pair<bool, std::string_view>> flags);  // those that are true
Data word_list(std::span<const std::string> words);
Data words_by_comma(std::string_view text);

// --- records as tables ---

// `type` is the name Slurm's data parsers have for the form of the value; the schema of an HTTP interface needs it.
template <class Record>
struct DataField {
  std::string_view path, type;
  Data (*value)(const Record& record);
};

void put_at_path(DataMap& members, std::string_view path, Data value);

// A path without '/' is not looked for first: the tables name each once (a test walks them).
template <class Record>
Data to_data(std::span<const DataField<Record>> fields, const Record& record) {
  DataMap members;
  members.reserve(fields.size());
  for (const DataField<Record>& field : fields)
    if (field.path.find('/') == std::string_view::npos)
      members.emplace_back(std::string{field.path}, field.value(record));
    else
      put_at_path(members, field.path, field.value(record));
  return members;
}

// Whether a value has the form its field's type promises.
bool has_form(const Data& value, std::string_view type);

}  // namespace millrace
