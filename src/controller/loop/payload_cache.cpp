// src/controller/loop/payload_cache.cpp - see payload_cache.h.
#include "controller/loop/payload_cache.h"

namespace millrace {

void PayloadCache::remember(const PayloadId& id, std::string bytes) {
  if (bytes.size() > bytes_max_ / 4) return;
  bytes_ += bytes.size();
  const auto [it, fresh] = kept_.try_emplace(id, std::move(bytes));
  if (!fresh) {
    bytes_ -= it->second.size();
    return;
  }
  order_.push_back(id);
  while (bytes_ > bytes_max_) {
    const auto oldest = kept_.find(order_.front());
    bytes_ -= oldest->second.size();
    kept_.erase(oldest);
    order_.pop_front();
  }
}

void PayloadCache::find(const PayloadId& id, Found found) {
  if (id == PayloadId{}) return found(std::string{});
  if (const auto it = kept_.find(id); it != kept_.end()) return found(it->second);
  std::vector<Found>& wanted = wanted_[id];
  wanted.push_back(std::move(found));
  if (wanted.size() > 1) return;
  log_.read_payload(id, [this, id](Result<std::string> bytes) {
    if (bytes) remember(id, *bytes);
    auto all = wanted_.extract(id);
    for (Found& each : all.mapped()) each(bytes);
  });
}

}  // namespace millrace
