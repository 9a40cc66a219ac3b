// src/cli/sacctmgr_show.cpp - sacctmgr show: accounts, users, associations, QOS, resources.
#include <algorithm>
#include <set>

#include "cli/render/account_fields.h"
#include "cli/render/data_accounts.h"
#include "cli/sacctmgr.h"
#include "core/model/account_change.h"

namespace millrace {
namespace {

using Text = std::string_view;

constexpr auto begins = is_cut_of;

struct Question {
  std::string format;
  bool with_associations = false, with_coordinators = false, tree = false;
  std::set<std::string, std::less<>> names, accounts, users, partitions;
};

Result<Question> read_question(std::span<const Text> words, bool names_are_users) {
  Question out;
  for (const Text word : words) {
    if (equals_ignoring_case(word, "where")) continue;
    if (begins(word, "withassociations", 5)) {
      out.with_associations = true;
      continue;
    }
    if (equals_ignoring_case(word, "tree")) {
      out.tree = true;
      continue;
    }
    if (begins(word, "withcoordinators", 5)) {
      out.with_coordinators = true;
      continue;
    }
    if (equals_ignoring_case(word, "withdeleted") || begins(word, "wopinfo", 3) || begins(word, "woplimits", 4) || begins(word, "withrawqoslevel", 5) || begins(word, "onlydefaults", 4)) continue;
    const AccountSetting item = parse_account_setting(word);
    auto* set = item.key == "name" ? (names_are_users ? &out.users : &out.names) : begins(item.key, "users", 4) ? &out.users
                : begins(item.key, "accounts", 4) ? &out.accounts : begins(item.key, "partitions", 4) ? &out.partitions : nullptr;
    if (begins(item.key, "format", 3)) out.format = item.value;
    else if (begins(item.key, "clusters", 4)) continue;
    else if (set == nullptr) return fail(Errc::invalid, "Unknown condition: " + std::string{word});
    else
      for (const Text each : split(item.value, ',')) set->emplace(trim(each));
  }
  return out;
}

bool in(const std::set<std::string, std::less<>>& set, const std::string& word) { return set.empty() || set.contains(word); }

template <class Row>
int show_rows(Sacctmgr& self, std::span<const Field<Row>> fields, const std::string& columns, const std::vector<Row>& rows) {
  const auto chosen = choose_fields(fields, columns);
  if (!chosen) {
    say_plain(" " + chosen.error().story);
    return 1;
  }
  return print(render_fields(*chosen, rows, self.options.style));
}

int show_associations(Sacctmgr& self, const AccountBook& book, const Question& q, bool accounts, bool users, const std::string& columns) {
  std::vector<AssociationRow> rows;
  std::set<std::string> seen;
  const bool each = q.with_associations || (accounts && users);
  for (const wire::AssociationView* view : book.in_tree_order) {
    const log::Association& a = view->association();
    if (a.user().empty() ? !accounts : !users) continue;
    if (!in(q.accounts, a.account()) || !in(q.partitions, a.partition()) || !in(q.names, a.account())) continue;
    if (!q.users.empty() && !q.users.contains(a.user())) continue;
    // A user is shown once, however many accounts he is in.
    if (!each && users && !seen.insert(a.user()).second) continue;
    rows.push_back({&book, view, q.tree});
  }
  return show_rows(self, association_fields(), q.format.empty() ? columns : q.format, rows);
}

int show_qos(Sacctmgr& self, const AccountBook& book, const Question& q) {
  std::vector<QosRow> rows;
  for (const log::Qos& qos : book.answer.qos())
    if (in(q.names, qos.name())) rows.push_back({&book, &qos});
  return show_rows(self, qos_fields(), q.format.empty() ? qos_columns : q.format, rows);
}

struct TresRow {
  std::string type, name;
  std::size_t id = 0;
};
constexpr Field<TresRow> tres_fields[] = {
    {"Type", "Type", 8, [](const TresRow& r) { return r.type; }},
    {"Name", "Name", 15, [](const TresRow& r) { return r.name; }},
    {"ID", "ID", 6, [](const TresRow& r) { return std::to_string(r.id); }},
};

// Those that every cluster has, then those of this one, in the order of their numbers.
std::vector<TresRow> tres_rows(const AccountBook& book, const Question& q) {
  std::vector<TresRow> rows = {{"cpu", "", 1}, {"mem", "", 2}, {"energy", "", 3}, {"node", "", 4}, {"billing", "", 5}, {"fs", "disk", 6}, {"vmem", "", 7}, {"pages", "", 8}};
  std::size_t next = 1001;
  for (const std::string& full : book.answer.tres_names()) {
    const std::size_t slash = full.find('/');
    const std::string type = full.substr(0, slash), name = slash == std::string::npos ? "" : full.substr(slash + 1);
    if (std::ranges::none_of(rows, [&](const TresRow& row) { return row.type == type && row.name == name; })) rows.push_back({type, name, next++});
  }
  std::erase_if(rows, [&](const TresRow& row) { return !in(q.names, row.name) && !in(q.names, row.type); });
  return rows;
}

int show_tres(Sacctmgr& self, const AccountBook& book, const Question& q) {
  const std::vector<TresRow> rows = tres_rows(book, q);
  return show_rows(self, std::span<const Field<TresRow>>{tres_fields}, q.format.empty() ? "Type,Name,ID" : q.format, rows);
}

// The same records as data; conditions hold, format= does not.
int print_data(Sacctmgr& self, const AccountBook& book, const Question& q, const std::string& key) {
  if (self.options.listing.data->list_parsers) return print(data_parser_names());
  DataList records;
  std::set<std::string> seen;
  if (key == "qos")
    for (const log::Qos& qos : book.answer.qos())
      if (in(q.names, qos.name())) records.push_back(qos_data({&book, &qos}));
  if (key == "tres")
    for (const TresRow& row : tres_rows(book, q)) records.push_back(DataMap{{"type", row.type}, {"name", row.name}, {"id", static_cast<std::uint32_t>(row.id)}, {"count", 0u}});
  for (const wire::AssociationView* view : book.in_tree_order) {
    const log::Association& a = view->association();
    const AssociationRow row{&book, view};
    if (!in(q.accounts, a.account()) || !in(q.partitions, a.partition()) || (!q.users.empty() && !q.users.contains(a.user()))) continue;
    if (key == "associations" && in(q.names, a.account())) records.push_back(association_data(row));
    if (key == "accounts" && a.user().empty() && in(q.names, a.account())) records.push_back(account_data(row));
    if (key == "users" && !a.user().empty() && seen.insert(a.user()).second) records.push_back(user_data(book, a.user()));
  }
  std::size_t at = 0;
  return print_records(self.command, self.settings, self.options.listing.data->form, key, [&] { return at == records.size() ? Data{} : records[at++]; });
}

}  // namespace

int sacctmgr_show(Sacctmgr& self, std::span<const Text> words) {
  const Text entity = words.empty() ? Text{} : words[0];
  const bool accounts = begins(entity, "accounts", 3), users = begins(entity, "users", 1), qos = begins(entity, "qos", 1);
  const bool associations = begins(entity, "associations", 2) && !accounts, tres = begins(entity, "tres", 2);
  if (!words.empty())
    for (const auto show : {sacctmgr_show_records, sacctmgr_show_other})
      if (const auto other = show(self, entity, words.subspan(1))) return *other;
  if (!accounts && !users && !qos && !associations && !tres) {
    say_plain("No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", \"Configuration\",\n\"Coordinator\", \"Event\", \"Federation\", \"Instance\", \"Problem\", \"QOS\", \"Resource\", \"Reservation\",\n\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"");
    return 1;
  }
  auto question = read_question(words.subspan(1), users);
  if (!question) {
    say_plain(" " + question.error().story);
    return 1;
  }
  question->with_associations = question->with_associations || self.options.associations;
  wire::Request request;
  request.mutable_query_accounts();
  auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  const AccountBook book(std::move(*reply->mutable_accounts()));
  if (self.options.listing.data) return print_data(self, book, *question, qos ? "qos" : tres ? "tres" : associations ? "associations" : accounts ? "accounts" : "users");
  if (qos) return show_qos(self, book, *question);
  if (tres) return show_tres(self, book, *question);
  if (associations) return show_associations(self, book, *question, true, true, association_columns);
  const auto with = [&](const char* more) { return (question->with_associations ? "," + std::string{more} : std::string{}) + (question->with_coordinators ? ",Coordinators" : ""); };
  return accounts ? show_associations(self, book, *question, true, question->with_associations, account_columns + with(account_association_columns))
                  : show_associations(self, book, *question, false, true, (book.answer.track_wckeys() ? user_wckey_columns : user_columns) + with(user_association_columns));
}

}  // namespace millrace
