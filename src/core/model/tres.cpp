// src/core/model/tres.cpp - see tres.h.
#include "core/model/tres.h"

#include <algorithm>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::string_view first_names[] = {"cpu", "mem", "node", "billing", "gres/gpu"};
constexpr std::string_view size_units = "MGTP";

std::size_t rank_of(std::string_view name) {
  const auto it = std::ranges::find(first_names, name);
  return static_cast<std::size_t>(it - std::begin(first_names));
}

bool comes_before(const TresAmount& a, const TresAmount& b) {
  return std::pair{rank_of(a.name), std::string_view{a.name}} < std::pair{rank_of(b.name), std::string_view{b.name}};
}

bool is_tres_name(std::string_view name) {
  if (std::ranges::find(first_names, name) != std::end(first_names)) return true;
  for (const std::string_view kind : {"gres/", "license/"})
    if (name.starts_with(kind) && name.size() > kind.size()) return true;
  return false;
}

struct NameValue {
  std::string name;
  std::string_view value;
};

Result<NameValue> split_pair(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size())
    return fail(Errc::invalid,
                "'" + std::string{word} + "' is not of the form name=amount, as in cpu=10 or gres/gpu=2");
  NameValue out{canonical_tres_name(trim(word.substr(0, equals))), trim(word.substr(equals + 1))};
  if (!is_tres_name(out.name))
    return fail(
        Errc::invalid,
        "'" + out.name + "' is not a trackable resource; cpu, mem, node, billing, gres/NAME and license/NAME are");
  return out;
}

}  // namespace

TresNames first_tres_names() { return {std::begin(first_names), std::end(first_names)}; }

std::optional<std::size_t> tres_slot(const TresNames& names, std::string_view name) {
  const auto it = std::ranges::find(names, name);
  if (it == names.end()) return std::nullopt;
  return static_cast<std::size_t>(it - names.begin());
}

std::string canonical_tres_name(std::string_view name) {
  std::string out = lower(name);
  if (out == "cpus") return "cpu";
  if (out == "memory") return "mem";
  if (out == "nodes") return "node";
  return out;
}

Result<TresList> parse_tres(std::string_view text) {
  TresList out;
  for (const std::string_view word : split(text, ',')) {
    if (trim(word).empty()) continue;
    MR_TRY(const NameValue pair, split_pair(trim(word)));
    std::int64_t amount = -1;
    if (pair.value != "-1") {
      const auto memory = pair.name == "mem" ? parse_memory(pair.value) : std::nullopt;
      const auto number =
          pair.name == "mem" ? (memory ? std::optional{memory->value} : std::nullopt) : parse_integer(pair.value);
      if (!number || *number < 0)
        return fail(Errc::invalid, "'" + std::string{pair.value} + "' is not an amount of " + pair.name);
      amount = *number;
    }
    std::erase_if(out, [&](const TresAmount& known) { return known.name == pair.name; });
    out.push_back({pair.name, amount});
  }
  std::ranges::sort(out, comes_before);
  return out;
}

std::string format_tres_amount(std::string_view name, std::int64_t amount) {
  if (name != "mem" || amount < 0) return std::to_string(amount);  // -1 takes a limit away, in any unit
  std::size_t unit = 0;
  while (unit + 1 < size_units.size() && amount != 0 && amount % 1024 == 0) amount /= 1024, ++unit;
  return std::to_string(amount) + size_units[unit];
}

std::string format_tres(const TresList& list) {
  std::string out;
  for (const TresAmount& each : list) {
    if (!out.empty()) out += ',';
    out += each.name + '=' + format_tres_amount(each.name, each.amount);
  }
  return out;
}

void set_tres(TresList& list, const TresAmount& change) {
  std::erase_if(list, [&](const TresAmount& known) { return known.name == change.name; });
  if (change.amount < 0) return;
  list.insert(std::ranges::upper_bound(list, change, comes_before), change);
}

const TresAmount* find_tres(const TresList& list, std::string_view name) {
  const auto it = std::ranges::find(list, name, &TresAmount::name);
  return it == list.end() ? nullptr : &*it;
}

std::optional<std::int64_t> parse_decimal(std::string_view text, int digits) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string fraction{point == std::string_view::npos ? "" : text.substr(point + 1)};
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const auto all_digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!all_digits(whole) || !all_digits(fraction) || whole.size() > 9) return std::nullopt;
  fraction.resize(static_cast<std::size_t>(digits), '0');
  return parse_integer((whole.empty() ? "0" : std::string{whole}) + fraction);
}

std::string format_tres_weight(const TresWeight& weight) {
  // Memory is written by the GiB, the others by the piece; three digits are what people write.
  const __int128 scaled = static_cast<__int128>(weight.billionths) * (weight.name == "mem" ? 1024 : 1) / weight.per;
  const auto thousandths = static_cast<std::int64_t>((scaled + 500'000) / 1'000'000);
  std::string fraction = std::to_string(1000 + thousandths % 1000).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return weight.name + '=' + std::to_string(thousandths / 1000) + (fraction.empty() ? "" : '.' + fraction) +
         (weight.name == "mem" ? "G" : "");
}

Result<std::vector<TresWeight>> parse_tres_weights(std::string_view text) {
  std::vector<TresWeight> out;
  for (const std::string_view word : split(text, ',')) {
    if (trim(word).empty()) continue;
    MR_TRY(const NameValue pair, split_pair(trim(word)));
    std::string_view number = pair.value;
    std::int64_t divisor = 1;
    if (const std::size_t unit = std::string_view{"mgtp"}.find(lower(number.substr(number.size() - 1)));
        unit != std::string_view::npos) {
      number.remove_suffix(1);
      for (std::size_t i = 0; i < unit; ++i) divisor *= 1024;
    }
    const auto weight = parse_decimal(number, 9);
    if (!weight || (divisor != 1 && pair.name != "mem"))
      return fail(Errc::invalid, "'" + std::string{pair.value} + "' is not a weight of " + pair.name +
                                     ", 2.0 would be" + (pair.name == "mem" ? ", or 0.25G for each GiB" : ""));
    out.push_back({pair.name, *weight, divisor});
  }
  return out;
}

}  // namespace millrace
