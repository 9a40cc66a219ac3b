// src/apps/millrace_log.cpp - `millrace log dump DIR` and `millrace log repair DIR`: which directory is meant, and what
// is said at the end.
#include <cstdio>

#include "apps/admin_commands.h"
#include "apps/log_directory.h"
#include "apps/log_dump.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr FlagRow rows[] = {
    {"--from", "INDEX", "leave out what comes before this event"},
    {"--payloads", "", "show scripts and environments too; they may hold secrets of users"},
    {"--cut", "", "repair: drop everything behind the first damaged place, and keep a copy of the log"},
    {"--accept-loss", "", "repair: go on without acknowledged events that the end of the log has lost"},
    {"--help", "", "print this help"},
};
constexpr std::string_view usage =
    "millrace log dump DIR [--from INDEX] [--payloads]\n"
    "  DIR is a directory of segments, or one above it: StateSaveLocation, or the directory of `millrace up`.\n"
    "  Prints one line per record: file, offset, index, type, size and, in words, what it says. Changes nothing.\n"
    "millrace log repair DIR [--cut | --accept-loss]\n"
    "  Says whether the log can be read and whether every law of the ledger holds, and what the next start of the\n"
    "  controller will put aside. Changes nothing without --cut or --accept-loss.";

}  // namespace

int run_log(const Words& words) {
  const auto flags = read_flags(words, rows);
  if (!flags) return say_failure("log", flags.error().story);
  if (flags->has("--help")) return std::fputs(flag_help(usage, rows).c_str(), stdout) < 0;
  if (flags->rest.size() == 2 && flags->rest[0] == "repair")
    return run_log_repair(std::string{flags->rest[1]}, flags->has("--cut"), flags->has("--accept-loss"));
  if (flags->rest.size() != 2 || flags->rest[0] != "dump" || flags->has("--cut") || flags->has("--accept-loss"))
    return say_failure("log", "expected `millrace log dump DIR` or `millrace log repair DIR [--cut | --accept-loss]`");
  LogDumpOptions options;
  options.payloads = flags->has("--payloads");
  if (flags->has("--from")) {
    const auto from = parse_integer(flags->text("--from"));
    if (!from || *from < 0)
      return say_failure("log", "--from must be the index of an event, not '" + flags->text("--from") + "'");
    options.from = static_cast<std::uint64_t>(*from);
  }
  const auto files = find_log(std::string{flags->rest[1]});
  if (!files) return say_failure("log", files.error().story);
  const auto counts = dump_log(**files, options, [](std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  });
  if (!counts) return say_failure("log", counts.error().story);
  std::printf("# %llu events up to index %llu, %llu payloads, %llu damaged places\n",
              static_cast<unsigned long long>(counts->events), static_cast<unsigned long long>(counts->last_index),
              static_cast<unsigned long long>(counts->payloads), static_cast<unsigned long long>(counts->damaged));
  if (counts->damaged > 0)
    std::printf(
        "# damage at the very end of the last segment is an unfinished write, which the next start cuts; any other "
        "makes the controller refuse to start\n");
  if (std::fflush(stdout) != 0) return say_failure("log", "standard output could not be written");
  return counts->damaged > 0 ? 1 : 0;
}

}  // namespace millrace
