// src/cli/console.h - what a command is given and where it speaks: its words, stdout in one write, stderr in Slurm's
// form.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/manual.h"
#include "client/session.h"
#include "config/client_settings.h"

namespace millrace {

struct Command {
  std::string name;                     // as it prefixes messages: "sbatch"
  std::vector<std::string_view> words;  // without the name
  std::string submit_line;              // all of them, as typed
  bool quiet = false;                   // -Q: info lines are dropped
  int verbose = 0;                      // -v, how often
  std::vector<std::string> defaults;    // options of a front end: below everything the user or the script says
  std::string more_help;                // lines `millrace help` adds for commands of other libraries
};

bool write_all(int fd, std::string_view text);
// To stdout; 0, or 1 when it could not be written. What others chose (names, paths, comments) may be in it: nothing
// that a terminal obeys gets through but ends of lines and tabs.
int print(std::string_view text);
int print_bytes(std::string_view bytes);  // the same as it is: what a user stored and asks back

void say_error(const Command& command, std::string_view text);  // "sbatch: error: text"
void say_info(const Command& command, std::string_view text);   // "sbatch: text", unless quiet
// For -v ("sbatch: text"), -vv ("sbatch: debug:  text") and so on; not without.
void say_more(const Command& command, int verbose, std::string_view text);
void say_plain(std::string_view text);  // to stderr as it is
int immediate_code();                   // where nodes were to be there at once: SLURM_EXIT_IMMEDIATE, or error_code()
int error_code();                       // 1, or SLURM_EXIT_ERROR

// The answer to a command line that could not be read: getopt's words with the hint, or ours; returns the exit code.
int say_usage_error(const Command& command, const Error& error);

// The session to the controller slurm.conf names; a problem with the file is said and ends the command with 1.
Result<SessionOptions> session_options(const ClientSettings& settings);
// The same, and what goes over the connection is said from so many -v on.
Result<SessionOptions> session_options(const ClientSettings& settings, const Command& command, int verbose = 2);
// Which addresses were tried, when that is what went wrong.
void say_trouble(const Command& command, const Session& session);

// Help, usage and version are the same for all: true when one was asked for and has been printed.
struct Asked {
  bool help = false, usage = false, version = false;
};
bool answer_common(const Asked& asked, const ManualHead& head, std::span<const OptionText> options);

std::string own_host_name();
// "12", "12_3", "12_[1-3]", "12+1" -> id and tasks ("+1" for a component). A SLUID stands for the number of its job:
// the controller is asked for it.
struct ParsedJobName {
  std::uint32_t id = 0;
  std::string tasks;
};
Result<ParsedJobName> parse_job_name(std::string_view text);
// What a command says of a job id that is none, unless the error says more: of a SLUID, or of a controller that does
// not answer.
std::string told(const Error& error, const std::string& usual);
// A name or number of a user; empty when there is none.
std::optional<std::uint32_t> parse_user(std::string_view text);
// Job ids in one text: commas outside brackets separate.
std::vector<std::string_view> split_outside_brackets(std::string_view text);

}  // namespace millrace
