// src/step/step_manager/ended_steps.h - the steps that ended last, for an srun that has not heard of it and asks again.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace millrace {

// A step that was short is over when its srun asks again, and must not run twice.
class EndedSteps {
 public:
  static constexpr std::size_t known_max = 4'096;

  void add(const std::string& secret, std::uint32_t step);  // of its srun; one without a secret is not known again
  std::optional<std::uint32_t> find(const std::string& secret) const;

 private:
  std::map<std::string, std::uint32_t> steps_;
  std::deque<std::string> order_;
};

}  // namespace millrace
