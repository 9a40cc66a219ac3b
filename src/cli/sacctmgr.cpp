// src/cli/sacctmgr.cpp - adds, changes and removes accounts, users and QOS: the words, what would happen, the question,
// the order.
#include "cli/sacctmgr.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/options/option.h"
#include "cli/version.h"
#include "client.pb.h"
#include "core/model/account_change.h"

namespace millrace {
namespace {

constexpr ManualHead sacctmgr_head{
    "sacctmgr", "show and change accounts, users and QOS", "[options] add|modify|delete|show entity ...",
    "Accounts form a tree; users are in accounts; a quality of service (QOS) has a priority and limits of its own. "
    "Only "
    "administrators change them. Examples: add account physics fairshare=10; add user alice account=physics; "
    "modify qos normal set MaxJobsPU=20; modify user where name=alice account=physics set GrpTRES=cpu=100; "
    "show association format=Account,User,Share,GrpTRES."};

using Text = std::string_view;
using D = SacctmgrOptions;
using enum ArgKind;

// clang-format off
constexpr Option<D> sacctmgr_rows[] = {
    {"associations", 's', none, "", any_tool, "", "", "show the associations of accounts and users too", [](D& d, Text) -> Result<void> { d.associations = true; return {}; }},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](D& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"immediate", 'i', none, "", any_tool, "", "", "do not ask before changes are made", [](D& d, Text) -> Result<void> { d.immediate = true; return {}; }},
    {"noheader", 'n', none, "", any_tool, "", "", "no header", [](D& d, Text) -> Result<void> { d.style.header = false; return {}; }},
    {"parsable", 'p', none, "", any_tool, "", "", "| between columns and at the end", [](D& d, Text) -> Result<void> { d.style.parsable = Parsable::with_end; return {}; }},
    {"parsable2", 'P', none, "", any_tool, "", "", "| between columns", [](D& d, Text) -> Result<void> { d.style.parsable = Parsable::without_end; return {}; }},
    {"quiet", 'Q', none, "", any_tool, "", "", "say nothing but errors", [](D& d, Text) -> Result<void> { d.quiet = true; return {}; }},
    {"readonly", 'r', none, "", any_tool, "", "", "change nothing", [](D& d, Text) -> Result<void> { d.readonly = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](D& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say what is sent", [](D& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](D& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"json", '\0', optional, "<parser>", any_tool, "", "", "records as JSON, of show and list", [](D& d, Text v) { return wish_json(d.listing, v); }},
    {"oneliner", 'o', none, "", any_tool, "", "", "one line for each", [](D&, Text) -> Result<void> { return {}; }, Effect::no_effect, "each has one line anyway"},
    {"yaml", '\0', optional, "<parser>", any_tool, "", "", "the same as YAML", [](D& d, Text v) { return wish_yaml(d.listing, v); }},
};
// clang-format on

void put_settings(const std::vector<AccountSetting>& from,
                  google::protobuf::RepeatedPtrField<wire::AccountSetting>* to) {
  for (const AccountSetting& each : from) {
    auto* added = to->Add();
    added->set_key(each.key);
    added->set_op(std::string(1, each.op));
    added->set_value(each.value);
  }
}

}  // namespace

bool sacctmgr_may_commit() {
  print("Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): ");
  for (;;) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 30'000) <= 0) {
      print("timeout\n");
      return false;
    }
    char letter = 0;
    if (::read(STDIN_FILENO, &letter, 1) != 1) return false;
    if (letter == 'y' || letter == 'Y') return true;
    if (letter == 'n' || letter == 'N' || letter == '\n') return false;
    print("Y or N please\n(N/y): ");
  }
}

namespace {

int say_nothing(const AccountChange& change, bool quiet) {
  if (quiet) return change.action == AccountAction::add ? 0 : 1;
  switch (change.action) {
    case AccountAction::add:
      print(" Nothing new added.\n");
      return 0;
    case AccountAction::modify:
      say_plain("  Nothing modified");
      return 1;
    case AccountAction::remove:
      say_plain(" Nothing deleted");
      return 1;
  }
  return 1;
}

}  // namespace

bool is_cut_of(Text word, Text whole, std::size_t least) {
  return word.size() >= least && word.size() <= whole.size() &&
         equals_ignoring_case(word, whole.substr(0, word.size()));
}

std::optional<wire::Reply> sacctmgr_ask(Sacctmgr& self, wire::Request& request) {
  auto reply = ask_all(self.session, request);
  if (reply) return *std::move(reply);
  say_trouble(self.command, self.session);
  say_error(self.command, reply.error().story);
  return std::nullopt;
}

namespace {

// The rows below a refusal name the cluster, which the controller leaves to us.
std::string with_cluster(std::string story, const std::string& cluster) {
  for (std::size_t line = story.find("\n  "); line != std::string::npos; line = story.find("\n  ", line + 1)) {
    const std::size_t at = story.find(" A = ", line);
    if (at != std::string::npos && at < story.find('\n', line + 1)) story.insert(at, " C = " + cluster);
  }
  return story;
}

// The first cluster that is named and is not this one. Empty: none is, or this one is among them.
std::string other_cluster(const AccountChange& change, const std::string& cluster) {
  std::string other;
  for (const auto* list : {&change.where, &change.set})
    for (const AccountSetting& s : *list) {
      if (!is_cut_of(s.key, "clusters", 4)) continue;
      for (const Text name : split(s.value, ',')) {
        if (equals_ignoring_case(trim(name), cluster)) return {};
        if (other.empty()) other = trim(name);
      }
    }
  return other;
}

constexpr Text refusals[] = {"Access/permission", "Job(s) active", "This request", "You can not remove the default"};

}  // namespace

int sacctmgr_change(Sacctmgr& self, std::span<const Text> words) {
  if (words.size() > 1 && is_cut_of(words[1], "clusters", 2)) return sacctmgr_change_cluster(self, words);
  const auto change = parse_account_change(words);
  if (!change) {
    say_plain(" " + change.error().story);
    return 1;
  }
  if (const std::string other = other_cluster(*change, self.settings.cluster_name); !other.empty()) {
    if (change->action != AccountAction::add) return say_nothing(*change, self.options.quiet);
    say_plain(" This cluster '" + other + "' doesn't exist.\n        Contact your admin to add it to accounting.");
    return 1;
  }
  return sacctmgr_commit(self, *change, [&](const wire::AccountsChanged& changed) {
    return sacctmgr_announcement(*change, changed, self.settings.cluster_name);
  });
}

int sacctmgr_commit(Sacctmgr& self, const AccountChange& change,
                    const std::function<std::string(const wire::AccountsChanged&)>& announce) {
  if (self.options.readonly) {
    say_plain(" Can't run this command in readonly mode.");
    return 1;
  }
  wire::Request request;
  wire::ChangeAccounts& ask = *request.mutable_change_accounts();
  ask.set_action(static_cast<std::uint32_t>(change.action));
  ask.set_entity(static_cast<std::uint32_t>(change.entity));
  put_settings(change.where, ask.mutable_where());
  put_settings(change.set, ask.mutable_set());
  ask.set_try_only(true);
  const auto failed = [&](const Error& error) {
    say_trouble(self.command, self.session);
    const bool denied = std::ranges::any_of(refusals, [&](Text begin) { return error.story.starts_with(begin); });
    say_plain((denied ? " Error with request: " : " ") + with_cluster(error.story, self.settings.cluster_name));
    return 1;
  };
  const auto tried = ask_all(self.session, request);
  if (!tried) return failed(tried.error());
  if (tried->accounts_changed().names_size() == 0) return say_nothing(change, self.options.quiet);
  if (!self.options.quiet) print(announce(tried->accounts_changed()));
  if (!self.options.immediate && !sacctmgr_may_commit()) {
    print(" Changes Discarded\n");
    return 0;
  }
  ask.set_try_only(false);
  const auto done = ask_all(self.session, request);
  return done ? 0 : failed(done.error());
}

namespace {

// Words of a line: blanks separate them outside of quotes, which are taken off.
std::vector<std::string> line_words(Text line) {
  std::vector<std::string> out;
  bool within = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      if (!within) out.emplace_back(), within = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      within = false;
    } else {
      if (!within) out.emplace_back(), within = true;
      out.back() += c;
    }
  }
  return out;
}

int run_words(Sacctmgr& self, std::span<const Text> words) {
  const Text verb = words[0];
  if (equals_ignoring_case(verb, "version")) return print("slurm " + std::string{slurm_version} + '\n');
  if (equals_ignoring_case(verb, "help") || verb == "?") return print(sacctmgr_manual());
  if (is_cut_of(verb, "show", 3) || is_cut_of(verb, "list", 1)) return sacctmgr_show(self, words.subspan(1));
  if (equals_ignoring_case(verb, "problem") || equals_ignoring_case(verb, "problems"))
    return sacctmgr_show(self, words);
  if (self.options.listing.data) {
    say_error(self.command,
              "--json and --yaml are for show and list; " + std::string{verb} + " prints nothing that could be data");
    return 1;
  }
  if (is_cut_of(verb, "dump", 2)) return sacctmgr_dump(self, words.subspan(1));
  if (is_cut_of(verb, "load", 2))
    return self.options.readonly ? (say_plain(" Can't run this command in readonly mode."), 1)
                                 : sacctmgr_load(self, words.subspan(1));
  if (const auto done = sacctmgr_daemon(self, words)) return *done;
  if (words.size() > 1 && is_cut_of(words[1], "jobs", 1) &&
      (is_cut_of(verb, "modify", 1) || is_cut_of(verb, "update", 2)))
    return sacctmgr_modify_job(self, words.subspan(2));
  for (const Text each : {"add", "create", "modify", "update", "delete", "remove"})
    if (is_cut_of(verb, each, 2) || verb == "m") return sacctmgr_change(self, words);
  say_plain("invalid keyword: " + std::string{verb});
  return 1;
}

// Without words: a prompt, line by line until exit or the end of input. What one line did wrong is the exit code of the
// last.
int run_prompt(Sacctmgr& self) {
  int code = 0;
  std::string input;
  for (;;) {
    print("sacctmgr: ");
    input.clear();
    char letter = 0;
    ssize_t got = 0;
    while ((got = ::read(STDIN_FILENO, &letter, 1)) == 1 && letter != '\n') input += letter;
    if (got <= 0 && input.empty()) return print("\n") == 0 ? code : 1;
    const std::vector<std::string> given = line_words(input);
    if (given.empty()) continue;
    std::vector<Text> words(given.begin(), given.end());
    const auto is = [&](Text word) { return equals_ignoring_case(words[0], word); };
    if (is("exit") || is("quit") || is("q")) return code;
    if (is("readonly"))
      self.options.readonly = true;
    else if (is("quiet"))
      self.options.quiet = true;
    else if (is("parsable"))
      self.options.style.parsable = Parsable::with_end;
    else if (is("associations"))
      self.options.associations = true;
    else if (is("verbose"))
      self.command.verbose = 1;
    else
      code = run_words(self, words);
  }
}

}  // namespace

static constexpr CommandWord verbs[] = {
    {"show", "", "", true, ""},   {"list", "", "", true, ""},    {"add", "", "", true, ""},
    {"create", "", "", true, ""}, {"modify", "", "", true, ""},  {"update", "", "", true, ""},
    {"delete", "", "", true, ""}, {"remove", "", "", true, ""},  {"dump", "", "", true, ""},
    {"load", "", "", true, ""},   {"ping", "", "", true, ""},    {"reconfigure", "", "", true, ""},
    {"clear", "", "", true, ""},  {"version", "", "", true, ""},
};
static constexpr CommandWord entities[] = {
    {"account", "changed", "", true, ""}, {"user", "changed", "", true, ""},
    {"qos", "changed", "", true, ""},     {"coordinator", "changed", "", true, ""},
    {"association", "", "", true, ""},    {"tres", "", "", true, ""},
    {"cluster", "", "", true, ""},        {"configuration", "", "", true, ""},
    {"event", "", "", true, ""},          {"problem", "", "", true, ""},
    {"transaction", "", "", true, ""},    {"wckey", "", "", true, ""},
    {"reservation", "", "", true, ""},    {"runawayjobs", "", "", true, ""},
    {"stats", "", "", true, ""},
};

std::vector<CommandWord> sacctmgr_words() { return {std::begin(verbs), std::end(verbs)}; }
std::vector<CommandWord> sacctmgr_entities() { return {std::begin(entities), std::end(entities)}; }
std::vector<OptionText> sacctmgr_options() { return option_texts(std::span<const Option<D>>{sacctmgr_rows}, any_tool); }
std::string sacctmgr_manual() {
  return man_page(sacctmgr_head, option_texts(std::span<const Option<D>>{sacctmgr_rows}, any_tool));
}

int run_sacctmgr(Command& command) {
  SacctmgrOptions options;
  const std::span<const Option<D>> table{sacctmgr_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, options);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(options.asked, sacctmgr_head, option_texts(table, any_tool))) return 0;
  const std::span<const Text> words{line->operands};
  if (!words.empty() && equals_ignoring_case(words[0], "version"))
    return print("slurm " + std::string{slurm_version} + '\n');
  if (!words.empty() && equals_ignoring_case(words[0], "help")) return print(sacctmgr_manual());
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  command.verbose = options.verbose;
  Session session(*session_options(*settings, command, 1));
  Sacctmgr self{command, options, session, *settings};
  return words.empty() ? run_prompt(self) : run_words(self, words);
}

}  // namespace millrace
