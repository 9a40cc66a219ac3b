// src/cli/console.cpp - see console.h.
#include "cli/console.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/shown_text.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/version.h"
#include "core/model/sluid.h"

namespace millrace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written > 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return false;
  }
  return true;
}

int print(std::string_view text) { return write_all(STDOUT_FILENO, shown_lines(text)) ? 0 : 1; }
int print_bytes(std::string_view bytes) { return write_all(STDOUT_FILENO, bytes) ? 0 : 1; }

void say_plain(std::string_view text) { write_all(STDERR_FILENO, shown_lines(text) + '\n'); }
void say_error(const Command& command, std::string_view text) {
  say_plain(command.name + ": error: " + std::string{text});
}
void say_info(const Command& command, std::string_view text) {
  if (!command.quiet) say_plain(command.name + ": " + std::string{text});
}

void say_more(const Command& command, int verbose, std::string_view text) {
  if (command.verbose < verbose || command.quiet) return;
  const std::string number = verbose > 2 ? std::to_string(verbose - 1) + ": " : ":  ";
  say_plain(command.name + ": " + (verbose > 1 ? "debug" + number : "") + std::string{text});
}

static int code_from(const char* variable, int otherwise) {
  const char* given = std::getenv(variable);
  const auto number = given == nullptr ? std::nullopt : parse_integer(given);
  return number && *number > 0 && *number < 256 ? static_cast<int>(*number) : otherwise;
}

int error_code() { return code_from("SLURM_EXIT_ERROR", 1); }
int immediate_code() { return code_from("SLURM_EXIT_IMMEDIATE", error_code()); }

int say_usage_error(const Command& command, const Error& error) {
  if (error.code == Errc::not_found) {  // getopt's own line has no "error:"
    say_plain(command.name + ": " + error.story);
    say_plain("Try \"" + command.name + " --help\" for more information");
    return 1;
  }
  say_error(command, error.story);
  return error.code == Errc::invalid ? 255 : error_code();
}

Result<SessionOptions> session_options(const ClientSettings& settings) {
  return SessionOptions{settings.socket_path, seconds(settings.message_timeout_seconds),
                        settings.message_timeout_seconds < 2 ? seconds(settings.message_timeout_seconds) : seconds(2),
                        settings.cluster_name, settings.controller_port};
}

Result<SessionOptions> session_options(const ClientSettings& settings, const Command& command, int verbose) {
  auto options = session_options(settings);
  if (options) options->tell = [&command, verbose](const std::string& text) { say_more(command, verbose, text); };
  return options;
}

void say_trouble(const Command& command, const Session& session) {
  if (!session.trouble().empty()) say_error(command, "no controller at " + session.trouble());
}

bool answer_common(const Asked& asked, const ManualHead& head, std::span<const OptionText> options) {
  if (asked.version)
    print(std::string{"slurm "} + slurm_version + '\n');
  else if (asked.help)
    print(help_text(head, options));
  else if (asked.usage)
    print(usage_text(head, options));
  return asked.version || asked.help || asked.usage;
}

std::string own_host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string_view whole = name;
  return std::string{whole.substr(0, whole.find('.'))};
}

// The controller knows which number goes with it.
static Result<std::uint32_t> number_of_sluid(std::string_view text) {
  const auto key = parse_sluid(text);
  if (!key) return fail(Errc::refused, "SLUID is invalid: " + std::string{text});
  MR_TRY(const ClientSettings settings, read_client_settings());
  MR_TRY(const SessionOptions options, session_options(settings));
  Session session(options);
  wire::Request request;
  request.mutable_number_job()->set_key(*key);
  const auto reply = ask_all(session, request);
  if (!reply) return reply.error().code == Errc::refused ? fail(Errc::not_found, "") : std::unexpected(reply.error());
  return reply->job_number().job_id();
}

static Result<std::uint32_t> parse_job_number(std::string_view text) {
  if (looks_like_sluid(text)) return number_of_sluid(text);
  if (text.empty() || text.size() > 10 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return fail(Errc::invalid, "");
  const auto id = parse_integer(text);
  if (!id || *id < 1 || *id >= UINT32_MAX) return fail(Errc::invalid, "");
  return static_cast<std::uint32_t>(*id);
}

std::string told(const Error& error, const std::string& usual) { return error.story.empty() ? usual : error.story; }

Result<ParsedJobName> parse_job_name(std::string_view text) {
  const std::size_t underscore = text.find_first_of("_+");
  MR_TRY(const std::uint32_t id, parse_job_number(text.substr(0, underscore)));
  ParsedJobName out{id, {}};
  if (underscore == std::string_view::npos) return out;
  std::string_view tasks = text.substr(underscore + 1);
  if (text[underscore] == '+') {
    if (tasks.empty() || tasks.size() > 9 || tasks.find_first_not_of("0123456789") != std::string_view::npos)
      return fail(Errc::invalid, "");
    out.tasks = text.substr(underscore);
    return out;
  }
  if (tasks == "*") return out;  // all of them
  if (tasks.size() > 2 && tasks.front() == '[' && tasks.back() == ']') tasks = tasks.substr(1, tasks.size() - 2);
  if (tasks.empty() || tasks.find_first_not_of("0123456789,-:") != std::string_view::npos)
    return fail(Errc::invalid, "");
  out.tasks = tasks;
  return out;
}

std::optional<std::uint32_t> parse_user(std::string_view text) {
  if (const auto number = parse_integer(text); number && *number >= 0 && *number < UINT32_MAX)
    return static_cast<std::uint32_t>(*number);
  const passwd* entry = getpwnam(std::string{text}.c_str());
  if (entry == nullptr) return std::nullopt;
  return entry->pw_uid;
}

std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (depth > 0 || (text[i] != ',' && text[i] != ' '))) continue;
    if (i > begin) out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

}  // namespace millrace
