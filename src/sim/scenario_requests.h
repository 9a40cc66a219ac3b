// src/sim/scenario_requests.h - the words of a scenario for devices, features, licences, switches and layout.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/admission/reserve.h"
#include "core/admission/submit_job.h"

namespace millrace {

// Of a scenario.
inline Time at_second(std::int64_t second) {
  return Time{(second + 1'000'000) * 1'000'000};
}  // far from zero, which means "not set"

// gres=gpu:a100:4 features=a,b sockets=2 cores=8 threads=2 tmp=1000 weight=5 on a `nodes` line. False: not such a word.
Result<bool> read_node_word(std::string_view word, NodeDef& def);
// resume_after=60 (or never) features=a,b active=a weight=5 of a node that is there. False: not such a word.
bool read_node_change(std::string_view word, NodeModified& change, Time now);
// CPUs follow from sockets, cores and threads where those are given; parts of gpus are spread.
Result<void> settle_node(NodeDef& def);

// gres=, gpus=, constraint=, licences=, dist= ... of a submission or an update. False: not such a key.
bool read_wish(std::string_view key, const std::string& value, ResourceWishes& wishes);

// `reserve NAME start=10 for=60 nodes=n0 ...`; `in=` counts from now.
Result<Reserve> read_reservation(std::span<const std::string> words, Time now);

// `switch leaf0 n[0-1]`, `switch top leaf0,leaf1`
Result<void> read_switch(const std::string& name, const std::string& below, Topology& topology);

}  // namespace millrace
