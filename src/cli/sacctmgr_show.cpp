// src/cli/sacctmgr_show.cpp - sacctmgr show: accounts, users, associations, QOS, resources.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/render/account_fields.h"
#include "cli/render/data_accounts.h"
#include "cli/sacctmgr.h"
#include "core/model/account_change.h"

namespace millrace {
namespace {

using Text = std::string_view;

constexpr auto begins = is_cut_of;

using Set = std::set<std::string, std::less<>>;  // words in lower case

struct Question {
  std::string format;
  bool with_associations = false, with_coordinators = false, tree = false, subaccounts = false, without_limits = false,
       only_defaults = false;
  Set names, accounts, users, partitions, clusters, parents, qos, default_qos, ids, default_accounts, admin_levels,
      descriptions, organizations, flags, preempt_modes, types;
};

enum Of : std::uint8_t {
  of_accounts = 1,
  of_users = 2,
  of_associations = 4,
  of_qos = 8,
  of_tres = 16,
  of_tree = of_accounts | of_users | of_associations,
  of_all = 31
};

struct FlagWord {
  Text word;
  std::size_t least;
  std::uint8_t of;
  bool Question::*
      flag;  // null: here it changes nothing, since nothing deleted is kept and no limit is shown that is inherited
};
struct ConditionWord {
  Text key;
  std::size_t least;
  std::uint8_t of;
  Set Question::* values;
};
// clang-format off
constexpr FlagWord flag_words[] = {
    {"tree", 4, of_tree, &Question::tree},
    {"withassociations", 5, of_tree, &Question::with_associations},
    {"withcoordinators", 5, of_tree, &Question::with_coordinators},
    {"withsubaccounts", 5, of_tree, &Question::subaccounts},
    {"withdeleted", 5, of_all, nullptr},
    {"withrawqoslevel", 5, of_tree, nullptr},
    {"wolimits", 3, of_tree, &Question::without_limits},
    {"woplimits", 4, of_tree, nullptr},
    {"wopinfo", 3, of_tree, nullptr},
    {"onlydefaults", 4, of_tree, &Question::only_defaults},
};
constexpr ConditionWord condition_words[] = {
    {"users", 4, of_tree, &Question::users},
    {"accounts", 3, of_tree, &Question::accounts},
    {"acct", 4, of_tree, &Question::accounts},
    {"partitions", 4, of_tree, &Question::partitions},
    {"parents", 4, of_tree, &Question::parents},
    {"qoslevel", 1, of_tree, &Question::qos},
    {"defaultqos", 8, of_tree, &Question::default_qos},
    {"defaultaccounts", 8, of_tree, &Question::default_accounts},
    {"adminlevels", 2, of_users, &Question::admin_levels},
    {"descriptions", 3, of_accounts | of_qos, &Question::descriptions},
    {"organizations", 1, of_accounts, &Question::organizations},
    {"flags", 2, of_qos, &Question::flags},
    {"preemptmode", 8, of_qos, &Question::preempt_modes},
    {"types", 1, of_tres, &Question::types},
    {"ids", 1, of_associations | of_qos | of_tres, &Question::ids},
    {"clusters", 1, of_all, &Question::clusters},
};
// clang-format on

Result<Question> read_question(std::span<const Text> words, Of of) {
  Question out;
  for (const Text word : words) {
    if (equals_ignoring_case(word, "where")) continue;
    if (const auto flag = std::ranges::find_if(
            flag_words,
            [&](const FlagWord& each) { return (each.of & of) != 0 && begins(word, each.word, each.least); });
        flag != std::end(flag_words)) {
      if (flag->flag != nullptr) out.*(flag->flag) = true;
      continue;
    }
    const AccountSetting item = parse_account_setting(word);
    if (begins(item.key, "format", 3)) {
      out.format = item.value;
      continue;
    }
    Set Question::* values = item.key == "name" ? (of == of_users ? &Question::users : &Question::names) : nullptr;
    for (const ConditionWord& each : condition_words)
      if (values == nullptr && (each.of & of) != 0 && begins(item.key, each.key, each.least)) values = each.values;
    if (values == nullptr) return fail(Errc::invalid, "Unknown condition: " + std::string{word});
    for (const Text each : split(item.value, ',')) (out.*values).emplace(lower(trim(each)));
  }
  return out;
}

bool in(const Set& set, Text word) { return set.empty() || set.contains(lower(word)); }

// A list of several, of which one will do.
bool meets(const Set& set, Text list) {
  return set.empty() || std::ranges::any_of(split(list, ','), [&](Text each) { return set.contains(lower(each)); });
}

// One of the words, which may be cut: operator, op.
bool begins_one(const Set& set, Text word) {
  return set.empty() || std::ranges::any_of(set, [&](const std::string& each) {
           return !each.empty() && lower(word).starts_with(each);
         });
}

bool is_here(const AccountBook& book, const Question& q) { return in(q.clusters, book.answer.cluster()); }

bool in_accounts(const AccountBook& book, const Question& q, const wire::Association& a) {
  if (in(q.accounts, a.account())) return true;
  if (!q.subaccounts) return false;
  const auto above = book.by_id.find(a.parent());
  return above != book.by_id.end() && in_accounts(book, q, above->second->association());
}

std::string parent_name(const AccountBook& book, const wire::Association& a) {
  const auto above = book.by_id.find(a.parent());
  return above == book.by_id.end() || !a.user().empty() ? std::string{} : above->second->association().account();
}

// Whether all conditions hold.
bool is_wanted(const AccountBook& book, const Question& q, const wire::Association& a) {
  if (!in_accounts(book, q, a) || !in(q.partitions, a.partition()) || !in(q.users, a.user()) ||
      !in(q.parents, parent_name(book, a)))
    return false;
  if (q.only_defaults && !a.is_default()) return false;
  if (!meets(q.qos, book.allowed_qos(a)) || !in(q.default_qos, book.default_qos(a)) ||
      !in(q.ids, std::to_string(a.id())))
    return false;
  if (!in(q.default_accounts, book.default_account(a.user())) ||
      !begins_one(q.admin_levels, book.admin_level(a.user())))
    return false;
  return in(q.descriptions, a.description()) && in(q.organizations, a.organization()) && is_here(book, q);
}

bool is_wanted(const AccountBook& book, const Question& q, const wire::Qos& qos) {
  const QosRow row{&book, &qos};
  const auto text = [&](Text name) {
    const auto chosen = choose_fields(qos_fields(), name);
    return chosen && !chosen->empty() ? chosen->front().field->value(row) : std::string{};
  };
  return in(q.names, qos.name()) && in(q.ids, std::to_string(qos.id())) && in(q.descriptions, qos.description()) &&
         meets(q.flags, text("Flags")) && in(q.preempt_modes, text("PreemptMode")) && is_here(book, q);
}

template <class Row>
int show_rows(Sacctmgr& self, std::span<const Field<Row>> fields, const std::string& columns,
              const std::vector<Row>& rows) {
  const auto chosen = choose_fields(fields, columns);
  if (!chosen) {
    say_plain(" " + chosen.error().story);
    return 1;
  }
  return print(render_fields(*chosen, rows, self.options.style));
}

int show_associations(Sacctmgr& self, const AccountBook& book, const Question& q, bool accounts, bool users,
                      const std::string& columns) {
  std::vector<AssociationRow> rows;
  std::set<std::string> seen;
  const bool each = q.with_associations || (accounts && users);
  for (const wire::AssociationView* view : book.in_tree_order) {
    const wire::Association& a = view->association();
    if (a.user().empty() ? !accounts : !users) continue;
    if (!is_wanted(book, q, a) || !in(q.names, a.account())) continue;
    // A user is shown once, however many accounts he is in.
    if (!each && users && !seen.insert(a.user()).second) continue;
    rows.push_back({&book, view, q.tree});
  }
  return show_rows(self, association_fields(), q.format.empty() ? columns : q.format, rows);
}

int show_qos(Sacctmgr& self, const AccountBook& book, const Question& q) {
  std::vector<QosRow> rows;
  for (const wire::Qos& qos : book.answer.qos())
    if (is_wanted(book, q, qos)) rows.push_back({&book, &qos});
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
  std::vector<TresRow> rows = {{"cpu", "", 1},     {"mem", "", 2},    {"energy", "", 3}, {"node", "", 4},
                               {"billing", "", 5}, {"fs", "disk", 6}, {"vmem", "", 7},   {"pages", "", 8}};
  std::size_t next = 1001;
  for (const std::string& full : book.answer.tres_names()) {
    const std::size_t slash = full.find('/');
    const std::string type = full.substr(0, slash), name = slash == std::string::npos ? "" : full.substr(slash + 1);
    if (std::ranges::none_of(rows, [&](const TresRow& row) { return row.type == type && row.name == name; }))
      rows.push_back({type, name, next++});
  }
  std::erase_if(rows, [&](const TresRow& row) {
    return (!in(q.names, row.name) && !in(q.names, row.type)) || !in(q.types, row.type) ||
           !in(q.ids, std::to_string(row.id)) || !is_here(book, q);
  });
  return rows;
}

int show_tres(Sacctmgr& self, const AccountBook& book, const Question& q) {
  const std::vector<TresRow> rows = tres_rows(book, q);
  return show_rows(self, std::span<const Field<TresRow>>{tres_fields}, q.format.empty() ? "Type,Name,ID" : q.format,
                   rows);
}

// The same records as data; conditions hold, format= does not.
int print_data(Sacctmgr& self, const AccountBook& book, const Question& q, const std::string& key) {
  if (self.options.listing.data->list_parsers) return print(data_parser_names());
  DataList records;
  std::set<std::string> seen;
  if (key == "qos")
    for (const wire::Qos& qos : book.answer.qos())
      if (is_wanted(book, q, qos)) records.push_back(qos_data({&book, &qos}));
  if (key == "tres")
    for (const TresRow& row : tres_rows(book, q))
      records.push_back(
          DataMap{{"type", row.type}, {"name", row.name}, {"id", static_cast<std::uint32_t>(row.id)}, {"count", 0u}});
  for (const wire::AssociationView* view : book.in_tree_order) {
    const wire::Association& a = view->association();
    const AssociationRow row{&book, view};
    if (!is_wanted(book, q, a)) continue;
    if (key == "associations" && in(q.names, a.account())) records.push_back(association_data(row));
    if (key == "accounts" && a.user().empty() && in(q.names, a.account())) records.push_back(account_data(row));
    if (key == "users" && !a.user().empty() && seen.insert(a.user()).second)
      records.push_back(user_data(book, a.user()));
  }
  std::size_t at = 0;
  return print_records(self.command, self.settings, self.options.listing.data->form, key,
                       [&] { return at == records.size() ? Data{} : records[at++]; });
}

}  // namespace

int sacctmgr_show(Sacctmgr& self, std::span<const Text> words) {
  const Text entity = words.empty() ? Text{} : words[0];
  const bool accounts = begins(entity, "accounts", 3), users = begins(entity, "users", 1),
             qos = begins(entity, "qos", 1);
  const bool associations = begins(entity, "associations", 2) && !accounts, tres = begins(entity, "tres", 2);
  if (!words.empty())
    for (const auto show : {sacctmgr_show_records, sacctmgr_show_other})
      if (const auto other = show(self, entity, words.subspan(1))) return *other;
  if (!accounts && !users && !qos && !associations && !tres) {
    say_plain(
        "No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", "
        "\"Configuration\",\n\"Coordinator\", \"Event\", \"Federation\", \"Instance\", \"Problem\", \"QOS\", "
        "\"Resource\", \"Reservation\",\n\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or "
        "\"WCKey\"");
    return 1;
  }
  auto question = read_question(words.subspan(1), qos            ? of_qos
                                                  : tres         ? of_tres
                                                  : associations ? of_associations
                                                  : accounts     ? of_accounts
                                                                 : of_users);
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
  if (self.options.listing.data)
    return print_data(self, book, *question,
                      qos            ? "qos"
                      : tres         ? "tres"
                      : associations ? "associations"
                      : accounts     ? "accounts"
                                     : "users");
  if (qos) return show_qos(self, book, *question);
  if (tres) return show_tres(self, book, *question);
  if (associations) {
    // A tree needs the room, and its names begin at the left.
    std::string columns = question->without_limits ? "Cluster,Account%10,User,Partition" : association_columns;
    if (const std::size_t at = columns.find("Account%10"); question->tree && at != std::string::npos)
      columns.replace(at, 10, "Account");
    return show_associations(self, book, *question, true, true, columns);
  }
  const auto with = [&](const char* more, const char* without_limits) {
    return (question->with_associations ? "," + std::string{question->without_limits ? without_limits : more}
                                        : std::string{}) +
           (question->with_coordinators ? ",Coordinators" : "");
  };
  return accounts ? show_associations(self, book, *question, true, question->with_associations,
                                      account_columns + with(account_association_columns, "Cluster,ParentName,User"))
                  : show_associations(self, book, *question, false, true,
                                      (book.answer.track_wckeys() ? user_wckey_columns : user_columns) +
                                          with(user_association_columns, "Cluster,Account,Partition"));
}

}  // namespace millrace
