// src/cli/manual_pages.cpp - see manual_pages.h.
#include "cli/manual_pages.h"

#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/file_manuals.h"
#include "cli/options/manual.h"
#include "cli/options/manual_html.h"
#include "cli/render/text_forms.h"
#include "config/daemon_options.h"

namespace millrace {
namespace {

constexpr ManualHead millrace_head{
    "millrace", "a cluster resource manager and scheduler", "COMMAND [arguments]",
    "One program under many names: every command of Slurm's is installed as a link to it, and `millrace squeue` is "
    "squeue. Each command answers --help; `millrace man COMMAND` prints its "
    "man page, `millrace man --html COMMAND` the same for the web. The controller is found by slurm.conf, which "
    "SLURM_CONF names."};

std::string millrace_page() {
  std::string own = ".SH COMMANDS OF ITS OWN\n", others = ".SH COMMANDS OF OTHER NAMES\n";
  for (const CommandRow* row : all_command_rows())
    (row->own_name ? others : own) += manual_entry(row->name, row->summary);
  return man_page(millrace_head, {}, own + others);
}

std::string daemon_page(const DaemonCommand& command) {
  std::string out = ".TH " + upper_case(command.name) + " 8 \"\" \"Millrace\" \"Millrace daemons\"\n.SH NAME\n" +
                    std::string{command.name} + " \\- " + troff(command.summary) + "\n.SH SYNOPSIS\n.B " +
                    std::string{command.name} + "\n[options]\n.SH DESCRIPTION\n" + troff(command.description) +
                    " It is also installed as " + troff(command.program) + ".\n.SH OPTIONS\n";
  std::string refused;
  for (const DaemonOption& row : command.options) {
    if (row.refused.empty())
      out += manual_entry(shown_option(row), row.help);
    else
      refused += manual_entry(shown_option(row), row.refused);
  }
  return out + ".SH REFUSED\nThese are known and refused:\n" + refused;
}

}  // namespace

std::vector<ManualName> manual_names() {
  std::vector<ManualName> out{{"millrace", std::string{millrace_head.summary}, 1}};
  for (const CommandRow* row : all_command_rows())
    if (row->manual != nullptr) out.push_back({std::string{row->name}, std::string{row->summary}, 1});
  for (const std::string_view name : file_manual_names())
    out.push_back({std::string{name}, std::string{file_summary(name)}, 5});
  for (const DaemonCommand& daemon : daemon_commands())
    out.push_back({std::string{daemon.name}, std::string{daemon.summary}, 8});
  return out;
}

std::string manual_page(std::string_view name) {
  if (name == "millrace") return millrace_page();
  for (const CommandRow* row : all_command_rows())
    if (row->name == name && row->manual != nullptr) return row->manual();
  for (const DaemonCommand& daemon : daemon_commands())
    if (daemon.name == name || daemon.program == name) return daemon_page(daemon);
  return file_manual(name);
}

std::string manual_index_html() {
  constexpr struct {
    int section;
    const char* title;
  } kinds[] = {{1, "Commands"}, {5, "Configuration files"}, {8, "Daemons"}};
  std::string body = "<h1>Millrace</h1>\n";
  for (const auto& kind : kinds) {
    body += std::string{"<h2>"} + kind.title + "</h2>\n<dl>\n";
    for (const ManualName& page : manual_names())
      if (page.section == kind.section)
        body += "<dt><a href=\"" + page.name + ".html\">" + html_text(page.name) + "</a></dt><dd>" +
                html_text(page.summary) + "</dd>\n";
    body += "</dl>\n";
  }
  return html_page("Millrace", body);
}

}  // namespace millrace
