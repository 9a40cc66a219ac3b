// src/controller/payload_cache.cpp - see payload_cache.h.
#include "controller/payload_cache.h"

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
  log_.read_payload(id, [this, id, found = std::move(found)](Result<std::string> bytes) mutable {
    if (bytes) remember(id, *bytes);
    found(std::move(bytes));
  });
}

}  // namespace millrace
