// src/cli/sacctmgr_show_records.cpp - sacctmgr show: who changed what, nodes out of service, coordinators, workload
// keys, reservations, and the kinds of which one cluster has none.
#include <time.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/options/job_values.h"
#include "cli/render/data_accounts.h"
#include "cli/render/data_records.h"
#include "cli/render/diagnostics_text.h"
#include "cli/render/node_words.h"
#include "cli/render/text_forms.h"
#include "cli/sacctmgr.h"

namespace millrace {
namespace {

using Text = std::string_view;
using Words = std::span<const Text>;
using Set = std::set<std::string, std::less<>>;

// Conditions by the names they have here; a key of Slurm that cannot matter has none.
struct Condition {
  Text key;
  std::size_t least;
  Set* values;
};

struct Question {
  std::string columns;
  std::int64_t start_us = 0, end_us = INT64_MAX;
  Set clusters{};
  // The cluster is not another: there is one.
  bool is_here(const std::string& cluster) const {
    return clusters.empty() ||
           std::ranges::any_of(clusters, [&](const std::string& each) { return equals_ignoring_case(each, cluster); });
  }
};

std::optional<Question> read_question(Words words, std::string columns, std::vector<Condition> conditions) {
  Question out{std::move(columns)};
  for (const Text word : words) {
    if (equals_ignoring_case(word, "where") || is_cut_of(word, "withassocinfo", 5) ||
        is_cut_of(word, "withdeleted", 5) || is_cut_of(word, "withclusters", 5) ||
        equals_ignoring_case(word, "all_clusters") || equals_ignoring_case(word, "all_time") ||
        equals_ignoring_case(word, "tree"))
      continue;
    const AccountSetting item = parse_account_setting(word);
    const auto moment = [&](std::int64_t& to) {
      const auto at = parse_time_of_day(item.value, time(nullptr));
      if (at)
        to = *at * 1'000'000;
      else
        say_plain(" Invalid time specification: " + item.value);
      return at.has_value();
    };
    if (is_cut_of(item.key, "format", 1)) {
      out.columns = item.value;
    } else if (is_cut_of(item.key, "starttime", 3)) {
      if (!moment(out.start_us)) return std::nullopt;
    } else if (is_cut_of(item.key, "endtime", 3)) {
      if (!moment(out.end_us)) return std::nullopt;
    } else if (is_cut_of(item.key, "clusters", 1)) {
      for (const Text each : split(item.value, ',')) out.clusters.emplace(trim(each));
    } else if (const auto it = std::ranges::find_if(
                   conditions, [&](const Condition& c) { return is_cut_of(item.key, c.key, c.least); });
               it != conditions.end()) {
      for (const Text each : split(item.value, ','))
        if (it->values != nullptr) it->values->emplace(trim(each));
    } else {
      say_plain(" Unknown condition: " + std::string{word});
      return std::nullopt;
    }
  }
  return out;
}

bool in(const Set& set, const std::string& word) { return set.empty() || set.contains(word); }

// A list of several, of which one will do.
bool meets(const Set& wanted, const std::string& list) {
  return wanted.empty() || std::ranges::any_of(split(list, ','), [&](Text each) { return wanted.contains(each); });
}

struct TransactionRow {
  const wire::Transaction* transaction = nullptr;
  const std::string* cluster = nullptr;
};
// clang-format off
constexpr Field<TransactionRow> transaction_fields[] = {
    {"TimeStamp,Time", "Time", 19, [](const TransactionRow& r) { return format_time(r.transaction->at(), "Unknown"); }},
    {"Action", "Action", 20, [](const TransactionRow& r) { return r.transaction->action(); }},
    {"ActionRaw", "ActionRaw", 10, [](const TransactionRow& r) { return r.transaction->action(); }},
    {"Actor", "Actor", 10, [](const TransactionRow& r) { return r.transaction->actor(); }},
    {"Where", "Where", 20, [](const TransactionRow& r) { return r.transaction->where(); }},
    {"Info", "Info", 20, [](const TransactionRow& r) { return r.transaction->info(); }},
    {"Clusters", "Cluster", 10, [](const TransactionRow& r) { return *r.cluster; }},
    {"Accounts", "Accounts", 20, [](const TransactionRow& r) { return r.transaction->accounts(); }},
    {"Users", "Users", 20, [](const TransactionRow& r) { return r.transaction->users(); }},
    {"ID", "ID", 6, [](const TransactionRow& r) { return std::to_string(r.transaction->id()); }},
};
// clang-format on

int show_transactions(Sacctmgr& self, Words words) {
  Set accounts, users, actors, actions, ids;
  const auto question = read_question(words, "Time,Action,Actor,Where,Info",
                                      {{"accounts", 3, &accounts},
                                       {"users", 1, &users},
                                       {"actor", 4, &actors},
                                       {"action", 4, &actions},
                                       {"ids", 2, &ids}});
  if (!question) return 1;
  wire::Request request;
  request.mutable_query_transactions();
  const auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  std::vector<TransactionRow> rows;
  for (const wire::Transaction& each : reply->transactions().transactions()) {
    if (each.at() < question->start_us || each.at() > question->end_us) continue;
    if (!in(actors, each.actor()) || !in(actions, each.action()) || !in(ids, std::to_string(each.id())) ||
        !meets(accounts, each.accounts()) || !meets(users, each.users()))
      continue;
    if (question->is_here(reply->transactions().cluster())) rows.push_back({&each, &reply->transactions().cluster()});
  }
  if (!self.options.listing.data)
    return sacctmgr_print_rows(self, std::span<const Field<TransactionRow>>{transaction_fields}, question->columns,
                               rows);
  DataList records;
  for (const TransactionRow& row : rows) {
    const wire::Transaction& t = *row.transaction;
    records.push_back(DataMap{{"id", t.id()},
                              {"time", t.at() / 1'000'000},
                              {"action", t.action()},
                              {"actor", t.actor()},
                              {"where", t.where()},
                              {"info", t.info()},
                              {"cluster", *row.cluster},
                              {"accounts", words_by_comma(t.accounts())},
                              {"users", words_by_comma(t.users())}});
  }
  return sacctmgr_print_data(self, "transactions", std::move(records));
}

struct PairRow {
  std::string first, second, cluster;
};
constexpr Field<PairRow> coordinator_fields[] = {
    {"Account,Acct", "Account", -20, [](const PairRow& r) { return r.first; }},
    {"User,Name,Coordinators", "User", 10, [](const PairRow& r) { return r.second; }},
    {"Clusters", "Cluster", 10, [](const PairRow& r) { return r.cluster; }},
};
constexpr Field<PairRow> wckey_fields[] = {
    {"Name,WCKeys", "Name", 10, [](const PairRow& r) { return r.first; }},
    {"Clusters", "Cluster", 10, [](const PairRow& r) { return r.cluster; }},
    {"User", "User", 10, [](const PairRow& r) { return r.second; }},
    {"ID", "ID", 6, [](const PairRow&) { return std::string{}; }},
};

int show_coordinators(Sacctmgr& self, Words words) {
  Set accounts, names;
  const auto question =
      read_question(words, "Account,User", {{"accounts", 1, &accounts}, {"name", 1, &names}, {"users", 1, &names}});
  const auto book = question ? sacctmgr_book(self) : std::nullopt;
  if (!book) return 1;
  std::vector<PairRow> rows;
  for (const wire::AssociationView* view : book->in_tree_order)
    for (const std::string& name : view->association().coordinators())
      if (question->is_here(book->answer.cluster()) && in(accounts, view->association().account()) && in(names, name))
        rows.push_back({view->association().account(), name, book->answer.cluster()});
  if (!self.options.listing.data)
    return sacctmgr_print_rows(self, std::span<const Field<PairRow>>{coordinator_fields}, question->columns, rows);
  DataList records;
  for (const PairRow& row : rows)
    records.push_back(DataMap{{"account", row.first}, {"name", row.second}, {"direct", true}});
  return sacctmgr_print_data(self, "coordinators", std::move(records));
}

int show_wckeys(Sacctmgr& self, Words words) {
  Set names, users;
  const auto question =
      read_question(words, "Name,Cluster,User", {{"name", 1, &names}, {"wckeys", 1, &names}, {"users", 1, &users}});
  const auto book = question ? sacctmgr_book(self) : std::nullopt;
  if (!book) return 1;
  std::vector<PairRow> rows;
  DataList records;
  for (const wire::AccountUser& user : book->answer.users())
    for (const std::string& key : user.wckeys()) {
      if (!question->is_here(book->answer.cluster()) || !in(names, key) || !in(users, user.name())) continue;
      rows.push_back({(key == user.default_wckey() ? "*" : "") + key, user.name(), book->answer.cluster()});
      records.push_back(wckey_data(*book, user, key));
    }
  if (self.options.listing.data) return sacctmgr_print_data(self, "wckeys", std::move(records));
  return sacctmgr_print_rows(self, std::span<const Field<PairRow>>{wckey_fields}, question->columns, rows);
}

struct ReservationRow {
  const wire::ReservationView* view = nullptr;
  std::string cluster;
};
// clang-format off
constexpr Field<ReservationRow> reservation_fields[] = {
    {"Cluster", "Cluster", 10, [](const ReservationRow& r) { return r.cluster; }},
    {"Name", "Name", 10, [](const ReservationRow& r) { return r.view->name(); }},
    {"TRES", "TRES", 20, [](const ReservationRow& r) { return r.view->cpus() > 0 ? "cpu=" + std::to_string(r.view->cpus()) : std::string{}; }},
    {"TimeStart,Start", "TimeStart", 19, [](const ReservationRow& r) { return format_time(r.view->start_us(), "Unknown"); }},
    {"TimeEnd,End", "TimeEnd", 19, [](const ReservationRow& r) { return format_time(r.view->end_us(), "Unknown"); }},
    {"UnusedWall", "UnusedWall", 10, [](const ReservationRow&) { return std::string{}; }},
    {"Associations", "Assocs", 10, [](const ReservationRow& r) { return r.view->users() + (r.view->users().empty() || r.view->accounts().empty() ? "" : ",") + r.view->accounts(); }},
    {"Flags", "Flags", 20, [](const ReservationRow& r) { return r.view->flags(); }},
    {"ID", "ID", 6, [](const ReservationRow& r) { return std::to_string(r.view->id()); }},
    {"NodeNames", "NodeName", -15, [](const ReservationRow& r) { return r.view->nodes(); }},
    {"NodeInx", "NodeInx", 9, [](const ReservationRow&) { return std::string{}; }},
    {"Comment", "Comment", 20, [](const ReservationRow& r) { return r.view->comment(); }},
};
// clang-format on

// One of the nodes, of which both sides may be written in brackets.
bool has_node(const Set& wanted, const std::string& list) {
  if (wanted.empty()) return true;
  std::string asked;
  for (const std::string& each : wanted) asked += (asked.empty() ? "" : ",") + each;
  const auto these = expand_hostlist(asked), those = expand_hostlist(list);
  return these && those && std::ranges::any_of(*those, [&](const std::string& name) {
           return std::ranges::find(*these, name) != these->end();
         });
}

// Those that are there, and the turns that are over as far as they are kept.
int show_reservations(Sacctmgr& self, Words words) {
  Set names, ids, nodes;
  const auto question = read_question(words, "Cluster,Name%15,TRES%30,TimeStart,TimeEnd,UnusedWall",
                                      {{"name", 1, &names}, {"ids", 1, &ids}, {"nodes", 2, &nodes}});
  if (!question) return 1;
  wire::Request request;
  request.mutable_query_reservations()->set_with_past(true);
  const auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  std::vector<ReservationRow> rows;
  const auto add = [&](const wire::ReservationView& view) {
    const bool in_time = view.start_us() <= question->end_us && view.end_us() >= question->start_us;
    if (in_time && question->is_here(self.settings.cluster_name) && in(names, view.name()) &&
        in(ids, std::to_string(view.id())) && has_node(nodes, view.nodes()))
      rows.push_back({&view, self.settings.cluster_name});
  };
  for (const wire::ReservationView& view : reply->reservations().past()) add(view);
  for (const wire::ReservationView& view : reply->reservations().reservations()) add(view);
  if (!self.options.listing.data)
    return sacctmgr_print_rows(self, std::span<const Field<ReservationRow>>{reservation_fields}, question->columns,
                               rows);
  DataList records;
  for (const ReservationRow& row : rows)
    records.push_back(DataMap{
        {"id", row.view->id()},
        {"name", row.view->name()},
        {"cluster", row.cluster},
        {"nodes", row.view->nodes()},
        {"flags", words_by_comma(row.view->flags())},
        {"comment", row.view->comment()},
        {"time", DataMap{{"start", row.view->start_us() / 1'000'000}, {"end", row.view->end_us() / 1'000'000}}}});
  return sacctmgr_print_data(self, "reservations", std::move(records));
}

// clang-format off
struct EventRow {
  const ClientSettings* settings = nullptr;
  const wire::NodeView* node = nullptr;
  Names* names = nullptr;
};
constexpr Field<EventRow> event_fields[] = {
    {"Cluster", "Cluster", 10, [](const EventRow& r) { return r.settings->cluster_name; }},
    {"NodeNames", "NodeName", -15, [](const EventRow& r) { return r.node->name(); }},
    {"TimeStart,Start", "TimeStart", 19, [](const EventRow& r) { return format_time(r.node->reason_at_us(), "Unknown"); }},
    {"TimeEnd,End", "TimeEnd", 19, [](const EventRow&) { return std::string{"Unknown"}; }},
    {"State", "State", 6, [](const EventRow& r) { return node_state_full(*r.node); }},
    {"Reason", "Reason", 30, [](const EventRow& r) { return r.node->reason(); }},
    {"User", "User", 15, [](const EventRow& r) { return r.names->user(r.node->reason_uid()) + "(" + std::to_string(r.node->reason_uid()) + ")"; }},
};
// clang-format on

// What is open: the ledger keeps the state of each node, not those it had.
int show_events(Sacctmgr& self, Words words) {
  Set nodes, states, kinds, reasons, users;
  const auto question = read_question(words, "Cluster,NodeNames,TimeStart,TimeEnd,State,Reason,User",
                                      {{"nodes", 1, &nodes},
                                       {"states", 4, &states},
                                       {"events", 2, &kinds},
                                       {"reasons", 1, &reasons},
                                       {"users", 1, &users}});
  if (!question) return 1;
  wire::Request request;
  request.mutable_query_nodes();
  const auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  Names names;
  const auto begins_one = [](const Set& set, const std::string& text) {
    return set.empty() || std::ranges::any_of(set, [&](const std::string& each) {
             return std::ranges::any_of(split(text, '+'),
                                        [&](Text word) { return lower(word).starts_with(lower(each)); });
           });
  };
  const auto is_wanted = [&](const wire::NodeView& node) {
    if (node.base() != wire::NodeView::DOWN && !node.drain() && !node.fail()) return false;
    const bool of_nodes = kinds.empty() || std::ranges::any_of(kinds, [](const std::string& kind) {
                            return is_cut_of(kind, "nodes", 1);
                          });
    if (!of_nodes || !question->is_here(self.settings.cluster_name) || node.reason_at_us() > question->end_us)
      return false;
    return has_node(nodes, node.name()) && begins_one(states, node_state_full(node)) && in(reasons, node.reason()) &&
           in(users, names.user(node.reason_uid()));
  };
  std::vector<EventRow> rows;
  for (const wire::NodeView& node : reply->nodes().nodes())
    if (is_wanted(node)) rows.push_back({&self.settings, &node, &names});
  if (!self.options.listing.data)
    return sacctmgr_print_rows(self, std::span<const Field<EventRow>>{event_fields}, question->columns, rows);
  DataList records;
  for (const EventRow& row : rows)
    records.push_back(DataMap{
        {"cluster", self.settings.cluster_name},
        {"node", row.node->name()},
        {"time", DataMap{{"start", number_or_not(static_cast<std::uint64_t>(row.node->reason_at_us() / 1'000'000))},
                         {"end", number_if(false, 0)}}},
        {"state", DataList{Data{node_state_full(*row.node)}}},
        {"reason", row.node->reason()},
        {"user", names.user(row.node->reason_uid())}});
  return sacctmgr_print_data(self, "events", std::move(records));
}

// Of these there can be none: the header is there, and no row below it.
struct NoRow {};
constexpr auto nothing = [](const NoRow&) { return std::string{}; };
// clang-format off
constexpr Field<NoRow> resource_fields[] = {
    {"Name", "Name", 10, nothing}, {"Server", "Server", 10, nothing}, {"Type", "Type", 8, nothing}, {"Count", "Count", 6, nothing}, {"Allocated", "Allocated", 9, nothing},
    {"LastConsumed", "LastConsumed", 12, nothing}, {"ServerType", "ServerType", 10, nothing}, {"Flags", "Flags", 20, nothing}, {"Clusters", "Cluster", 10, nothing},
    {"Allowed", "Allowed", 8, nothing}, {"CountAllowed", "# Allowed", 10, nothing}, {"CountUsed", "# Used", 10, nothing}, {"Description", "Descr", 20, nothing},
};
constexpr Field<NoRow> federation_fields[] = {
    {"Federation,Name", "Federation", 10, nothing}, {"Cluster", "Cluster", 10, nothing}, {"ID", "ID", 6, nothing}, {"Features", "Features", 20, nothing},
    {"FedState", "FedState", 12, nothing}, {"FedStateRaw", "FedStateRaw", 11, nothing}, {"Flags", "Flags", 20, nothing},
};
constexpr Field<NoRow> instance_fields[] = {
    {"Cluster", "Cluster", 10, nothing}, {"NodeNames", "NodeName", -15, nothing}, {"InstanceId", "InstanceId", 20, nothing}, {"InstanceType", "InstanceType", 20, nothing},
    {"TimeStart,Start", "TimeStart", 19, nothing}, {"TimeEnd,End", "TimeEnd", 19, nothing}, {"Extra", "Extra", 20, nothing},
};
// clang-format on

int show_none(Sacctmgr& self, Words words, std::span<const Field<NoRow>> fields, const char* columns, const char* key) {
  const auto question = read_question(words, columns,
                                      {{"name", 1, nullptr},
                                       {"server", 1, nullptr},
                                       {"types", 1, nullptr},
                                       {"nodes", 2, nullptr},
                                       {"instanceid", 1, nullptr},
                                       {"instancetype", 9, nullptr},
                                       {"extra", 2, nullptr},
                                       {"flags", 2, nullptr},
                                       {"descriptions", 1, nullptr},
                                       {"ids", 1, nullptr}});
  if (!question) return 1;
  if (self.options.listing.data) return sacctmgr_print_data(self, key, {});
  return sacctmgr_print_rows(self, fields, question->columns, std::vector<NoRow>{});
}

// A job that runs is in the ledger, and what the ledger has is what nodes are told: none can be left over.
int show_runaways(Sacctmgr& self) {
  if (self.options.listing.data) return sacctmgr_print_data(self, "runaway_jobs", {});
  return print("Runaway Jobs: No runaway jobs found on cluster " + self.settings.cluster_name + '\n');
}

// What slurmdbd would count is counted by the controller: requests about accounts. Nothing is rolled up.
int show_stats(Sacctmgr& self) {
  wire::Request request;
  request.mutable_query_diagnostics();
  const auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  if (self.options.listing.data) {
    DataList records;
    for (const auto& rpc : reply->diagnostics().by_type())
      records.push_back(
          DataMap{{"rpc", rpc.name()},
                  {"count", rpc.count()},
                  {"time", DataMap{{"average", rpc.count() > 0 ? rpc.total_us() / static_cast<std::int64_t>(rpc.count())
                                                               : std::int64_t{0}},
                                   {"total", rpc.total_us()}}}});
    return sacctmgr_print_data(self, "statistics", std::move(records));
  }
  Names names;
  return print(accounting_statistics(reply->diagnostics(), names));
}

}  // namespace

std::optional<int> sacctmgr_show_records(Sacctmgr& self, Text entity, Words words) {
  if (is_cut_of(entity, "transactions", 1) && !is_cut_of(entity, "tres", 2)) return show_transactions(self, words);
  if (is_cut_of(entity, "events", 1)) return show_events(self, words);
  if (is_cut_of(entity, "coordinators", 3)) return show_coordinators(self, words);
  if (is_cut_of(entity, "wckeys", 1)) return show_wckeys(self, words);
  if (is_cut_of(entity, "reservations", 4)) return show_reservations(self, words);
  if (is_cut_of(entity, "resources", 4))
    return show_none(self, words, resource_fields, "Name,Server,Type,Count,Allocated,ServerType", "resources");
  if (is_cut_of(entity, "federations", 1))
    return show_none(self, words, federation_fields, "Federation,Cluster,ID%2,Features,FedState", "federations");
  if (is_cut_of(entity, "instances", 1))
    return show_none(self, words, instance_fields, "Cluster,NodeNames,InstanceId,InstanceType,TimeStart,TimeEnd",
                     "instances");
  if (is_cut_of(entity, "runawayjobs", 2)) return show_runaways(self);
  if (is_cut_of(entity, "stats", 2)) return show_stats(self);
  return std::nullopt;
}

}  // namespace millrace
