// src/controller/cron_times.h - when a line of a crontab is due next, by the clock on this host's wall.
#pragma once

#include <optional>

#include "base/quantity.h"
#include "core/model/cron.h"

namespace millrace {

// The first full minute after `after` that matches, in local time; nothing: none within five years (30 February).
std::optional<Time> next_cron_time(const CronTimes& times, Time after);

}  // namespace millrace
