// src/core/admission/power_nodes.h - which nodes are powered down and up, and when: idle ones, those a job waits for,
// those somebody names.
#pragma once

#include "core/admission/report_node.h"

namespace millrace {

// How many may still be told to in this minute.
struct PowerBudget {
  std::uint32_t down = unlimited, up = unlimited;
};

// What is due now: nodes that are off by now, or did not come up in time; those to be told to come up or to go down.
std::vector<Event> decide_power(const State& state, Time now, PowerBudget budget = {});
// The next time at which decide_power may have something to say, as far as that is known; for those who do not ask
// every second.
Time next_power_change(const State& state, Time now);
// A job that is to go has nothing on nodes that are not up: it leaves the first of them. To be asked again until there
// is nothing.
std::vector<Event> decide_leave_unpowered(const State& state, JobKey key, Time now);
// POWER_UP, POWER_DOWN, POWER_DOWN_ASAP or POWER_DOWN_FORCE.
bool is_power_word(std::string_view lower_word);
Decision decide_change_power(const State& state, NodeIndex node, std::string_view lower_word, const Actor& actor,
                             Time now);
// When an idle node is powered down if nothing comes; `never` if it stays on.
Time idle_until(const State& state, NodeIndex node, Time now);

}  // namespace millrace
