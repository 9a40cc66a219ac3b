// src/store/payload.cpp - see payload.h.
#include "store/payload.h"

#include <algorithm>
#include <cstring>

namespace millrace {

const PayloadPlace* PayloadIndex::stored(const PayloadId& id) const {
  const auto it = stored_.find(id);
  return it == stored_.end() ? nullptr : &it->second;
}

const SharedValue<std::string>* PayloadIndex::in_flight(const PayloadId& id) const {
  const auto it = in_flight_.find(id);
  return it == in_flight_.end() ? nullptr : &it->second;
}

void PayloadIndex::placed(const PayloadId& id, PayloadPlace place) {
  in_flight_.erase(id);
  stored_.insert_or_assign(id, place);
}

void PayloadIndex::forget_dead(std::uint64_t index, const std::vector<PayloadId>& live) {
  std::erase_if(stored_, [&](const auto& entry) {
    return entry.second.index <= index && !std::ranges::binary_search(live, entry.first);
  });
}

std::vector<PayloadId> PayloadIndex::before(std::uint64_t segment) const {
  std::vector<PayloadId> found;
  for (const auto& [id, place] : stored_)
    if (place.segment < segment) found.push_back(id);
  return found;
}

std::optional<std::pair<PayloadId, std::string_view>> split_payload(std::string_view body) {
  PayloadId id;
  if (body.size() < id.digest.size()) return std::nullopt;
  std::memcpy(id.digest.data(), body.data(), id.digest.size());
  return std::pair{id, body.substr(id.digest.size())};
}

}  // namespace millrace
