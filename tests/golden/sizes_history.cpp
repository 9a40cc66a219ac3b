// tests/golden/sizes_history.cpp - the history of format 1 with lists of sizes, a site factor and an age that begins
// anew after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 960}; }

ResourceRequest sizes(std::initializer_list<std::uint32_t> counts) {
  ResourceRequest out;
  for (const std::uint32_t count : counts) out.node_counts.insert(count);
  return out;
}

}  // namespace

std::vector<GoldenBatch> sizes_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted first = one_more_job(out, 9, "one or three", 180, at(510)),
               second = one_more_job(out, 10, "waits", 181, at(511));
  first.spec.resources = SharedValue(sizes({1, 3, 5, 7}));
  first.spec.max_nodes = 7;
  out.push_back({{}, {first, second}});
  JobModified listed;
  listed.key = second.key;
  listed.min_nodes = 1;
  listed.max_nodes = 4;
  listed.resources = sizes({1, 2, 4});
  listed.at = at(512);
  out.push_back({{}, {listed}});
  JobModified weighed;
  weighed.key = second.key;
  weighed.extras = JobExtras{};
  weighed.extras->site_factor = -300;
  weighed.extras->accrue_from = at(513);
  weighed.at = at(513);
  out.push_back({{}, {weighed}});
  out.push_back(
      {{},
       {JobPlaced{first.key, Attempt{0}, {{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}}}, false, at(520)}}});
  return out;
}

}  // namespace millrace
