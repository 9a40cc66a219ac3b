// src/core/model/cpu_bind.cpp - see cpu_bind.h.
#include "core/model/cpu_bind.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::uint32_t list_max = 4096;
constexpr std::uint32_t number_max = 65'535;

// 12 or 0xc
std::optional<std::uint32_t> to_number(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) {
    const auto number = parse_integer(text);
    return number && *number >= 0 && *number <= number_max ? std::optional(static_cast<std::uint32_t>(*number))
                                                           : std::nullopt;
  }
  std::uint32_t number = 0;
  for (const char c : text.substr(2)) {
    const char small = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const int digit = small >= '0' && small <= '9' ? small - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
    if (digit < 0 || number > number_max / 16) return std::nullopt;
    number = number * 16 + static_cast<std::uint32_t>(digit);
  }
  return text.size() > 2 ? std::optional(number) : std::nullopt;
}

// Hexadecimal of any length, with or without 0x.
std::optional<std::vector<std::uint64_t>> to_mask(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() > number_max / 4) return std::nullopt;
  std::vector<std::uint64_t> words((text.size() + 15) / 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[text.size() - 1 - i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    words[i / 16] |= static_cast<std::uint64_t>(digit) << (i % 16 * 4);
  }
  return words;
}

// Entries with commas between them; 0*4 stands for four of them.
template <class Take>
bool read_list(std::string_view text, Take take) {
  std::uint32_t taken = 0;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t star = entry.find('*');
    const auto times =
        star == std::string_view::npos ? std::optional<std::uint32_t>(1) : to_number(entry.substr(star + 1));
    if (!times || *times == 0 || (taken += *times) > list_max) return false;
    for (std::uint32_t i = 0; i < *times; ++i)
      if (!take(entry.substr(0, star))) return false;
  }
  return taken > 0;
}

template <class List>
auto into(List& list, auto read) {
  return [&list, read](std::string_view entry) {
    const auto value = read(entry);
    if (value) list.push_back(*value);
    return value.has_value();
  };
}

// Takes quiet and verbose from the front.
bool take_loudness(std::string_view& text, bool& verbose) {
  for (;;) {
    const std::string_view word = text.substr(0, text.find(','));
    const std::string small = lower(word);
    const bool loud = small == "verbose" || small == "v", still = small == "quiet" || small == "q";
    if (!loud && !still) return !text.empty();
    verbose = loud;
    if (word.size() == text.size()) return false;
    text.remove_prefix(word.size() + 1);
  }
}

struct Word {
  std::string_view name;
  BindKind kind;
};
constexpr Word plain_words[] = {
    {"none", BindKind::none},       {"no", BindKind::none},        {"threads", BindKind::threads},
    {"thread", BindKind::threads},  {"cores", BindKind::cores},    {"core", BindKind::cores},
    {"sockets", BindKind::sockets}, {"socket", BindKind::sockets}, {"ldoms", BindKind::ldoms},
    {"ldom", BindKind::ldoms},      {"rank", BindKind::rank},      {"rank_ldom", BindKind::rank_ldom}};
constexpr Word list_words[] = {{"map_cpu", BindKind::map_cpu},
                               {"mask_cpu", BindKind::mask_cpu},
                               {"map_ldom", BindKind::map_ldom},
                               {"mask_ldom", BindKind::mask_ldom}};

}  // namespace

Result<CpuBind> parse_cpu_bind(std::string_view text) {
  CpuBind out;
  const std::string asked{text};
  if (!take_loudness(text, out.verbose)) {
    if (text.empty()) return fail(Errc::invalid, "no type is given");
    return out;
  }
  const std::size_t colon = text.find(':');
  const std::string name = lower(text.substr(0, colon));
  if (colon == std::string_view::npos) {
    for (const Word& word : plain_words)
      if (word.name == name) return out.kind = word.kind, out;
    return fail(Errc::invalid, "'" + asked +
                                   "' is not none, threads, cores, sockets, ldoms, rank, rank_ldom, map_cpu:LIST, "
                                   "mask_cpu:LIST, map_ldom:LIST or mask_ldom:LIST");
  }
  for (const Word& word : list_words) {
    if (word.name != name) continue;
    out.kind = word.kind;
    const bool masks = word.kind == BindKind::mask_cpu || word.kind == BindKind::mask_ldom;
    const bool good = masks ? read_list(text.substr(colon + 1), into(out.masks, to_mask))
                            : read_list(text.substr(colon + 1), into(out.list, to_number));
    if (good) return out;
    return fail(Errc::invalid,
                "'" + asked + "' needs " + (masks ? "masks, as in mask_cpu:0x3,0xc" : "numbers, as in map_cpu:0,2,4"));
  }
  return fail(Errc::invalid, "'" + asked + "': only map_cpu, mask_cpu, map_ldom and mask_ldom have a list");
}

Result<MemoryBind> parse_memory_bind(std::string_view text) {
  MemoryBind out;
  const std::string asked{text};
  if (!take_loudness(text, out.verbose)) return out;
  std::string rest{text};
  for (std::string_view flag : {"prefer,", "p,"})
    if (rest.starts_with(flag)) out.prefer = true, rest.erase(0, flag.size());
  const std::size_t colon = rest.find(':');
  const std::string name = lower(std::string_view{rest}.substr(0, colon));
  if (name == "sort" || name == "nosort") return fail(Errc::refused, name + " is not built yet");
  if (colon == std::string::npos) {
    if (name == "none" || name == "no") return out.kind = MemoryBindKind::none, out;
    if (name == "local") return out.kind = MemoryBindKind::local, out;
    if (name == "rank") return out.kind = MemoryBindKind::rank, out;
  } else if (name == "map_mem") {
    out.kind = MemoryBindKind::map;
    if (read_list(std::string_view{rest}.substr(colon + 1), into(out.list, to_number)) &&
        *std::ranges::max_element(out.list) < 64)
      return out;
  } else if (name == "mask_mem") {
    out.kind = MemoryBindKind::mask;
    const auto word = [](std::string_view entry) -> std::optional<std::uint64_t> {
      const auto mask = to_mask(entry);
      return mask && mask->size() == 1 && mask->front() != 0 ? std::optional(mask->front()) : std::nullopt;
    };
    if (read_list(std::string_view{rest}.substr(colon + 1), into(out.masks, word))) return out;
  }
  return fail(Errc::invalid, "'" + asked + "' is not none, local, rank, map_mem:LIST or mask_mem:LIST");
}

Result<GpuBind> parse_gpu_bind(std::string_view text) {
  GpuBind out;
  const std::string asked{text};
  if (!take_loudness(text, out.verbose)) return out;
  if (lower(text).starts_with("gpu:")) text.remove_prefix(4);  // as --tres-bind=gres/gpu:... has it
  const std::size_t colon = text.find(':');
  const std::string name = lower(text.substr(0, colon));
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const auto wrong = [&](const char* right) {
    return fail(Errc::invalid, "'" + asked + "' is wrong, " + right + " would be right");
  };
  if (name == "none" && rest.empty()) return out.kind = GpuBindKind::none, out;
  if (name == "closest" && rest.empty()) return out.kind = GpuBindKind::closest, out;
  if (name == "single" || name == "per_task") {
    const auto count = to_number(rest);
    if (!count || *count == 0)
      return wrong(name == "single" ? "a number of tasks, as in single:2," : "a number of gpus, as in per_task:1,");
    out.kind = name == "single" ? GpuBindKind::single : GpuBindKind::per_task;
    out.count = *count;
    return out;
  }
  if (name == "map_gpu" || name == "map") {
    out.kind = GpuBindKind::map;
    if (!read_list(rest, into(out.list, to_number))) return wrong("a list of numbers, as in map_gpu:0,1,");
    return out;
  }
  if (name == "mask_gpu" || name == "mask") {
    out.kind = GpuBindKind::mask;
    if (!read_list(rest, into(out.masks, to_mask))) return wrong("a list of masks, as in mask_gpu:0x1,0x2,");
    return out;
  }
  return wrong("closest, single:N, per_task:N, map_gpu:LIST, mask_gpu:LIST or none");
}

}  // namespace millrace
