// src/cli/differences.cpp - `millrace differences`: what of Slurm is taken without effect and what is refused, from the
// tables themselves.
#include "cli/commands.h"
#include "cli/dispatch.h"
#include "config/keys.h"

namespace millrace {
namespace {

std::string shown(const OptionText& option) { return "`--" + std::string{option.name} + "`"; }

// One line for all options with the same reason.
std::string by_reason(const std::vector<OptionText>& options, Effect effect, std::string_view unsaid) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const OptionText& option : options) {
    if (option.effect != effect) continue;
    const std::string why{option.why.empty() ? unsaid : option.why};
    std::string* names = nullptr;
    for (auto& [reason, list] : reasons)
      if (reason == why) names = &list;
    if (names == nullptr) names = &reasons.emplace_back(why, "").second;
    *names += (names->empty() ? "" : ", ") + shown(option);
  }
  std::string out;
  for (const auto& [reason, names] : reasons)
    out += (out.empty() ? "" : "; ") + names + (reason.empty() ? "" : ": " + reason);
  return out;
}

std::string keys_with(KeyEffect effect) {
  std::string out;
  for (const ConfigKey& key : config_keys())
    if (key.effect == effect && key.kind != KeyKind::live)
      out += (out.empty() ? "`" : ", `") + std::string{key.name} + '`';
  return out;
}

}  // namespace

std::string differences_text() {
  std::string out = "### Taken without effect\n\n| command | options |\n|---|---|\n";
  for (const CommandRow& row : command_rows())
    if (row.options != nullptr)
      if (const std::string list = by_reason(row.options(), Effect::no_effect, ""); !list.empty())
        out += "| " + std::string{row.name} + " | " + list + " |\n";
  out += "\n### Refused by name\n\n| command | what |\n|---|---|\n";
  for (const CommandRow& row : command_rows())
    if (row.options != nullptr)
      if (const std::string list = by_reason(row.options(), Effect::refused, "not built yet"); !list.empty())
        out += "| " + std::string{row.name} + " | " + list + " |\n";
  std::string verbs;
  for (const CommandWord& word : scontrol_words())
    if (!word.built)
      verbs += (verbs.empty() ? "" : "; ") + ("`" + std::string{word.name}) +
               "`: " + std::string{word.why.empty() ? "not built yet" : word.why};
  for (const CommandWord& word : scontrol_entities())
    if (!word.built) verbs += (verbs.empty() ? "" : "; ") + ("`show " + std::string{word.name}) + "`: not built yet";
  if (!verbs.empty()) out += "| scontrol commands | " + verbs + " |\n";
  std::string commands;
  for (const std::string_view name : refused_commands())
    commands += (commands.empty() ? "`" : ", `") + std::string{name} + '`';
  if (!commands.empty()) out += "| whole commands | " + commands + ": not built yet |\n";
  out += "\n### Keys of slurm.conf\n\nNothing here depends on them, which is said when they are given: " +
         keys_with(KeyEffect::no_effect) + ".\n\n";
  out += "Their default is what is done; another value is said to be not built yet: " + keys_with(KeyEffect::agrees) +
         ".\n\n";
  return out + "Any value is said to be not built yet: " + keys_with(KeyEffect::not_built) + ".\n";
}

int run_differences(Command&) { return print(differences_text()); }

}  // namespace millrace
