// src/controller/readers/cron_times.h - when a line of a crontab is due next, by the clock on this host's wall.
#pragma once

#include <optional>

#include "base/quantity.h"
#include "core/model/cron.h"

namespace millrace {

// The first full minute after `after` that matches, in local time; nothing: it never comes (30 February). When the
// clock is set forward, a line with hours of its own whose time is left out is due in that minute; when it is set back,
// such a line is due once. Lines of every hour ('*') follow the time that passes.
std::optional<Time> next_cron_time(const CronTimes& times, Time after);

}  // namespace millrace
