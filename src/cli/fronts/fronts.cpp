// src/cli/fronts/fronts.cpp - see fronts.h.
#include "cli/fronts/fronts.h"

#include "cli/ask.h"

namespace millrace {

int run_as(const Command& command, CommandFunction run, const std::vector<std::string>& words, std::vector<std::string> defaults) {
  Command other;
  other.name = command.name;
  other.submit_line = command.submit_line;
  other.defaults = std::move(defaults);
  for (const std::string& word : words) other.words.emplace_back(word);
  return run(other);
}

Result<wire::Reply> ask_controller(const Command& command, wire::Request& request) {
  const auto settings = read_client_settings();
  if (!settings) {
    say_error(command, settings.error().story);
    return std::unexpected(settings.error());
  }
  Session session(*session_options(*settings));
  auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_error(command, reply.error().story);
  }
  return reply;
}

std::string job_number(std::string_view text) {
  text = text.substr(0, text.find('.'));
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::string{text};
  const std::string_view task = text.substr(open + 1, text.find(']') - open - 1);
  return std::string{text.substr(0, open)} + (task.empty() ? "" : "_" + std::string{task});
}

bool asks_help(const Command& command, const ManualHead& head) {
  for (const std::string_view word : command.words) {
    if (word == "--help") return print(help_text(head, {})), true;
    if (word == "--version") return answer_common({.version = true}, head, {});
  }
  return false;
}

}  // namespace millrace
