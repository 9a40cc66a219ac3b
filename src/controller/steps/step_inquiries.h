// src/controller/steps/step_inquiries.h - what running steps use, asked of the supervisors that run them.
//
// An inquiry goes to every node it concerns at once. It is answered when all have answered, or after five seconds with
// the names of those that were silent; an answer that nobody waits for is dropped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "controller/loop/context.h"
#include "controller/loop/node_links.h"

namespace millrace {

// A supervisor that is asked: that of a step, or of the attempt itself.
struct SampleTarget {
  NodeIndex node;
  JobKey key;
  Attempt attempt;
  std::optional<std::uint32_t> step;
  auto operator<=>(const SampleTarget&) const = default;
};

struct Inquiry {
  ClientId client = 0;
  UserId user;
  std::uint64_t number = 0;
  std::set<SampleTarget> awaited;
  wire::StepSamples answer;
  Loop::TimerId timer = 0;
};

class StepInquiries final {
 public:
  StepInquiries(const Context& context, NodeLinks& links) : c_(context), links_(links) {}

  bool has_too_many(UserId user) const;
  void begin(Inquiry inquiry);
  void sampled(NodeIndex node, const wire::StepSample& sample);
  void client_left(ClientId client);

 private:
  void answer(std::uint64_t id);

  const Context& c_;
  NodeLinks& links_;
  std::map<std::uint64_t, Inquiry> inquiries_;
  std::uint64_t last_ = 0;
};

}  // namespace millrace
