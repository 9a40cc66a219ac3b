// src/step/freezer.cpp - see freezer.h.
#include "step/freezer.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "step/proc.h"

namespace millrace {

namespace {

constexpr std::int64_t time_to_stop_by_itself_us = 2'000'000;
constexpr std::int64_t look_again_us = 100'000;

void signal_below(int number) {
  for (const pid_t pid : descendants(getpid())) kill(pid, number);
}

}  // namespace

void Freezer::freeze(std::int64_t now_us) {
  signal_below(SIGTSTP);
  due_us_ = now_us + time_to_stop_by_itself_us;
}

void Freezer::thaw() {
  due_us_ = INT64_MAX;
  signal_below(SIGCONT);
}

void Freezer::on_time(std::int64_t now_us) {
  if (now_us < due_us_) return;
  const auto processes = descendants(getpid());
  for (const pid_t pid : processes) kill(pid, SIGSTOP);
  due_us_ = std::ranges::all_of(processes, is_stopped) ? INT64_MAX : now_us + look_again_us;
}

}  // namespace millrace
