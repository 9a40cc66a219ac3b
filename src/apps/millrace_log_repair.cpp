// src/apps/millrace_log_repair.cpp - `millrace log repair DIR`: says what is wrong with a log and what a start will do
// about it; with --cut it drops what lies behind a damaged place, with --accept-loss
// it goes on without an end that is gone.
#include <cstdio>

#include "apps/admin_commands.h"
#include "apps/log_directory.h"
#include "apps/log_repair.h"
#include "store/high_mark.h"

namespace millrace {
namespace {

int say_laws(const State& state, const std::vector<SkippedEvent>& skipped) {
  const auto repair = decide_repair(state, Time{}, skipped);
  if (!repair) {
    say("every law of the ledger holds: there is nothing to repair");
    return 0;
  }
  for (const std::string& line : describe_repair(state, *repair)) say(line);
  if (repair->still_broken)
    return say_failure("log",
                       "even then a law is broken, and the controller refuses to start: " + *repair->still_broken);
  say("the controller does this at its next start, and keeps the log as it is now beside it");
  return 1;
}

int cut(const std::string& path, const LogDamage& damage) {
  const auto files = RealFilesystem::open_directory(path);
  if (!files) return say_failure("log", files.error().story);
  if (const auto locked = (*files)->lock(); !locked)
    return say_failure("log", "a controller uses this log; stop it first: " + locked.error().story);
  const auto kept = keep_log(path, damage.next_index, true);
  if (!kept) return say_failure("log", "keeping a copy of the log: " + kept.error().story);
  say("the log as it was is kept in " + *kept);
  if (const auto done = cut_log(**files, damage); !done) return say_failure("log", done.error().story);
  say("cut: the log ends with event " + std::to_string(damage.next_index - 1) + " now");
  std::vector<SkippedEvent> skipped;
  const auto state = recover_state(**files, skipped);
  return state ? say_laws(*state, skipped) : say_failure("log", "it still cannot be read: " + state.error().story);
}

// Everything can be read, and the end of what was acknowledged is not there.
int accept_loss(const std::string& path, std::uint64_t acknowledged) {
  const auto files = RealFilesystem::open_directory(path);
  if (!files) return say_failure("log", files.error().story);
  if (const auto locked = (*files)->lock(); !locked)
    return say_failure("log", "a controller uses this log; stop it first: " + locked.error().story);
  const auto kept = keep_log(path, acknowledged, true);
  if (!kept) return say_failure("log", "keeping a copy of the log: " + kept.error().story);
  say("the log as it was is kept in " + *kept);
  if (const auto done = forget_high_mark(**files); !done) return say_failure("log", done.error().story);
  std::vector<SkippedEvent> skipped;
  const auto state = recover_state(**files, skipped);
  if (!state) return say_failure("log", "it still cannot be read: " + state.error().story);
  say("the log ends with event " + std::to_string(state->version) +
      " now; numbers of jobs that are lost will be given " + "out again");
  return say_laws(*state, skipped);
}

}  // namespace

int run_log_repair(const std::string& given, bool may_cut, bool accepts_loss) {
  const auto path = find_log_path(given);
  if (!path) return say_failure("log", path.error().story);
  const auto files = RealFilesystem::open_directory(*path, true);
  if (!files) return say_failure("log", files.error().story);
  std::vector<SkippedEvent> skipped;
  const auto state = recover_state(**files, skipped);
  if (state) return say_laws(*state, skipped);
  say(state.error().story);
  const auto acknowledged = read_high_mark(**files);
  if (acknowledged && recover_state(**files, skipped, true)) {  // nothing else is wrong
    if (accepts_loss) return accept_loss(*path, *acknowledged);
    say("what is there can be read; restore the log from where it is whole, or `millrace log repair " + given +
        " --accept-loss` goes on without what is missing and keeps a copy of the log");
    return 1;
  }
  const auto found = find_damage(**files);
  if (!found) return say_failure("log", found.error().story);
  if (found->empty()) return say_failure("log", "every record can be read; restore the log from a backup");
  const LogDamage& damage = found->front();
  say(damage.file + ": at byte " + std::to_string(damage.offset) + ": " + damage.story);
  if (damage.snapshot) return say_failure("log", "a snapshot cannot be mended; restore the log from a backup");
  say("the events before " + std::to_string(damage.next_index) + " can be read; " +
      std::to_string(damage.events_after) + " behind the damage would be lost, and what cannot be counted");
  if (may_cut) return cut(*path, damage);
  say("`millrace log repair " + given + " --cut` cuts the log there and keeps a copy of all of it");
  return 1;
}

}  // namespace millrace
