// src/controller/payload_cache.h - scripts and environments on their way to a node: a few recent ones, the rest read
// from the log.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "ports/event_log.h"

namespace millrace {

class PayloadCache final {
 public:
  using Found = std::move_only_function<void(Result<std::string>)>;
  PayloadCache(EventLog& log, std::size_t bytes_max) : log_(log), bytes_max_(bytes_max) {}
  void remember(const PayloadId& id, std::string bytes);
  void find(const PayloadId& id, Found found);  // an all-zero id is an empty payload

 private:
  EventLog& log_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::map<PayloadId, std::string> kept_;
  std::deque<PayloadId> order_;  // oldest first
};

}  // namespace millrace
