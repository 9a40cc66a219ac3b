// src/cli/sacctmgr_file.cpp - sacctmgr dump and load: accounts, users and their limits as a text file of Slurm's form.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "cli/account_file.h"
#include "cli/render/account_fields.h"
#include "cli/sacctmgr.h"
#include "core/model/account_change.h"

namespace millrace {
namespace {

using Text = std::string_view;

// Names that both the fields and `modify ... set` understand.
constexpr Text settings[] = {
    "DefaultQOS",     "Fairshare",     "GrpTRESMins",   "GrpTRESRunMins",       "GrpTRES",
    "GrpJobs",        "GrpSubmitJobs", "GrpWall",       "MaxTRESMinsPerJob",    "MaxTRESPerJob",
    "MaxTRESPerNode", "MaxJobs",       "MaxSubmitJobs", "MaxWallDurationPerJob"};

std::string field_text(const AssociationRow& row, Text name) {
  const auto chosen = choose_fields(association_fields(), name);
  return chosen && !chosen->empty() ? chosen->front().field->value(row) : std::string{};
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string settings_text(const AssociationRow& row) {
  const wire::Association& a = row.association();
  std::string out;
  for (const Text name : settings) {
    if (name == "DefaultQOS" && a.default_qos() == 0) continue;  // else that of the account above
    const std::string value = field_text(row, name);
    if (value.empty()) continue;
    out += ":" + std::string{name} + "=" + (value.find_first_of(",:") != std::string::npos ? quoted(value) : value);
  }
  if (a.qos_size() > 0) out += ":QOS=" + quoted(row.book->qos_list(a.qos()));
  return out;
}

// What is said of the user as such; it stands in each of his lines.
std::string person_text(const AccountBook& book, const std::string& user) {
  std::string out = ":DefaultAccount=" + quoted(book.default_account(user));
  if (const std::string level = book.admin_level(user); level != "None") out += ":AdminLevel=" + quoted(level);
  std::string accounts;  // those he was given, not those below them
  for (const wire::AssociationView* view : book.in_tree_order)
    if (std::ranges::find(view->association().coordinators(), user) != view->association().coordinators().end())
      accounts += (accounts.empty() ? "" : ",") + view->association().account();
  if (!accounts.empty()) out += ":Coordinator=" + quoted(accounts);
  const wire::AccountUser* known = book.find_user(user);
  if (known == nullptr || known->wckeys().empty()) return out;
  std::string keys;
  for (const std::string& key : known->wckeys()) keys += (keys.empty() ? "" : ",") + key;
  return out + ":WCKeys=" + quoted(keys) +
         (known->default_wckey().empty() ? "" : ":DefaultWCKey=" + quoted(known->default_wckey()));
}

std::string dump_text(const AccountBook& book, const std::string& cluster) {
  std::string out = "# Accounts and users of cluster " + cluster +
                    ", as `sacctmgr load` reads them.\n"
                    "# Parent - 'name' says below which account the lines after it are.\n";
  if (book.in_tree_order.empty()) return out;
  const wire::AssociationView* root = book.in_tree_order.front();
  out += "Cluster - " + quoted(cluster) + settings_text({&book, root, false}) + '\n';
  for (const wire::AssociationView* parent : book.in_tree_order) {
    if (!parent->association().user().empty()) continue;
    std::string below;
    for (const wire::AssociationView* view : book.in_tree_order) {
      const wire::Association& a = view->association();
      if (a.parent() != parent->association().id()) continue;
      if (a.user().empty()) {
        below += "Account - " + quoted(a.account()) + ":Description=" + quoted(a.description()) +
                 ":Organization=" + quoted(a.organization()) + settings_text({&book, view, false}) + '\n';
      } else {
        below += "User - " + quoted(a.user()) + person_text(book, a.user()) +
                 (a.partition().empty() ? "" : ":Partition=" + quoted(a.partition())) +
                 settings_text({&book, view, false}) + '\n';
      }
    }
    if (!below.empty()) out += "Parent - " + quoted(parent->association().account()) + '\n' + below;
  }
  return out;
}

bool is_setting(const std::string& setting, Text key) {
  return equals_ignoring_case(Text{setting}.substr(0, setting.find('=')), key);
}

// What is said of the user as such waits until all accounts and users are there.
constexpr Text of_person[] = {"DefaultAccount", "AdminLevel", "WCKeys", "DefaultWCKey", "Coordinator"};
bool is_of_person(const std::string& setting) {
  return std::ranges::any_of(of_person, [&](Text key) { return is_setting(setting, key); });
}

int run(Sacctmgr& self, const std::vector<std::string>& words) {
  const std::vector<Text> views(words.begin(), words.end());
  return sacctmgr_change(self, views);
}

// What is there already is left: adding says that nothing is new; then it is given what the file says of it.
int load_line(Sacctmgr& self, const AccountLine& line, const std::string& parent) {
  const bool account = line.kind == "account";
  std::vector<std::string> add{"add", account ? "account" : "user", line.name,
                               (account ? "parent=" : "account=") + parent};
  std::vector<std::string> change{"modify", account ? "account" : "user", "where", "name=" + line.name};
  if (!account) change.push_back("account=" + parent);
  std::vector<std::string> settings;
  for (const std::string& setting : line.settings) {
    if (!account && is_of_person(setting)) continue;
    if (is_setting(setting, "Partition"))
      add.push_back(setting), change.push_back(setting);
    else if (setting.back() != '=')
      settings.push_back(setting);
  }
  if (const int code = run(self, add); code != 0 || settings.empty()) return code;
  change.push_back("set");
  change.insert(change.end(), settings.begin(), settings.end());
  return run(self, change);
}

// What holds for the whole cluster.
int load_cluster(Sacctmgr& self, const AccountLine& line) {
  std::vector<std::string> change{"modify", "cluster", "set"};
  for (const std::string& setting : line.settings)
    if (setting.back() != '=') change.push_back(setting);
  return change.size() > 3 ? run(self, change) : 0;
}

int load_person(Sacctmgr& self, const AccountLine& line) {
  std::vector<std::string> change{"modify", "user", "where", "name=" + line.name, "set"};
  const std::size_t fixed = change.size();
  std::string coordinated;
  for (const std::string& setting : line.settings) {
    if (!is_of_person(setting) || setting.back() == '=') continue;
    if (is_setting(setting, "Coordinator"))
      coordinated = setting.substr(setting.find('=') + 1);
    else
      change.push_back(setting);
  }
  if (change.size() > fixed)
    if (const int code = run(self, change); code != 0) return code;
  return coordinated.empty() ? 0 : run(self, {"add", "coordinator", "account=" + coordinated, "names=" + line.name});
}

}  // namespace

int sacctmgr_dump(Sacctmgr& self, std::span<const Text> words) {
  std::string cluster, file;
  for (const Text word : words) {
    const AccountSetting item = parse_account_setting(word);
    if (item.key == "file")
      file = item.value;
    else if (item.key == "name" || is_cut_of(item.key, "clusters", 1))
      cluster = item.value;
    else {
      say_plain(" Unknown option: " + std::string{word});
      return 1;
    }
  }
  if (cluster.empty()) {
    say_plain(" We need a cluster to dump.");
    return 1;
  }
  if (cluster != self.settings.cluster_name) {
    say_plain(" There is no cluster '" + cluster + "' here; this one is " + self.settings.cluster_name + ".");
    return 1;
  }
  wire::Request request;
  request.mutable_query_accounts();
  auto reply = sacctmgr_ask(self, request);
  if (!reply) return 1;
  const AccountBook book(std::move(*reply->mutable_accounts()));
  if (file.empty()) file = "./" + cluster + ".cfg";
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = fd >= 0 && write_all(fd, dump_text(book, cluster));
  const int problem = errno;
  if (fd >= 0) close(fd);
  if (!written) {
    say_error(self.command, "Could not open/write file " + file + ": " + std::strerror(problem));
    return 1;
  }
  return self.options.quiet ? 0 : print("sacctmgr: Association information written to " + file + '\n');
}

int sacctmgr_load(Sacctmgr& self, std::span<const Text> words) {
  std::string file;
  for (const Text word : words) {
    const AccountSetting item = parse_account_setting(word);
    if (item.key == "file" || (item.key == "name" && file.empty() && !equals_ignoring_case(item.value, "clean")))
      file = item.value;
    else if (equals_ignoring_case(word, "clean")) {
      say_error(self.command, "load clean is not built yet in Millrace: accounts that the file does not name stay");
      return 1;
    } else if (!is_cut_of(item.key, "clusters", 1) || item.value != self.settings.cluster_name) {
      say_plain(" Unknown option: " + std::string{word});
      return 1;
    }
  }
  if (file.empty()) {
    say_plain(" No filename given, specify one with file=''");
    return 1;
  }
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) {
    say_error(self.command, "Unable to read \"" + file + "\": " + std::strerror(errno));
    return 1;
  }
  std::vector<std::pair<AccountLine, std::string>> lines;  // and the account they are below
  std::optional<AccountLine> cluster;
  std::string parent = "root";
  std::size_t number = 0;
  for (const Text each : split(text.view(), '\n')) {
    ++number;
    const auto line = parse_account_line(each);
    const bool known = line && (!*line || (*line)->kind == "cluster" || (*line)->kind == "parent" ||
                                (*line)->kind == "account" || (*line)->kind == "user");
    if (!known) {
      say_error(self.command, file + " line " + std::to_string(number) + ": " +
                                  (line ? "'" + (*line)->kind + "' is not one of Cluster, Parent, Account, User"
                                        : line.error().story));
      return 1;
    }
    if (!*line) continue;
    if ((*line)->kind == "parent") parent = (*line)->name;
    if ((*line)->kind == "account" || (*line)->kind == "user") lines.emplace_back(**line, parent);
    if ((*line)->kind == "cluster") cluster = **line;
  }
  Sacctmgr quiet{self.command, self.options, self.session, self.settings};
  quiet.options.immediate = quiet.options.quiet = true;
  if (cluster)
    if (const int code = load_cluster(quiet, *cluster); code != 0) return code;
  for (const auto& [line, above] : lines)
    if (const int code = load_line(quiet, line, above); code != 0) return code;
  for (const auto& [line, above] : lines)
    if (const int code = line.kind == "user" ? load_person(quiet, line) : 0; code != 0) return code;
  return self.options.quiet ? 0 : print(" " + std::to_string(lines.size()) + " accounts and users loaded.\n");
}

}  // namespace millrace
