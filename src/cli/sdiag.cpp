// src/cli/sdiag.cpp - what the controller has done lately: jobs, planning passes, requests.
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/one_cluster.h"
#include "cli/options/option.h"
#include "cli/render/data_document.h"
#include "cli/render/diagnostics_data.h"
#include "cli/render/diagnostics_text.h"
#include "cli/version.h"

namespace millrace {
namespace {

constexpr ManualHead sdiag_head{
    "sdiag", "show what the controller has done since it started", "[options]",
    "Counts jobs, planning passes and requests since the controller started or was told to count "
    "anew. A pass of the planner is one cycle of both the main scheduler and, "
    "with sched/backfill, of backfill: it does the work of both. Requests are counted under the "
    "name of Slurm's that does the same."};

struct SdiagDraft {
  Asked asked;
  bool reset = false;
  CallOrder order = CallOrder::count;
  std::string clusters;
  std::optional<DataWish> data;
};

using Text = std::string_view;
using enum ArgKind;

template <CallOrder order>
Result<void> sort_by(SdiagDraft& d, Text) {
  d.order = order;
  return {};
}
Result<void> accept(SdiagDraft&, Text) { return {}; }

template <DataForm form>
Result<void> set_data(SdiagDraft& d, Text v) {
  MR_TRY(d.data, parse_data_wish(form, v));
  return {};
}

// clang-format off
constexpr Option<SdiagDraft> sdiag_rows[] = {
    {"all", 'a', none, "", any_tool, "", "", "all statistics, which is the default", accept},
    {"cluster", '\0', required, "<name>", any_tool, "", "", "the same as --clusters", [](SdiagDraft& d, Text v) -> Result<void> { d.clusters = std::string{v}; return {}; }},
    {"clusters", 'M', required, "<name>", any_tool, "SLURM_CLUSTERS", "", "this cluster: there is one", [](SdiagDraft& d, Text v) -> Result<void> { d.clusters = std::string{v}; return {}; }},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SdiagDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"json", '\0', optional, "version", any_tool, "", "", "as JSON", set_data<DataForm::json>},
    {"no-trunc", '\0', none, "", any_tool, "", "", "accepted", accept, Effect::no_effect, "names are never cut"},
    {"reset", 'r', none, "", any_tool, "", "", "count anew; for administrators", [](SdiagDraft& d, Text) -> Result<void> { d.reset = true; return {}; }},
    {"sort-by-id", 'i', none, "", any_tool, "", "", "requests by their number", sort_by<CallOrder::number>},
    {"sort-by-time", 't', none, "", any_tool, "", "", "requests by the time they took together", sort_by<CallOrder::total_time>},
    {"sort-by-time2", 'T', none, "", any_tool, "", "", "requests by the time each took", sort_by<CallOrder::average_time>},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SdiagDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SdiagDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"yaml", '\0', optional, "version", any_tool, "", "", "as YAML", set_data<DataForm::yaml>},
};
// clang-format on

}  // namespace

std::vector<OptionText> sdiag_options() {
  return option_texts(std::span<const Option<SdiagDraft>>{sdiag_rows}, any_tool);
}
std::string sdiag_manual() {
  return man_page(sdiag_head, option_texts(std::span<const Option<SdiagDraft>>{sdiag_rows}, any_tool));
}

int run_sdiag(Command& command) {
  SdiagDraft draft;
  const std::span<const Option<SdiagDraft>> table{sdiag_rows};
  if (const auto taken = apply_environment(table, any_tool, draft); !taken)
    return say_usage_error(command, taken.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sdiag_head, option_texts(table, any_tool))) return 0;
  if (draft.data && draft.data->list_parsers) return print(data_parser_names());
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto here = only_this_cluster(draft.clusters, settings->cluster_name); !here)
    return say_usage_error(command, here.error());
  Session session(*session_options(*settings));
  wire::Request request;
  request.mutable_query_diagnostics()->set_reset(draft.reset);
  const auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_error(command, reply.error().story);
    return 1;
  }
  if (draft.reset) return print("Reset scheduling statistics\n");
  Names names;
  if (draft.data)
    return print(to_text(data_document(DataMap{DataMember{"statistics", diagnostics_data(reply->diagnostics(), names)}},
                                       {command.name, command.words, settings->cluster_name, slurm_version}),
                         draft.data->form));
  return print(diagnostics_text(reply->diagnostics(), draft.order, names));
}

}  // namespace millrace
