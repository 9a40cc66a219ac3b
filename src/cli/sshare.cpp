// src/cli/sshare.cpp - shares and usage of accounts and users, as a tree.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/one_cluster.h"
#include "cli/options/option.h"
#include "cli/render/account_fields.h"
#include "cli/render/data_accounts.h"
#include "cli/render/text_forms.h"
#include "cli/version.h"

namespace millrace {
namespace {

constexpr ManualHead sshare_head{
    "sshare", "show shares and usage of accounts and users", "[options]",
    "Shows who has which share of the cluster, what was used of it, and the fair-share factor that follows."};

struct SshareDraft {
  int verbose = 0;
  Asked asked;
  std::string accounts, users, format, clusters;
  bool partitions = false, all = false, long_form = false, users_only = false, no_header = false, list_fields = false;
  Parsable parsable = Parsable::no;
  ListingWish listing{};  // --json, --yaml
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> on(SshareDraft& d, Text) {
  d.*field = true;
  return {};
}
template <auto field>
Result<void> keep(SshareDraft& d, Text v) {
  d.*field = std::string{v};
  return {};
}

// clang-format off
constexpr Option<SshareDraft> sshare_rows[] = {
    {"accounts", 'A', required, "<names>", any_tool, "", "", "these accounts", keep<&SshareDraft::accounts>},
    {"all", 'a', none, "", any_tool, "", "", "all users", on<&SshareDraft::all>},
    {"format", 'o', required, "<fields>", any_tool, "", "", "these columns", keep<&SshareDraft::format>},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SshareDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"helpformat", 'e', none, "", any_tool, "", "", "list the columns", on<&SshareDraft::list_fields>},
    {"long", 'l', none, "", any_tool, "", "", "more columns", on<&SshareDraft::long_form>},
    {"noheader", 'n', none, "", any_tool, "", "", "no header", on<&SshareDraft::no_header>},
    {"parsable", 'p', none, "", any_tool, "", "", "| between columns and at the end", [](SshareDraft& d, Text) -> Result<void> { d.parsable = Parsable::with_end; return {}; }},
    {"parsable2", 'P', none, "", any_tool, "", "", "| between columns", [](SshareDraft& d, Text) -> Result<void> { d.parsable = Parsable::without_end; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SshareDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"users", 'u', required, "<names>", any_tool, "", "", "these users", keep<&SshareDraft::users>},
    {"Users", 'U', none, "", any_tool, "", "", "users only, no accounts", on<&SshareDraft::users_only>},
    {"verbose", 'v', none, "", any_tool, "", "", "say what was asked for, and what is sent", [](SshareDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SshareDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"clusters", 'M', required, "", any_tool, "", "", "this cluster: there is one", keep<&SshareDraft::clusters>},
    {"federation", '\0', none, "", any_tool, "", "", "shares of the federation or of this cluster", [](SshareDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "there are no federations: one cluster is all"},
    {"json", '\0', optional, "<parser>", any_tool, "", "", "records as JSON", [](SshareDraft& d, Text v) { return wish_json(d.listing, v); }},
    {"local", '\0', none, "", any_tool, "", "", "shares of the federation or of this cluster", [](SshareDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "there are no federations: one cluster is all"},
    {"partition", 'm', none, "", any_tool, "", "", "with the column of partitions", on<&SshareDraft::partitions>},
    {"yaml", '\0', optional, "<parser>", any_tool, "", "", "records as YAML", [](SshareDraft& d, Text v) { return wish_yaml(d.listing, v); }},
};
// clang-format on

std::set<std::string, std::less<>> words_of(const std::string& text) {
  std::set<std::string, std::less<>> out;
  for (const Text word : split(text, ','))
    if (!trim(word).empty()) out.emplace(trim(word));
  return out;
}

std::vector<AssociationRow> choose(const AccountBook& book, const SshareDraft& draft, const std::string& me) {
  const auto accounts = words_of(draft.accounts);
  auto users = words_of(draft.users);
  if (users.empty() && !draft.all) users.insert(me);
  std::vector<AssociationRow> out;
  for (const wire::AssociationView* view : book.in_tree_order) {
    const wire::Association& association = view->association();
    if (!accounts.empty() && !accounts.contains(association.account())) continue;
    if (association.user().empty() ? draft.users_only : !draft.all && !users.contains(association.user())) continue;
    out.push_back({&book, view, true});
  }
  return out;
}

int show(const Command& command, const SshareDraft& draft, const ClientSettings& settings) {
  const std::string columns = !draft.format.empty() ? draft.format
                              : draft.partitions
                                  ? (draft.long_form ? share_long_partition_columns : share_partition_columns)
                              : draft.long_form ? share_long_columns
                                                : share_columns;
  const auto fields = choose_fields(share_fields(), columns);
  if (!fields) return say_usage_error(command, {Errc::refused, fields.error().story});
  Session session(*session_options(settings, command));
  wire::Request request;
  request.mutable_query_accounts();
  auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_error(command, reply.error().story);
    return 1;
  }
  const AccountBook book(std::move(*reply->mutable_accounts()));
  Names names;
  if (draft.listing.data) {
    if (draft.listing.data->list_parsers) return print(data_parser_names());
    DataList shares;
    std::uint64_t total = 0;
    for (const AssociationRow& row : choose(book, draft, names.user(getuid())))
      shares.push_back(share_data(row)), total += row.association().shares();
    DataMap all{{"shares", DataMap{{"shares", std::move(shares)}, {"total_shares", total}}}};
    return print(
        to_text(data_document(std::move(all), {command.name, command.words, settings.cluster_name, slurm_version}),
                draft.listing.data->form));
  }
  return print(render_fields(*fields, choose(book, draft, names.user(getuid())), {draft.parsable, !draft.no_header}));
}

void tell_wishes(const SshareDraft& draft) {
  Names names;
  const auto tell = [](const char* what, const std::set<std::string, std::less<>>& words,
                       const std::string& otherwise) {
    say_plain(what);
    if (words.empty()) say_plain("\t: " + otherwise);
    for (const std::string& word : words) say_plain("\t: " + word);
  };
  tell("Users requested:", words_of(draft.users), draft.all ? "all" : names.user(getuid()));
  tell("Accounts requested:", words_of(draft.accounts), "all");
}

}  // namespace

std::vector<OptionText> sshare_options() {
  return option_texts(std::span<const Option<SshareDraft>>{sshare_rows}, any_tool);
}
std::string sshare_manual() {
  return man_page(sshare_head, option_texts(std::span<const Option<SshareDraft>>{sshare_rows}, any_tool));
}

int run_sshare(Command& command) {
  SshareDraft draft;
  const std::span<const Option<SshareDraft>> table{sshare_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sshare_head, option_texts(table, any_tool))) return 0;
  if (draft.list_fields) {
    std::string out;
    for (const auto& field : share_fields()) out += std::string{field.header} + '\n';
    return print(out);
  }
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto here = only_this_cluster(draft.clusters, settings->cluster_name); !here)
    return say_usage_error(command, here.error());
  command.verbose = draft.verbose;
  if (draft.verbose > 0) tell_wishes(draft);
  return show(command, draft, *settings);
}

}  // namespace millrace
