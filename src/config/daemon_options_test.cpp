// src/config/daemon_options_test.cpp - the rows of daemons' options are what is read and what is printed.
#include "config/daemon_options.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

Result<std::vector<DaemonWord>> read(std::string_view daemon, std::vector<std::string> words) {
  words.insert(words.begin(), std::string{daemon});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return read_daemon_line(daemon_command(daemon), static_cast<int>(words.size()), arguments.data());
}

std::string text(const Result<std::vector<DaemonWord>>& line) {
  if (!line) return line.error().story;
  std::string out;
  for (const DaemonWord& word : *line)
    out += (out.empty() ? "" : " ") + word.key + (word.value.empty() ? "" : "=" + word.value);
  return out;
}

TEST(DaemonOptions, Are_read_in_any_form_getopt_knows) {
  EXPECT_EQ(text(read("slurmctld", {"-Dvv", "-f", "/a", "-L/b", "--systemd", "--version"})),
            "D v v f=/a L=/b systemd V");
  EXPECT_EQ(text(read("slurmd", {"--conf=CPUs=4", "-Z", "--key", "/k", "-N", "n1"})), "conf=CPUs=4 Z key=/k N=n1");
}

TEST(DaemonOptions, What_is_wrong_is_named) {
  EXPECT_EQ(text(read("slurmctld", {"-q"})), "there is no option '-q'");
  EXPECT_EQ(text(read("slurmctld", {"--colour"})), "there is no option '--colour'");
  EXPECT_EQ(text(read("slurmctld", {"-f"})), "-f needs a value");
  EXPECT_EQ(text(read("slurmctld", {"start"})), "unexpected argument 'start'");
  const auto refused = read("slurmd", {"--conf-server", "h"});
  EXPECT_EQ(text(refused), "--conf-server HOST is refused in Millrace: every node has its slurm.conf; -f names it");
  EXPECT_EQ(refused.error().code, Errc::refused);
}

TEST(DaemonOptions, Help_has_every_row_that_works_and_no_row_stands_twice) {
  for (const DaemonCommand& command : daemon_commands()) {
    const std::string usage = daemon_usage(command);
    std::set<std::string> keys;
    for (const DaemonOption& row : command.options) {
      EXPECT_EQ(usage.find("\n  " + shown_option(row) + ' ') != std::string::npos, row.refused.empty())
          << command.name << ' ' << shown_option(row);
      EXPECT_TRUE(keys.insert(row.key()).second) << row.key();
    }
  }
}

}  // namespace
}  // namespace millrace
