// src/adapters/client_words.h - what clients cause on its way to a node: it waits for room on the link, and orders of
// the controller go past it.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/quantity.h"

namespace millrace {

// A queue for each job. A job may have as much waiting as all jobs leave free: however much somebody sends, there is
// room for others. Jobs take turns.
class ClientWords final {
 public:
  explicit ClientWords(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  bool has_room_for(JobKey job, std::size_t bytes) const;
  void add(JobKey job, std::string word);  // also without room: what is small and must not be lost
  std::optional<std::string> next();
  bool empty() const { return queues_.empty(); }

 private:
  struct Queue {
    std::deque<std::string> words;
    std::size_t bytes = 0;
  };
  const std::size_t bytes_max_;
  std::map<JobKey, Queue> queues_;  // of jobs of which something waits
  std::size_t bytes_ = 0;
  JobKey last_;
};

}  // namespace millrace
