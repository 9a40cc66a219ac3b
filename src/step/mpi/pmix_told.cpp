// src/step/mpi/pmix_told.cpp - see pmix_told.h.
#include "step/mpi/pmix_told.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr std::size_t problem_max = 1024;

}  // namespace

void PmixTold::take(std::string_view bytes) {
  wire::FromPmix message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  if (message.has_ready() && !ready_) {
    ready_ = true;
    for (const wire::PmixTask& task : message.ready().tasks())
      if (ranks_.contains(task.task()))
        environments_[task.task()].assign(task.environment().begin(), task.environment().end());
  }
  if (message.has_problem()) problem_ = message.problem().substr(0, problem_max);
  if (message.has_connected() && ranks_.contains(message.connected())) connected_.insert(message.connected());
  if (message.has_finalized() && ranks_.contains(message.finalized())) finalized_.insert(message.finalized());
  if (!message.has_mpi()) return;
  aborted_ = aborted_ || message.mpi().has_abort();
  outgoing_.push_back(message.mpi());
}

const std::vector<std::string>* PmixTold::environment(std::uint32_t rank) const {
  const auto found = environments_.find(rank);
  return found == environments_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> PmixTold::unfinished_task() const {
  const auto found = std::ranges::find_if(connected_, [&](std::uint32_t rank) { return !finalized_.contains(rank); });
  return found == connected_.end() ? std::nullopt : std::optional{*found};
}

void PmixTold::abort(std::uint32_t rank, const std::string& text) {
  if (std::exchange(aborted_, true)) return;
  wire::MpiAbort& out = *outgoing_.emplace_back().mutable_abort();
  out.set_task(rank);
  out.set_exit_code(1);
  out.set_text(text);
}

}  // namespace millrace
