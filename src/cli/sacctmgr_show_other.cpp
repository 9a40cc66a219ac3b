// src/cli/sacctmgr_show_other.cpp - sacctmgr show: the cluster, its configuration, what is odd about the accounts.
#include <pwd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/render/account_fields.h"
#include "cli/render/node_words.h"
#include "cli/render/text_forms.h"
#include "cli/sacctmgr.h"
#include "core/model/account_change.h"

namespace millrace {
namespace {

using Text = std::string_view;

constexpr std::uint32_t slurm_protocol = 11776;  // of the release whose commands these are

struct ClusterRow {
  const ClientSettings* settings = nullptr;
  std::string port;
  AssociationRow root{};  // what holds for the whole cluster
  std::vector<std::string> nodes;
  std::uint64_t cpus = 0, memory_mib = 0;
  std::map<std::string, std::int64_t> devices{};  // gres/gpu and how many
};

// The association of the whole cluster has it under the same name.
std::string of_root(const ClusterRow& row, Text name) {
  if (row.root.view == nullptr) return {};
  for (const Field<AssociationRow>& field : association_fields())
    if (field.header == name) return field.value(row.root);
  return {};
}

std::string cluster_tres(const ClusterRow& row) {
  std::string out = "cpu=" + std::to_string(row.cpus) + ",mem=" + std::to_string(row.memory_mib) +
                    "M,node=" + std::to_string(row.nodes.size()) + ",billing=" + std::to_string(row.cpus);
  for (const auto& [name, count] : row.devices) out += "," + name + "=" + std::to_string(count);
  return out;
}

// clang-format off
constexpr Field<ClusterRow> cluster_fields[] = {
    {"Cluster,Name", "Cluster", 10, [](const ClusterRow& r) { return r.settings->cluster_name; }},
    {"ControlHost", "ControlHost", 15, [](const ClusterRow& r) { return r.settings->controller_host; }},
    {"ControlPort", "ControlPort", 12, [](const ClusterRow& r) { return r.port; }},
    {"RPC", "RPC", 5, [](const ClusterRow&) { return std::to_string(slurm_protocol); }},
    {"Share,FairShare", "Share", 9, [](const ClusterRow& r) { return of_root(r, "Share"); }},
    {"GrpJobs", "GrpJobs", 7, [](const ClusterRow& r) { return of_root(r, "GrpJobs"); }},
    {"GrpTRES", "GrpTRES", 13, [](const ClusterRow& r) { return of_root(r, "GrpTRES"); }},
    {"GrpSubmitJobs", "GrpSubmit", 9, [](const ClusterRow& r) { return of_root(r, "GrpSubmit"); }},
    {"MaxJobs", "MaxJobs", 7, [](const ClusterRow& r) { return of_root(r, "MaxJobs"); }},
    {"MaxTRES", "MaxTRES", 13, [](const ClusterRow& r) { return of_root(r, "MaxTRES"); }},
    {"MaxSubmitJobs", "MaxSubmit", 9, [](const ClusterRow& r) { return of_root(r, "MaxSubmit"); }},
    {"MaxWall", "MaxWall", 11, [](const ClusterRow& r) { return of_root(r, "MaxWall"); }},
    {"QOS,QOSLevel", "QOS", 20, [](const ClusterRow& r) { return of_root(r, "QOS"); }},
    {"DefaultQOS", "Def QOS", 9, [](const ClusterRow& r) { return of_root(r, "Def QOS"); }},
    {"TRES", "TRES", 20, cluster_tres},
    {"ClusterNodes", "Cluster Nodes", 20, [](const ClusterRow& r) { return compress_hostlist(r.nodes); }},
    {"NodeCount", "NodeCount", 9, [](const ClusterRow& r) { return std::to_string(r.nodes.size()); }},
    {"CPUCount", "CPU Cnt", 7, [](const ClusterRow& r) { return std::to_string(r.cpus); }},
    {"ID", "ID", 6, [](const ClusterRow&) { return std::string{"1"}; }},
    {"Classification", "Class", 9, [](const ClusterRow&) { return std::string{}; }},
    {"Federation", "Federation", 10, [](const ClusterRow&) { return std::string{}; }},
};

struct ProblemRow {
  std::string cluster, account, user, problem;
};
constexpr Field<ProblemRow> problem_fields[] = {
    {"Cluster", "Cluster", 10, [](const ProblemRow& r) { return r.cluster; }},
    {"Account,Acct", "Account", -20, [](const ProblemRow& r) { return r.account; }},
    {"User", "User", 10, [](const ProblemRow& r) { return r.user; }},
    {"Problem", "Problem", 40, [](const ProblemRow& r) { return r.problem; }},
};
// clang-format on

// format=, and which cluster: there is one.
struct Question {
  std::string columns;
  bool here = true;  // the cluster is not another
};
Result<Question> read_question(Sacctmgr& self, std::span<const Text> words, std::string columns) {
  Question out{std::move(columns)};
  for (const Text word : words) {
    if (equals_ignoring_case(word, "where")) continue;
    const AccountSetting item = parse_account_setting(word);
    if (is_cut_of(item.key, "format", 1))
      out.columns = item.value;
    else if (item.key == "name" || is_cut_of(item.key, "clusters", 1))
      out.here = std::ranges::any_of(split(item.value, ','), [&](Text each) {
        return equals_ignoring_case(trim(each), self.settings.cluster_name);
      });
    else
      return fail(Errc::invalid, "Unknown condition: " + std::string{word});
  }
  return out;
}

template <class Row>
int show_rows(Sacctmgr& self, std::span<const Field<Row>> fields, std::span<const Text> words, const char* columns,
              const std::vector<Row>& rows) {
  const auto question = read_question(self, words, columns);
  if (!question) {
    say_plain(" " + question.error().story);
    return 1;
  }
  return sacctmgr_print_rows(self, fields, question->columns, question->here ? rows : std::vector<Row>{});
}

int show_cluster(Sacctmgr& self, std::span<const Text> words) {
  const auto book = sacctmgr_book(self);
  if (!book) return 1;
  wire::Request request;
  request.mutable_query_config();
  const auto config = sacctmgr_ask(self, request);
  if (!config) return 1;
  wire::Request nodes;
  nodes.mutable_query_nodes();
  const auto known = sacctmgr_ask(self, nodes);
  if (!known) return 1;
  ClusterRow row{.settings = &self.settings, .port = "0", .root = {}, .nodes = {}, .devices = {}};
  for (const wire::NodeView& node : known->nodes().nodes()) {
    row.nodes.push_back(node.name());
    row.cpus += usable_cpus(node);
    row.memory_mib += usable_memory(node);
    for (const Text each : split(node.gres_tres(), ','))
      if (const std::size_t equals = each.rfind('='); equals != Text::npos)
        row.devices[std::string{each.substr(0, equals)}] += parse_integer(each.substr(equals + 1)).value_or(0);
  }
  for (const auto& entry : config->config().entries())
    if (entry.key() == "SlurmctldPort") row.port = entry.value();
  if (!book->in_tree_order.empty()) row.root = {&*book, book->in_tree_order.front(), false};
  if (self.options.listing.data) {
    const auto port = parse_integer(row.port);
    DataMap root{{"account", "root"}, {"cluster", self.settings.cluster_name}, {"partition", ""}, {"user", ""}};
    DataList tres;
    for (const std::string& name : book->answer.tres_names()) {
      const std::size_t slash = name.find('/');
      tres.push_back(DataMap{{"type", name.substr(0, slash)},
                             {"name", slash == std::string::npos ? "" : name.substr(slash + 1)},
                             {"id", static_cast<std::uint32_t>(tres.size() + 1)},
                             {"count", 0u}});
    }
    return sacctmgr_print_data(
        self, "clusters",
        DataList{DataMap{{"controller", DataMap{{"host", self.settings.controller_host},
                                                {"port", static_cast<std::uint32_t>(port.value_or(0))}}},
                         {"flags", DataList{}},
                         {"name", self.settings.cluster_name},
                         {"nodes", ""},
                         {"select_plugin", ""},
                         {"associations", DataMap{DataMember{"root", std::move(root)}}},
                         {"rpc_version", slurm_protocol},
                         {"tres", std::move(tres)}}});
  }
  return show_rows(self, std::span<const Field<ClusterRow>>{cluster_fields}, words,
                   "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmitJobs,MaxJobs,MaxTRES,"
                   "MaxSubmitJobs,MaxWall,QOS,DefaultQOS",
                   std::vector{row});
}

int show_configuration(Sacctmgr& self) {
  wire::Request request;
  request.mutable_query_config();
  const auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  DataMap data;
  std::string out = "Configuration data as of " + format_time(reply->config().now_us(), "Unknown") + '\n';
  for (const auto& entry : reply->config().entries()) {
    if (!entry.key().starts_with("Account") && !entry.key().starts_with("Auth") && entry.key() != "MessageTimeout" &&
        entry.key() != "PrivateData" && entry.key() != "SlurmUser" && entry.key() != "TrackWCKey")
      continue;
    data.push_back({entry.key(), entry.value()});
    std::string key = entry.key();
    key.resize(std::max<std::size_t>(key.size(), 22), ' ');
    out += key + " = " + entry.value() + '\n';
  }
  if (self.options.listing.data) return sacctmgr_print_data(self, "configuration", DataList{std::move(data)});
  return print(out);
}

int show_problems(Sacctmgr& self, std::span<const Text> words) {
  const auto book = sacctmgr_book(self);
  if (!book) return 1;
  std::set<std::string> with_users;
  for (const wire::AssociationView* view : book->in_tree_order)
    for (const wire::AssociationView* at = view; at != nullptr && !view->association().user().empty();) {
      with_users.insert(at->association().account());
      const auto above = book->by_id.find(at->association().parent());
      at = above == book->by_id.end() ? nullptr : above->second;
    }
  std::vector<ProblemRow> rows;
  for (const wire::AssociationView* view : book->in_tree_order) {
    const wire::Association& a = view->association();
    if (a.user().empty() && !with_users.contains(a.account()))
      rows.push_back({self.settings.cluster_name, a.account(), "", "Account has no Users"});
    if (!a.user().empty() && getpwnam(a.user().c_str()) == nullptr)
      rows.push_back({self.settings.cluster_name, a.account(), a.user(), "User does not have a uid"});
  }
  if (self.options.listing.data) {
    DataList records;
    for (const ProblemRow& row : rows)
      records.push_back(
          DataMap{{"cluster", row.cluster}, {"account", row.account}, {"user", row.user}, {"problem", row.problem}});
    return sacctmgr_print_data(self, "problems", std::move(records));
  }
  return show_rows(self, std::span<const Field<ProblemRow>>{problem_fields}, words, "Cluster,Account,User,Problem",
                   rows);
}

}  // namespace

std::optional<AccountBook> sacctmgr_book(Sacctmgr& self) {
  wire::Request request;
  request.mutable_query_accounts();
  auto reply = sacctmgr_ask(self, request);
  if (!reply) return std::nullopt;
  return AccountBook(std::move(*reply->mutable_accounts()));
}

// Conditions hold, format= does not matter.
int sacctmgr_print_data(Sacctmgr& self, const std::string& key, DataList records) {
  if (self.options.listing.data->list_parsers) return print(data_parser_names());
  std::size_t at = 0;
  return print_records(self.command, self.settings, self.options.listing.data->form, key,
                       [&] { return at == records.size() ? Data{} : records[at++]; });
}

std::optional<int> sacctmgr_show_other(Sacctmgr& self, Text entity, std::span<const Text> words) {
  if (is_cut_of(entity, "clusters", 2)) return show_cluster(self, words);
  if (is_cut_of(entity, "configuration", 3)) return show_configuration(self);
  if (is_cut_of(entity, "problems", 1)) return show_problems(self, words);
  return std::nullopt;
}

}  // namespace millrace
