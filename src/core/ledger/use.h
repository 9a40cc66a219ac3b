// src/core/ledger/use.h - what live jobs hold of an association or QOS, and what past ones used of it.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>

#include "base/fields.h"
#include "base/fixed_point.h"
#include "base/quantity.h"
#include "core/model/tres.h"

namespace millrace {

// Who holds a limit: an association, a QOS, one user within a QOS, one account within a QOS.
enum class UseOf : std::uint8_t { association, qos, user_in_qos, account_in_qos };

struct UseKey {
  UseOf of{};
  std::uint32_t id = 0;      // AssociationId or QosId
  std::uint32_t member = 0;  // uid, or AssociationId of the account
  auto operator<=>(const UseKey&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "of", self.of);
    visit(2, "id", self.id);
    visit(0, "member", self.member);
  }
};

// The first part is the sum over live jobs. The second is history: it fades with the half life, and is brought up to
// date whenever the rate at which it grows changes; in between it is a function of time (usage_at).
struct Use {
  std::uint32_t running = 0;                 // jobs that hold nodes
  std::uint32_t submitted = 0;               // jobs and array tasks that have not ended
  Tres tres;                                 // what the running ones hold
  Tres rate;                                 // the same times the usage factor of their QOS, in thousandths
  Tres run_rate;                             // rate of those that may go on to their limit (not completing)
  std::array<__int128, tres_max> run_end{};  // run_rate times the second at which each must end

  std::array<Fixed, tres_max> usage{};  // resource-seconds
  Fixed wall;                           // seconds
  Time as_of;                           // of usage and wall; not set: there is none, and it does not grow
  Fixed period_usage;                   // billing-seconds at the start of the period of priorities that as_of lies in
  Time period_at;                       // which is this

  bool operator==(const Use&) const = default;
  bool has_history() const {
    return wall.raw != 0 || std::ranges::any_of(usage, [](Fixed f) { return f.raw != 0; });
  }
  bool is_nothing() const { return running == 0 && submitted == 0 && !has_history(); }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(0, "running", self.running);
    visit(0, "submitted", self.submitted);
    visit(0, "tres", self.tres);
    visit(0, "rate", self.rate);
    visit(0, "run_rate", self.run_rate);
    visit(0, "run_end", self.run_end);
    visit(3, "usage", self.usage);
    visit(4, "wall", self.wall);
    visit(5, "as_of", self.as_of);
    visit(6, "period_usage", self.period_usage);
    visit(7, "period_at", self.period_at);
  }
};

struct Fade {
  std::uint32_t half_life_seconds = 0;  // 0: history does not fade
  std::uint32_t period_seconds = 300;   // PriorityCalcPeriod
};
// The start of the period `now` lies in.
Time period_start(Time now, std::uint32_t period_seconds);

// Brings the history up to `at`.
void settle(Use& use, Fade fade, Time at);

// Resource-seconds used until `now`, running jobs included.
Fixed usage_at(const Use& use, std::size_t slot, Fade fade, Time now);
Fixed wall_at(const Use& use, Fade fade, Time now);
// Billing-seconds used until the start of the present period, whatever has started and ended since: priorities do not
// change with every job.
Fixed usage_of_period(const Use& use, Fade fade, Time start);
// Resource-seconds that running jobs may still use until their limits.
std::int64_t run_seconds_left(const Use& use, std::size_t slot, Time now);

}  // namespace millrace
