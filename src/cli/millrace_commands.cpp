// src/cli/millrace_commands.cpp - the commands that are Millrace's own: check, man, help.
#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/manual_pages.h"
#include "cli/options/manual_html.h"
#include "cli/version.h"
#include "config/slurm_conf.h"
#include "config/suggestions.h"

namespace millrace {
namespace {

void list_notes(std::string& out, const std::vector<ConfigurationNote>& notes) {
  for (const ConfigurationNote& note : notes)
    out += note.file + ':' + std::to_string(note.line) + ": " + note.key + ": " + note.text + '\n';
}

}  // namespace

int run_check(Command& command) {
  const std::string path = command.words.empty() ? configuration_path() : std::string{command.words[0]};
  const auto lines = read_conf_lines(path);
  if (!lines) {
    say_error(command, lines.error().story);
    return 1;
  }
  const auto companions = read_companions(path, *lines);
  if (!companions) {
    say_error(command, companions.error().story);
    return 1;
  }
  const ConfigurationReport report = parse_configuration(*lines, path, *companions);
  const Configuration& c = report.configuration;
  std::string out;
  for (const std::string& error : report.errors) out += error + '\n';
  list_notes(out, c.adjusted);
  list_notes(out, c.unknown);
  list_notes(out, c.without_effect);
  list_notes(out, c.not_built);
  if (report.errors.empty())
    for (const std::string& line : suggestions(c, this_host())) out += "suggestion: " + line + '\n';
  out += path + ": " + std::to_string(report.errors.size()) + " errors, " + std::to_string(c.unknown.size()) +
         " unknown keys, " + std::to_string(c.not_built.size()) + " keys not built yet, " +
         std::to_string(c.without_effect.size()) + " without effect; cluster " + c.cluster_name + ", " +
         std::to_string(c.nodes.size()) + " nodes, " + std::to_string(c.partitions.size()) + " partitions\n";
  print(out);
  return report.errors.empty() && c.unknown.empty() ? 0 : 1;
}

int run_man(Command& command) {
  const bool html = !command.words.empty() && command.words[0] == "--html";
  const std::vector<std::string_view> names(command.words.begin() + (html ? 1 : 0), command.words.end());
  if (html && names.empty()) return print(manual_index_html());
  if (names.size() == 1 && names[0] == "--list") {
    std::string out;
    for (const ManualName& page : manual_names()) out += page.name + ' ' + std::to_string(page.section) + '\n';
    return print(out);
  }
  if (names.size() == 1)
    if (const std::string page = manual_page(names[0]); !page.empty()) return print(html ? manual_html(page) : page);
  std::string known;
  for (const ManualName& page : manual_names()) known += ' ' + page.name;
  say_error(command, "name one of:" + known + "; --list lists them, --html before the name makes a page of the web");
  return 1;
}

int run_help(Command& command) {
  std::string out = std::string{"Millrace "} + millrace_version +
                    ", a cluster resource manager and scheduler\n\nUsage: millrace COMMAND [arguments]\n\n";
  for (const CommandRow& row : command_rows()) out += help_line(row);
  return print(out + command.more_help +
               "\nEach command answers --help; `millrace man COMMAND` prints its man page.\n");
}

}  // namespace millrace
