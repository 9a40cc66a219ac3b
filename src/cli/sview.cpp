// src/cli/sview.cpp - sview: Slurm's windows. There are none here; it says what shows the same.
#include "cli/commands.h"
#include "cli/options/option.h"

namespace millrace {
namespace {

constexpr ManualHead sview_head{
    "sview", "say where the cluster can be watched", "[options]",
    "There are no windows here, and the dashboard is not built yet; sview names the commands that show the same."};

struct SviewDraft {
  Asked asked;
};

using Text = std::string_view;
using enum ArgKind;

// clang-format off
constexpr Option<SviewDraft> sview_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SviewDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SviewDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SviewDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
};
// clang-format on

}  // namespace

std::vector<OptionText> sview_options() {
  return option_texts(std::span<const Option<SviewDraft>>{sview_rows}, any_tool);
}
std::string sview_manual() {
  return man_page(sview_head, option_texts(std::span<const Option<SviewDraft>>{sview_rows}, any_tool));
}

int run_sview(Command& command) {
  SviewDraft draft;
  const std::span<const Option<SviewDraft>> table{sview_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sview_head, option_texts(table, any_tool))) return 0;
  say_error(command,
            "there is no dashboard in this release; smap shows nodes, jobs and partitions on a terminal, squeue -i 5 "
            "and sinfo -i 5 list them again and again");
  return 1;
}

}  // namespace millrace
