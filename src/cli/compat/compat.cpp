// src/cli/compat/compat.cpp - see compat.h.
#include "cli/compat/compat.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/ask.h"
#include "cli/render/text_forms.h"
#include "cli/submission.h"

namespace millrace {

int run_as(const Command& command, CommandFunction run, const std::vector<std::string>& words,
           std::vector<std::string> defaults) {
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

void mark_as_pbs(bool interactive) {
  struct Row {
    const char *name, *from;
  };
  constexpr Row copies[] = {
      {"PBS_O_LOGNAME", "LOGNAME"}, {"PBS_O_HOME", "HOME"}, {"PBS_O_PATH", "PATH"}, {"PBS_O_SHELL", "SHELL"},
      {"PBS_O_LANG", "LANG"},       {"PBS_O_MAIL", "MAIL"}, {"PBS_O_TZ", "TZ"}};
  mark_submission("pbs");
  setenv("PBS_ENVIRONMENT", interactive ? "PBS_INTERACTIVE" : "PBS_BATCH", 1);
  setenv("PBS_O_WORKDIR", current_directory().c_str(), 1);
  setenv("PBS_O_HOST", own_host_name().c_str(), 1);
  for (const Row& row : copies)
    if (const char* value = std::getenv(row.from); value != nullptr) setenv(row.name, value, 1);
  setenv("PBS_O_LOGNAME", Names{}.user(getuid()).c_str(), 0);
}

void mark_as_lsf(bool interactive) {
  mark_submission("lsf");
  setenv("LS_SUBCWD", current_directory().c_str(), 1);
  setenv("LSB_SUB_USER", Names{}.user(getuid()).c_str(), 1);
  if (interactive) setenv("LSB_INTERACTIVE", "Y", 1);
}

// "-l resources", and what it comes to.
static std::string term_of(const ForeignText& row) {
  return std::string{row.name} + (row.value.empty() ? "" : ' ' + std::string{row.value});
}

bool asks_help(const Command& command, const ManualHead& head, std::span<const ForeignText> options) {
  for (const std::string_view word : command.words) {
    if (!word.starts_with('-')) return false;  // of the program that is to be run
    if (word == "--version") return answer_common({.version = true}, head, {});
    if (word != "--help") continue;
    std::string out = help_text(head, {});
    for (const ForeignText& row : options) {
      std::string line = "  " + term_of(row);
      line.resize(std::max<std::size_t>(24, line.size() + 1), ' ');
      if (row.refused.empty()) out += line + std::string{row.help} + '\n';
    }
    return print(out), true;
  }
  return false;
}

std::string offered_words(std::span<const OptionText> options) {
  std::string out;
  for (const OptionText& option : options) {
    if (!option.built) continue;
    const bool common = option.name == "help" || option.name == "version";
    out += (out.empty() ? "-" : " -") +
           (option.letter != '\0' ? std::string(1, option.letter) : (common ? "-" : "") + std::string{option.name});
  }
  return out;
}

std::string offered_words(std::span<const ForeignText> options) {
  std::string out = "--help --version";
  for (const ForeignText& row : options)
    if (row.refused.empty()) out += ' ' + std::string{row.name};
  return out;
}

std::string foreign_manual(const ManualHead& head, std::span<const ForeignText> options) {
  std::string works, refused;
  for (const ForeignText& row : options)
    row.refused.empty() ? works += manual_entry(term_of(row), row.help)
                        : refused += manual_entry(row.name, row.refused);
  return man_page(head, {}, works + (refused.empty() ? "" : ".SH REFUSED\nThese are known and refused:\n" + refused));
}

}  // namespace millrace
