// src/adapters/client_words.cpp - see client_words.h.
#include "adapters/client_words.h"

#include <utility>

namespace millrace {
namespace {

std::size_t cost_of(std::size_t bytes) {
  constexpr std::size_t beside = 256;  // of memory, for each: many small ones count too
  return bytes + beside;
}

}  // namespace

bool ClientWords::has_room_for(JobKey job, std::size_t bytes) const {
  const auto queue = queues_.find(job);
  return queues_.empty() || bytes_ + (queue == queues_.end() ? 0 : queue->second.bytes) + cost_of(bytes) <= bytes_max_;
}

void ClientWords::add(JobKey job, std::string word) {
  Queue& queue = queues_[job];
  queue.bytes += cost_of(word.size());
  bytes_ += cost_of(word.size());
  queue.words.push_back(std::move(word));
}

std::optional<std::string> ClientWords::next() {
  if (queues_.empty()) return std::nullopt;
  auto turn = queues_.upper_bound(last_);
  if (turn == queues_.end()) turn = queues_.begin();
  last_ = turn->first;
  std::string word = std::move(turn->second.words.front());
  turn->second.words.pop_front();
  turn->second.bytes -= cost_of(word.size());
  bytes_ -= cost_of(word.size());
  if (turn->second.words.empty()) queues_.erase(turn);
  return word;
}

}  // namespace millrace
