// src/controller/loop/payload_cache.h - scripts and environments on their way to a node: a few recent ones, the rest
// read from the log.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ports/event_log.h"

namespace millrace {

class PayloadCache final {
 public:
  using Found = std::move_only_function<void(Result<std::string>)>;
  PayloadCache(EventLog& log, std::size_t bytes_max) : log_(log), bytes_max_(bytes_max) {}
  void remember(const PayloadId& id, std::string bytes);
  // An all-zero id is an empty payload. Of several who want the same at a time it is read for one.
  void find(const PayloadId& id, Found found);

 private:
  EventLog& log_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::map<PayloadId, std::string> kept_;
  std::deque<PayloadId> order_;                     // oldest first
  std::map<PayloadId, std::vector<Found>> wanted_;  // is being read, and for whom
};

}  // namespace millrace
