// src/cli/sacctmgr_daemon.cpp - sacctmgr ping, reconfigure: what slurmdbd would do is done by the controller; and
// modify job.
#include "base/text.h"
#include "cli/ask.h"
#include "cli/options/option.h"
#include "cli/sacctmgr.h"
#include "client.pb.h"

namespace millrace {
namespace {

using Text = std::string_view;

int failed(Sacctmgr& self, const Error& error) {
  say_trouble(self.command, self.session);
  say_plain(" Error with request: " + error.story);
  return 1;
}

int ping(Sacctmgr& self) {
  wire::Request request;
  request.mutable_ping();
  const auto reply = ask_all(self.session, request);
  if (self.options.listing.data)
    return sacctmgr_print_data(
        self, "pings",
        DataList{DataMap{{"hostname", reply ? reply->pong().host() : self.settings.controller_host},
                         {"responding", reply.has_value()},
                         {"primary", true}}});
  print("slurmdbd(primary) at " + (reply ? reply->pong().host() : self.settings.controller_host) + " is " +
        (reply ? "UP" : "DOWN") + '\n');
  return reply ? 0 : 1;
}

int order(Sacctmgr& self, wire::Request& request) {
  if (self.options.readonly) {
    say_plain(" Can't run this command in readonly mode.");
    return 1;
  }
  const auto reply = ask_all(self.session, request);
  return reply ? 0 : failed(self, reply.error());
}

struct JobWord {
  Text key;
  std::size_t least;
  void (*set)(wire::AnnotateRecord& to, const std::string& value);
};
// clang-format off
constexpr JobWord job_words[] = {
    {"comment", 1, [](wire::AnnotateRecord& to, const std::string& v) { to.set_comment(v); }},
    {"derivedexitcode", 2, [](wire::AnnotateRecord& to, const std::string& v) { to.set_derived_exit(v); }},
    {"derivedes", 9, [](wire::AnnotateRecord& to, const std::string& v) { to.set_comment(v); }},
    {"admincomment", 1, [](wire::AnnotateRecord& to, const std::string& v) { to.set_admin_comment(v); }},
    {"systemcomment", 1, [](wire::AnnotateRecord& to, const std::string& v) { to.set_system_comment(v); }},
    {"extra", 1, [](wire::AnnotateRecord& to, const std::string& v) { to.set_extra(v); }},
    {"newwckey", 1, [](wire::AnnotateRecord& to, const std::string& v) { to.set_wckey(v); }},
    {"wckey", 1, [](wire::AnnotateRecord& to, const std::string& v) { to.set_wckey(v); }},
};
// clang-format on

// 3 or 3:9, an exit code and a signal.
std::optional<std::string> exit_pair(Text text) {
  const std::size_t colon = text.find(':');
  const auto code = parse_integer(text.substr(0, colon)),
             signal = colon == Text::npos ? std::optional<std::int64_t>{0} : parse_integer(text.substr(colon + 1));
  if (!code || !signal || *code < 0 || *code > 255 || *signal < 0 || *signal > 127) return std::nullopt;
  return std::to_string(*code) + ":" + std::to_string(*signal);
}

Result<void> read_words(std::span<const Text> words, wire::AnnotateRecord& ask) {
  bool setting = false;
  for (const Text word : words) {
    if (equals_ignoring_case(word, "where") || equals_ignoring_case(word, "set")) {
      setting = equals_ignoring_case(word, "set");
      continue;
    }
    const AccountSetting item = parse_account_setting(word);
    if (!setting) {
      if (is_cut_of(item.key, "users", 1)) {
        ask.set_user(item.value);
      } else if (is_cut_of(item.key, "jobids", 1) || item.key == "name" || is_cut_of(item.key, "ids", 1)) {
        for (const Text each : split(item.value, ',')) {
          const auto job = parse_job_name(each);
          const std::string wrong = "Bad job id: " + std::string{each};
          if (!job || !job->tasks.empty()) return fail(Errc::invalid, job ? wrong : told(job.error(), wrong));
          ask.add_job_ids(job->id);
        }
      } else if (!is_cut_of(item.key, "clusters", 1)) {
        return fail(Errc::invalid, "Unknown condition: " + std::string{word});
      }
      continue;
    }
    const JobWord* found = nullptr;
    for (const JobWord& each : job_words)
      if (found == nullptr && is_cut_of(item.key, each.key, each.least)) found = &each;
    if (found == nullptr) return fail(Errc::invalid, "Unknown option: " + std::string{word});
    std::string value = item.value;
    if (found->key == "derivedexitcode") {
      const auto pair = exit_pair(value);
      if (!pair)
        return fail(Errc::invalid, "'" + value + "' is not right for DerivedExitCode; 1 or 1:0 would be right");
      value = *pair;
    }
    found->set(ask, value);
  }
  if (ask.job_ids_size() == 0)
    return fail(Errc::invalid, "No conditions given to change, not changing all of them: jobid= says which");
  if (!ask.has_comment() && !ask.has_derived_exit() && !ask.has_admin_comment() && !ask.has_system_comment() &&
      !ask.has_extra() && !ask.has_wckey())
    return fail(Errc::invalid, "You didn't give me anything to set");
  return {};
}

}  // namespace

std::optional<int> sacctmgr_daemon(Sacctmgr& self, std::span<const Text> words) {
  const Text verb = words[0];
  wire::Request request;
  if (is_cut_of(verb, "ping", 3)) return ping(self);
  if (is_cut_of(verb, "reconfigure", 4)) {
    request.mutable_reconfigure();
    return order(self, request);
  }
  if (is_cut_of(verb, "clear", 2)) {
    if (words.size() != 2 || !is_cut_of(words[1], "stats", 2))
      return say_plain(" clear stats is all that can be cleared"), 1;
    return say_error(self.command,
                     "the counters of sacctmgr show stats are the controller's; sdiag --reset starts them anew, "
                     "together with its own"),
           1;
  }
  if (is_cut_of(verb, "archive", 2))
    return say_error(self.command,
                     "archive is not built in Millrace: records are kept by the controller for as long as "
                     "SlurmctldParameters=millrace_keep_ended= says"),
           1;
  if (is_cut_of(verb, "shutdown", 4))
    return say_error(
               self.command,
               "there is no slurmdbd to shut down: accounts are kept by the controller, which scontrol shutdown stops"),
           1;
  return std::nullopt;
}

int sacctmgr_modify_job(Sacctmgr& self, std::span<const Text> words) {
  if (self.options.readonly) {
    say_plain(" Can't run this command in readonly mode.");
    return 1;
  }
  wire::Request request;
  wire::AnnotateRecord& ask = *request.mutable_annotate_record();
  if (const auto read = read_words(words, ask); !read) {
    say_plain(" " + read.error().story);
    return 1;
  }
  ask.set_try_only(true);
  const auto tried = ask_all(self.session, request);
  if (!tried) return failed(self, tried.error());
  if (tried->accounts_changed().names_size() == 0) {
    if (!self.options.quiet) say_plain("  Nothing modified");
    return 1;
  }
  if (!self.options.quiet) {
    std::string out = " Modified jobs...\n";
    for (const std::string& name : tried->accounts_changed().names()) out += "  " + name + '\n';
    print(out);
  }
  if (!self.options.immediate && !sacctmgr_may_commit()) {
    print(" Changes Discarded\n");
    return 0;
  }
  ask.set_try_only(false);
  const auto done = ask_all(self.session, request);
  return done ? 0 : failed(self, done.error());
}

}  // namespace millrace
