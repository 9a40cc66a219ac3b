// src/step/step_manager/waiting_steps.cpp - see waiting_steps.h.
#include "step/step_manager/waiting_steps.h"

#include <algorithm>
#include <utility>

#include "wire/limits.h"
#include "wire/step_busy.h"

namespace millrace {
namespace {

constexpr std::size_t waiting_max = 10'000;
constexpr std::int64_t notice_us = 200'000;

}  // namespace

bool is_same_request(const wire::StepRequest& a, const wire::StepRequest& b) {
  const std::string& secret = a.ask().step().stdio().secret();
  return !secret.empty() && secret == b.ask().step().stdio().secret();
}

std::size_t memory_of(const wire::StepRequest& request) {
  return request.ByteSizeLong() + extra_memory_of(request.ask().step());
}

std::vector<WaitingSteps::Waiting>::const_iterator WaitingSteps::find(const wire::StepRequest& request) const {
  return std::ranges::find_if(waiting_, [&](const Waiting& one) { return is_same_request(one.request, request); });
}

bool WaitingSteps::knows(const wire::StepRequest& request) const { return find(request) != waiting_.end(); }

bool WaitingSteps::keep(const wire::StepRequest& request, std::int64_t now_us) {
  auto place = waiting_.begin() + (find(request) - waiting_.begin());
  const bool is_new = place == waiting_.end();
  const std::size_t size = memory_of(request);
  std::size_t all = size;
  for (const Waiting& one : waiting_) all += one.bytes;
  if (!is_new) all -= place->bytes;
  if (all > step_manager_backlog_max || (is_new && waiting_.size() >= waiting_max)) {
    if (!is_new) waiting_.erase(place);
    return false;
  }
  if (is_new) place = waiting_.emplace(place);
  *place = {request, size};
  if (tell_us_ == INT64_MAX) tell_us_ = now_us + notice_us;
  return true;
}

void WaitingSteps::client_left(std::uint64_t client) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.request.client() == client; });
}

std::vector<wire::StepRequest> WaitingSteps::take_all() {
  std::vector<wire::StepRequest> out;
  for (Waiting& one : std::exchange(waiting_, {})) out.push_back(std::move(one.request));
  return out;
}

std::vector<wire::StepRequest> WaitingSteps::take_untold() {
  tell_us_ = INT64_MAX;
  std::vector<wire::StepRequest> out;
  for (Waiting& one : waiting_)
    if (!std::exchange(one.told, true)) out.push_back(one.request);
  return out;
}

}  // namespace millrace
