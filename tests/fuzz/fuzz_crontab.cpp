// tests/fuzz/fuzz_crontab.cpp - the file of scrontab, and the times of its lines.
#include "cli/crontab_file.h"
#include "controller/readers/cron_times.h"
#include "core/model/cron.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(crontab) {
  fuzz::use(parse_cron(input));
  const auto entries = parse_crontab(input);
  if (!entries) return;
  for (const CrontabEntry& entry : *entries) {
    fuzz::use(script_of(entry));
    if (const auto times = parse_cron(entry.times)) fuzz::use(next_cron_time(*times, Time{1'763'190'000'000'000}));
  }
}
