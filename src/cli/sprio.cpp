// src/cli/sprio.cpp - what the priority of each waiting job is made of.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/one_cluster.h"
#include "cli/options/option.h"
#include "cli/render/priority_columns.h"
#include "core/model/sluid.h"

namespace millrace {
namespace {

constexpr ManualHead sprio_head{
    "sprio", "show what the priorities of waiting jobs are made of", "[options]",
    "Shows for each waiting job what age, fair share, size, partition, QOS and resources add to its priority."};

struct SprioDraft {
  Asked asked;
  std::optional<std::string> format, jobs, users, partitions, clusters;
  std::string sort;
  int verbose = 0;
  bool long_form = false, norm = false, weights = false, no_header = false, list_columns = false;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> on(SprioDraft& d, Text) {
  d.*field = true;
  return {};
}
template <auto field>
Result<void> keep(SprioDraft& d, Text v) {
  d.*field = std::string{v};
  return {};
}

// clang-format off
constexpr Option<SprioDraft> sprio_rows[] = {
    {"format", 'o', required, "<format>", any_tool, "", "", "columns by letter, as in %i %Y %A", keep<&SprioDraft::format>},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](SprioDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"helpformat", '\0', none, "", any_tool, "", "", "list the columns of -o", on<&SprioDraft::list_columns>},
    {"jobs", 'j', required, "<ids>", any_tool, "", "", "these jobs", keep<&SprioDraft::jobs>},
    {"long", 'l', none, "", any_tool, "", "", "all factors", on<&SprioDraft::long_form>},
    {"noheader", 'h', none, "", any_tool, "", "", "no header", on<&SprioDraft::no_header>},
    {"norm", 'n', none, "", any_tool, "", "", "factors as parts of one", on<&SprioDraft::norm>},
    {"partition", 'p', required, "<names>", any_tool, "", "", "jobs of these partitions", keep<&SprioDraft::partitions>},
    {"sort", 'S', required, "<letters>", any_tool, "", "", "order by these columns; - before one reverses it", keep<&SprioDraft::sort>},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SprioDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"user", 'u', required, "<names>", any_tool, "", "", "jobs of these users", keep<&SprioDraft::users>},
    {"verbose", 'v', none, "", any_tool, "", "", "say what was asked for, and what is sent", [](SprioDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SprioDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"weights", 'w', none, "", any_tool, "", "", "the weights instead of jobs", on<&SprioDraft::weights>},
    {"cluster", '\0', required, "<name>", any_tool, "", "", "the same as --clusters", keep<&SprioDraft::clusters>},
    {"clusters", 'M', required, "<name>", any_tool, "SLURM_CLUSTERS", "", "this cluster: there is one", keep<&SprioDraft::clusters>},
    {"federation", '\0', none, "", any_tool, "", "", "accepted", [](SprioDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "there is one cluster"},
    {"local", '\0', none, "", any_tool, "", "", "accepted", [](SprioDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "there is one cluster"},
    {"sibling", '\0', none, "", any_tool, "", "", "accepted", [](SprioDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "there is one cluster"},
};
// clang-format on

std::set<std::string, std::less<>> words_of(const std::optional<std::string>& text) {
  std::set<std::string, std::less<>> out;
  if (text)
    for (const Text word : split(*text, ','))
      if (!trim(word).empty()) out.emplace(trim(word));
  return out;
}

std::vector<PriorityRow> choose(const wire::Priorities& all, const SprioDraft& draft) {
  const auto jobs = words_of(draft.jobs), users = words_of(draft.users), partitions = words_of(draft.partitions);
  std::vector<PriorityRow> out;
  for (const wire::PriorityView& job : all.jobs()) {
    if (!jobs.empty() && !jobs.contains(job.shown_id()) && !jobs.contains(std::to_string(job.job_id())) &&
        !jobs.contains(sluid_text(job.job_key_low())))
      continue;
    if (!users.empty() && !users.contains(job.user_name()) && !users.contains(std::to_string(job.uid()))) continue;
    if (!partitions.empty() && !partitions.contains(job.partition())) continue;
    out.push_back({&job, &all});
  }
  const auto keys = split(draft.sort, ',');
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    const Text word = trim(*key);
    if (word.empty()) continue;
    const bool down = word[0] == '-';
    std::ranges::stable_sort(out, [&](const PriorityRow& a, const PriorityRow& b) {
      return down ? sprio_less(b, a, word.back()) : sprio_less(a, b, word.back());
    });
  }
  return out;
}

int show(const Command& command, const SprioDraft& draft, const ClientSettings& settings) {
  Session session(*session_options(settings, command));
  wire::Request request;
  request.mutable_query_priorities();
  const auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_error(command, reply.error().story);
    return 1;
  }
  const wire::Priorities& all = reply->priorities();
  if (all.basic()) {
    say_plain(
        "You are not running a supported priority plugin\n(priority/basic).\nOnly 'priority/multifactor' is "
        "supported.");
    return 1;
  }
  std::string unknown;
  const std::string letters = draft.format      ? *draft.format
                              : draft.long_form ? sprio_long_format
                                                : sprio_format(all, draft.norm);
  const auto format = parse_short_format<PriorityRow>(letters, priority_columns(), unknown);
  for (const char letter : unknown) say_error(command, std::string{"Invalid job format specification: "} + letter);
  const std::vector<PriorityRow> list = draft.weights ? std::vector{PriorityRow{nullptr, &all}} : choose(all, draft);
  if (list.empty() && (draft.jobs || draft.users)) {
    say_plain("Unable to find jobs matching user/id(s) specified");
    return 0;
  }
  std::string out, scratch;
  if (!draft.no_header) append_header(out, format);
  for (const PriorityRow& row : list) append_row(out, format, row, scratch);
  return print(out);
}

// What was asked for, as Slurm lists it.
std::string told_wishes(const SprioDraft& d) {
  const auto text = [](const std::optional<std::string>& value) { return value.value_or("(null)"); };
  const std::pair<Text, std::string> lines[] = {{"format", text(d.format)}, {"job_flag", d.jobs ? "1" : "0"},
                                                {"jobs", text(d.jobs)},     {"partition", text(d.partitions)},
                                                {"users", text(d.users)},   {"verbose", std::to_string(d.verbose)}};
  std::string out = "-----------------------------\n";
  for (const auto& [name, value] : lines)
    out += std::string{name} + std::string(11 - name.size(), ' ') + "= " + value + '\n';
  return out + "-----------------------------\n\n\n";
}

}  // namespace

std::vector<OptionText> sprio_options() {
  return option_texts(std::span<const Option<SprioDraft>>{sprio_rows}, any_tool);
}
std::string sprio_manual() {
  return man_page(sprio_head, option_texts(std::span<const Option<SprioDraft>>{sprio_rows}, any_tool));
}

int run_sprio(Command& command) {
  SprioDraft draft;
  const std::span<const Option<SprioDraft>> table{sprio_rows};
  if (const auto taken = apply_environment(table, any_tool, draft); !taken)
    return say_usage_error(command, taken.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sprio_head, option_texts(table, any_tool))) return 0;
  if (draft.list_columns) {
    std::string out;
    for (const Column<PriorityRow>& column : priority_columns())
      out += std::string{"%"} + column.letter + "  " + std::string{column.header} + '\n';
    return print(out);
  }
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto here = only_this_cluster(draft.clusters.value_or(""), settings->cluster_name); !here)
    return say_usage_error(command, here.error());
  command.verbose = draft.verbose;
  if (draft.verbose > 0) print(told_wishes(draft));
  return show(command, draft, *settings);
}

}  // namespace millrace
