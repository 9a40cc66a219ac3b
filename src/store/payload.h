// src/store/payload.h - where each payload lies: in a segment, or still on its way there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_value.h"
#include "ports/event_log.h"

namespace millrace {

struct PayloadPlace {
  std::uint64_t segment = 0, offset = 0, size = 0;  // of the record
  std::uint64_t index = 0;                          // of the first event written after it
};

class PayloadIndex {
 public:
  bool contains(const PayloadId& id) const { return stored_.contains(id) || in_flight_.contains(id); }
  const PayloadPlace* stored(const PayloadId& id) const;
  const SharedValue<std::string>* in_flight(const PayloadId& id) const;
  std::size_t size() const { return stored_.size(); }

  void sent(const PayloadId& id, SharedValue<std::string> bytes) { in_flight_.insert_or_assign(id, std::move(bytes)); }
  void placed(const PayloadId& id, PayloadPlace place);  // on stable storage; the memory is given back

  // Forgets those that lie before event `index` and are not among `live` (sorted): a later submission of the same bytes
  // stores them anew, instead of pointing at what compaction is about to remove.
  void forget_dead(std::uint64_t index, const std::vector<PayloadId>& live);
  std::vector<PayloadId> before(std::uint64_t segment) const;  // those that lie in older segments

 private:
  std::map<PayloadId, PayloadPlace> stored_;
  std::map<PayloadId, SharedValue<std::string>> in_flight_;
};

// The body of a payload record, taken apart.
std::optional<std::pair<PayloadId, std::string_view>> split_payload(std::string_view body);

}  // namespace millrace
