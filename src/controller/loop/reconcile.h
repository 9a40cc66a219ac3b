// src/controller/loop/reconcile.h - what must this node be told, given what it last reported? Derived anew each time,
// nothing remembered.
#pragma once

#include <variant>
#include <vector>

#include "core/ledger/state.h"
#include "ports/resource_manager.h"

namespace millrace {

struct LaunchIntent {
  JobKey key;
  Attempt attempt;
};
enum class KillWhy : std::uint8_t { cancelled, time_limit, requeued, not_wanted, preempted };
struct KillIntent {
  JobKey key;
  Attempt attempt;
  KillWhy why{};
  std::optional<std::uint32_t> step{};
};
struct ForgetIntent {
  JobKey key;
  Attempt attempt;
  std::optional<std::uint32_t> step{};
};
// Stop its processes, or let them go on.
struct SuspendIntent {
  JobKey key;
  Attempt attempt;
  bool suspended = false;
};
// The job gave the node up, and nothing of it is left there.
struct LetGoIntent {
  JobKey key;
  Attempt attempt;
};
using Intent = std::variant<LaunchIntent, KillIntent, ForgetIntent, SuspendIntent, LetGoIntent>;

// `state` must be durable: an intent about a fact that could still be lost would run a job twice.
std::vector<Intent> difference(const State& state, NodeIndex here, const std::vector<AttemptReport>& reported);

}  // namespace millrace
