// src/isolation/cpu_places.cpp - see cpu_places.h.
#include "isolation/cpu_places.h"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "base/text.h"
#include "isolation/control_file.h"

namespace millrace {
namespace {

struct FoundCpu {
  long package = 0;
  std::uint32_t core_key = 0;  // the lowest CPU of its core; core_id alone may repeat within a package
  std::uint32_t cpu = 0;
  std::uint32_t memory_node = 0;
};

// The folder of a CPU has a link nodeN to its memory.
std::uint32_t memory_node_of(const std::string& folder) {
  std::uint32_t node = 0;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return node;
  while (const dirent* entry = readdir(directory))
    if (std::strncmp(entry->d_name, "node", 4) == 0 && entry->d_name[4] >= '0' && entry->d_name[4] <= '9')
      node = static_cast<std::uint32_t>(std::strtoul(entry->d_name + 4, nullptr, 10));
  closedir(directory);
  return node;
}

}  // namespace

// A list that names more than there can be ends there, however often it names them.
std::vector<std::uint32_t> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t last_cpu = 1'000'000;
  std::vector<std::uint32_t> cpus;
  for (const std::string_view part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > last_cpu) continue;
    if (static_cast<std::int64_t>(cpus.size()) + *last - *first > last_cpu) break;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<std::uint32_t>(cpu));
  }
  return cpus;
}

std::string format_cpu_list(std::vector<std::uint32_t> cpus) {
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) out += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return out;
}

std::vector<CpuPlace> read_cpu_places(const std::string& sys) {
  const std::string root = sys + "/devices/system/cpu/";
  std::vector<FoundCpu> found;
  for (const std::uint32_t cpu : parse_cpu_list(read_control(root + "online"))) {
    const std::string folder = root + "cpu" + std::to_string(cpu);
    FoundCpu each;
    each.cpu = cpu;
    each.package =
        std::max(std::strtol(read_control(folder + "/topology/physical_package_id").c_str(), nullptr, 10), 0L);
    std::string siblings = read_control(folder + "/topology/core_cpus_list");
    if (siblings.empty()) siblings = read_control(folder + "/topology/thread_siblings_list");  // before 5.5
    const auto threads = parse_cpu_list(siblings);
    each.core_key = threads.empty() ? cpu : *std::ranges::min_element(threads);
    each.memory_node = memory_node_of(folder);
    found.push_back(each);
  }
  std::ranges::sort(found, {}, [](const FoundCpu& each) { return std::tuple(each.package, each.core_key, each.cpu); });
  std::vector<CpuPlace> places;
  std::uint32_t core = 0, socket = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0 && found[i].package != found[i - 1].package) ++socket;
    if (i > 0 && (found[i].core_key != found[i - 1].core_key || found[i].package != found[i - 1].package)) ++core;
    places.push_back({found[i].cpu, core, socket, found[i].memory_node});
  }
  return places;
}

bool counts_cores(const std::vector<CpuPlace>& machine, std::uint32_t configured_threads_per_core,
                  std::uint32_t configured_cpus) {
  if (machine.empty() || configured_threads_per_core > 1) return false;
  const std::size_t cores = machine.back().core + 1;
  return cores < machine.size() && configured_cpus <= cores;
}

std::optional<std::vector<CpuPlace>> places_of(const std::vector<CpuPlace>& machine, bool whole_cores,
                                               std::string_view positions) {
  std::vector<CpuPlace> out;
  for (const std::uint32_t position : parse_cpu_list(positions)) {
    if (whole_cores) {
      if (machine.empty() || position > machine.back().core) return std::nullopt;
      std::ranges::copy_if(machine, std::back_inserter(out),
                           [&](const CpuPlace& place) { return place.core == position; });
    } else {
      if (position >= machine.size()) return std::nullopt;
      out.push_back(machine[position]);
    }
  }
  return out;
}

}  // namespace millrace
