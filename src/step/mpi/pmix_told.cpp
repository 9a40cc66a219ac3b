// src/step/mpi/pmix_told.cpp - see pmix_told.h.
#include "step/mpi/pmix_told.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr std::size_t problem_max = 1024;
// The library's variables for a task are some two KiB.
constexpr std::size_t first_words_max = 1u << 20, first_words_max_of_task = 16u << 10;
constexpr std::size_t message_bytes = 64;  // what a message needs besides its text

}  // namespace

bool PmixTold::take(std::string_view bytes) {
  if (!ready_ && bytes.size() > first_words_max + ranks_.size() * first_words_max_of_task) return false;
  wire::FromPmix message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (message.has_problem()) problem_ = message.problem().substr(0, problem_max);
  if (message.has_ready() && !ready_) {
    ready_ = true;
    for (const wire::PmixTask& task : message.ready().tasks())
      if (ranks_.contains(task.task()))
        environments_[task.task()].assign(task.environment().begin(), task.environment().end());
  }
  if (!ready_) return message.has_problem();
  if (message.has_connected() && ranks_.contains(message.connected())) connected_.insert(message.connected());
  if (message.has_finalized() && ranks_.contains(message.finalized())) finalized_.insert(message.finalized());
  if (!message.has_mpi()) return true;
  aborted_ = aborted_ || message.mpi().has_abort();
  outgoing_.push_back(std::move(*message.mutable_mpi()));
  outgoing_bytes_ += bytes.size() + message_bytes;
  return true;
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
