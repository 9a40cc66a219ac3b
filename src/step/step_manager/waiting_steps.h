// src/step/step_manager/waiting_steps.h - requests for steps that wait for room, in their order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent.pb.h"

namespace millrace {

// The same srun asking again, because an answer was lost.
bool is_same_request(const wire::StepRequest& a, const wire::StepRequest& b);
// In memory that is not the job's, but root's.
std::size_t memory_of(const wire::StepRequest& request);

class WaitingSteps {
 public:
  bool knows(const wire::StepRequest& request) const;
  // At the end, or at the place it has. False: too many wait, or too much, and it does not any more.
  bool keep(const wire::StepRequest& request, std::int64_t now_us);
  void client_left(std::uint64_t client);
  // First come, first served; one that still does not fit keeps no smaller one waiting. `try_one`: false: it has to
  // wait.
  template <class Try>
  void retry(Try&& try_one) {
    std::erase_if(waiting_, [&](const Waiting& one) { return try_one(one.request); });
  }
  std::vector<wire::StepRequest> take_all();
  // Those that do not know yet that they wait. They hear of it a while later, because the end of the step before may be
  // on its way to us.
  std::vector<wire::StepRequest> take_untold();
  std::int64_t due_us() const { return tell_us_; }  // when take_untold() is to be called; INT64_MAX: all of them know
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    wire::StepRequest request;
    std::size_t bytes = 0;  // of memory
    bool told = false;      // that it waits
  };
  std::vector<Waiting>::const_iterator find(const wire::StepRequest& request) const;

  std::vector<Waiting> waiting_;
  std::int64_t tell_us_ = INT64_MAX;
};

}  // namespace millrace
