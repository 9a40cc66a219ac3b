// tests/fuzz/fuzz_index_set.cpp - numbers of array tasks and of nodes: 1-10:2, 1,3-7:2, 2-4.
#include "base/index_set.h"

#include "cli/options/job_values.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(index_set) {
  for (const std::uint32_t most : {UINT32_MAX, 20'000u}) {
    const auto set = parse_index_set(input, most);
    if (!set || set->ranges().size() > 100'000) continue;  // what follows writes and reads it four times
    const auto again = parse_index_set(format_ranges(*set), most);
    fuzz::must(again && *again == *set, "a set of ranges is read back");
    const auto strided = parse_index_set(format_index_set(*set), most);
    fuzz::must(strided && *strided == *set, "a set with a stride is read back");
    fuzz::must(set->contains(set->front()) && set->contains(set->back()), "a set has its ends");
    IndexSet one_by_one;
    if (set->ranges().size() > 2000) continue;
    for (const auto& range : set->ranges()) one_by_one.insert(range.first, range.last);
    fuzz::must(one_by_one == *set, "a set is the same whichever way it was made");
  }
  fuzz::use(parse_node_count(input));
}
