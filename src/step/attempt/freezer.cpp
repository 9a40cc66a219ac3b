// src/step/attempt/freezer.cpp - see freezer.h.
#include "step/attempt/freezer.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "step/attempt/proc.h"

namespace millrace {

namespace {

constexpr std::int64_t time_to_stop_by_itself_us = 2'000'000;
constexpr std::int64_t look_again_us = 100'000;

void signal_below(int number) {
  for (const pid_t pid : descendants(getpid())) kill(pid, number);
}

}  // namespace

void Freezer::freeze(std::int64_t now_us) {
  was_quiet_ = false;
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
  const bool quiet = std::ranges::all_of(processes, is_stopped);
  for (const pid_t pid : processes) kill(pid, SIGSTOP);
  // Twice in a row: a child forked while we looked is found by the next look, after its parent has stopped.
  due_us_ = quiet && was_quiet_ ? INT64_MAX : now_us + look_again_us;
  was_quiet_ = quiet;
}

}  // namespace millrace
