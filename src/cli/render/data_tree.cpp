// src/cli/render/data_tree.cpp - see data_tree.h.
#include "cli/render/data_tree.h"

#include <string.h>

#include "base/text.h"

namespace millrace {

const Data* Data::find(std::string_view key) const {
  if (const DataMap* members = map())
    for (const DataMember& member : *members)
      if (member.first == key) return &member.second;
  return nullptr;
}

Data& Data::at_path(std::string_view path) {
  Data* here = this;
  for (const std::string_view part : split(path, '/')) {
    if (!std::holds_alternative<DataMap>(here->value_)) here->value_ = DataMap{};
    DataMap& members = std::get<DataMap>(here->value_);
    Data* next = nullptr;
    for (DataMember& member : members)
      if (member.first == part) next = &member.second;
    if (next == nullptr) next = &members.emplace_back(std::string{part}, Data{}).second;
    here = next;
  }
  return *here;
}

void put_at_path(DataMap& members, std::string_view path, Data value) {
  const std::size_t slash = path.find('/');
  const std::string_view key = path.substr(0, slash);
  Data* found = nullptr;
  for (DataMember& member : members)
    if (member.first == key) found = &member.second;
  if (found == nullptr) found = &members.emplace_back(std::string{key}, Data{}).second;
  if (slash == std::string_view::npos)
    *found = std::move(value);
  else
    found->at_path(path.substr(slash + 1)) = std::move(value);
}

namespace {
Data number_form(bool set, bool infinite, Data number) {
  return DataMap{{"set", Data{set}}, {"infinite", Data{infinite}}, {"number", std::move(number)}};
}
}  // namespace

Data number_or_not(std::uint64_t number) { return number_form(true, false, number); }
Data number_not_set() { return number_form(false, false, std::uint64_t{0}); }
Data number_infinite() { return number_form(false, true, std::uint64_t{0}); }
Data number_or_infinite(std::uint32_t number) {
  return number == UINT32_MAX ? number_infinite() : number_or_not(number);
}
Data number_if(bool set, std::uint64_t number) { return set ? number_or_not(number) : number_not_set(); }
Data real_if(bool set, double number) { return number_form(set, false, set ? number : 0.0); }
Data time_of(std::int64_t microseconds) {
  return number_or_not(microseconds <= 0 ? 0 : static_cast<std::uint64_t>(microseconds / 1'000'000));
}

Data exit_code_data(std::uint32_t code, std::uint32_t signal) {
  std::string name;
  if (signal != 0) {
    const char* known = sigabbrev_np(static_cast<int>(signal));
    name = known != nullptr ? known : std::to_string(signal);
  }
  const std::string_view status = signal != 0 ? "SIGNALED" : code != 0 ? "ERROR" : "SUCCESS";
  return DataMap{{"status", DataList{Data{status}}},
                 {"return_code", signal != 0 ? number_if(code != 0, code) : number_or_not(code)},
                 {"signal", DataMap{{"id", number_if(signal != 0, signal)}, {"name", Data{name}}}}};
}

Data words_of(std::initializer_list<std::pair<bool, std::string_view>> flags) {
  DataList out;
  for (const auto& [on, word] : flags)
    if (on) out.emplace_back(word);
  return out;
}

Data word_list(std::span<const std::string> words) {
  DataList out;
  for (const std::string& word : words) out.emplace_back(word);
  return out;
}

Data words_by_comma(std::string_view text) {
  DataList out;
  for (const std::string_view word : split(text, ','))
    if (!trim(word).empty()) out.emplace_back(trim(word));
  return out;
}

bool has_form(const Data& value, std::string_view type) {
  const auto ends = [&](std::string_view end) { return type.ends_with(end); };
  if (type == "BOOL" || type == "BOOL16" || type == "BOOL16_NO_VAL" || type == "HOLD") return value.is_bool();
  if (ends("_NO_VAL") || type == "MEM_PER_CPUS" || type == "MEM_PER_NODE")
    return value.find("set") != nullptr && value.find("infinite") != nullptr && value.find("number") != nullptr &&
           value.map()->size() == 3;
  if (type == "PROCESS_EXIT_CODE")
    return value.find("status") != nullptr && value.find("return_code") != nullptr && value.find("signal") != nullptr;
  if (type == "SLURM_STEP_ID") return value.find("job_id") != nullptr && value.find("step_id") != nullptr;
  if (ends("_PTR")) return value.is_null() || value.map() != nullptr;
  if (ends("_FLAGS") || ends("_LIST") || ends("STATE") || ends("STATES") || ends("MODES") || type == "CSV_STRING" ||
      type == "SELECT_TYPE_PARAM" || type == "ACCT_GATHER_PROFILE" || type == "JOB_SHARED")
    return value.list() != nullptr;
  if (type.starts_with("UINT") || type.starts_with("INT") || type == "NICE" || type == "CORE_SPEC" ||
      type == "THREAD_SPEC" || type == "TIMESTAMP" || type == "FLOAT64")
    return value.is_number();
  return value.is_text();
}

}  // namespace millrace
