// src/core/model/tres.h - trackable resources: what limits, usage and billing count, by name where people write it, by
// slot where we add it up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace millrace {

struct TresAmount {
  std::string name;  // cpu, mem (MiB), node, billing, gres/gpu, gres/gpu:a100, license/matlab
  std::int64_t amount = 0;
  bool operator==(const TresAmount&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "amount", self.amount);
  }
};
using TresList = std::vector<TresAmount>;  // each name once: cpu, mem, node, billing, then the others by name

// A resource's place in this list is its slot. The first five are always there; others come from AccountingStorageTRES
// and stay.
using TresNames = std::vector<std::string>;
constexpr std::size_t tres_max = 10;
enum TresSlot : std::size_t { tres_cpu, tres_memory, tres_node, tres_billing, tres_gpu };
TresNames first_tres_names();
std::optional<std::size_t> tres_slot(const TresNames& names, std::string_view name);

struct Tres {
  std::array<std::int64_t, tres_max> amount{};
  bool operator==(const Tres&) const = default;
  std::int64_t& operator[](std::size_t slot) { return amount[slot]; }
  std::int64_t operator[](std::size_t slot) const { return amount[slot]; }
  Tres& operator+=(const Tres& other) {
    for (std::size_t i = 0; i < tres_max; ++i) amount[i] += other.amount[i];
    return *this;
  }
};

// "cpu=10,mem=4G,gres/gpu=2"; an amount of -1 is kept: it takes a limit away.
Result<TresList> parse_tres(std::string_view text);
std::string format_tres(const TresList& list);
std::string format_tres_amount(std::string_view name, std::int64_t amount);  // 4G for mem, else the number
std::string canonical_tres_name(std::string_view name);  // lower case; the old short forms made long
// Sets, replaces or (-1) removes one.
void set_tres(TresList& list, const TresAmount& change);
const TresAmount* find_tres(const TresList& list, std::string_view name);

// What so many of a resource's unit (mem: MiB) count in a sum of several, in thousand millionths.
struct TresWeight {
  std::string name;
  std::int64_t billionths = 0;
  std::int64_t per = 1;  // 1024: for each GiB
  bool operator==(const TresWeight&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "billionths", self.billionths);
    visit(3, "per", field::or_default(self.per, 1));
  }
};
// "CPU=1.0,Mem=0.25G,GRES/gpu=2": for each CPU, each GiB, each GPU.
Result<std::vector<TresWeight>> parse_tres_weights(std::string_view text);

// "gres/gpu=2", "mem=0.25G".
std::string format_tres_weight(const TresWeight& weight);

// A decimal number as a count of 10^-digits: "0.25" with 3 digits is 250. Nothing when it is none.
std::optional<std::int64_t> parse_decimal(std::string_view text, int digits);

}  // namespace millrace
