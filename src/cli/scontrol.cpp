// src/cli/scontrol.cpp - shows and changes jobs, nodes and partitions, and speaks with the controller itself.
#include "cli/scontrol.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "cli/version.h"

namespace millrace {
namespace {

constexpr ManualHead head{"scontrol", "show and change jobs, nodes, partitions and reservations", "[options] [command]",
                          "Commands: create reservation, delete reservation, show job|node|partition|reservation|config|hostnames|hostlist|hostlistsorted, hold, uhold, release, requeue, requeuehold, "
                          "update, ping, reconfigure, shutdown, write batch_script, version. Without a command it reads commands line by line."};

struct Draft {
  Asked asked;
  ShowOptions show;
  bool all = false, quiet = false;
};

using Text = std::string_view;
using enum ArgKind;

// clang-format off
constexpr Option<Draft> rows[] = {
    {"all", 'a', none, "", any_tool, "SCONTROL_ALL", "", "hidden partitions too", [](Draft& d, Text) -> Result<void> { d.all = true; return {}; }},
    {"details", 'd', none, "", any_tool, "", "", "show more; may be repeated", [](Draft& d, Text) -> Result<void> { ++d.show.detail; return {}; }},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](Draft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"hide", '\0', none, "", any_tool, "", "", "no hidden partitions", [](Draft& d, Text) -> Result<void> { d.all = false; return {}; }},
    {"oneliner", 'o', none, "", any_tool, "", "", "one line per record", [](Draft& d, Text) -> Result<void> { d.show.one_line = true; return {}; }},
    {"quiet", 'Q', none, "", any_tool, "", "", "print errors only", [](Draft& d, Text) -> Result<void> { d.quiet = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](Draft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "accepted", [](Draft&, Text) -> Result<void> { return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](Draft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"clusters", 'M', required, "", any_tool, "SLURM_CLUSTERS", "", "other clusters", nullptr},
    {"federation", '\0', none, "", any_tool, "SCONTROL_FEDERATION", "", "the federation", nullptr},
    {"future", 'F', none, "", any_tool, "SCONTROL_FUTURE", "", "future nodes", nullptr},
    {"json", '\0', optional, "", any_tool, "", "", "JSON", nullptr},
    {"local", '\0', none, "", any_tool, "SCONTROL_LOCAL", "", "this cluster", nullptr},
    {"sibling", '\0', none, "", any_tool, "SCONTROL_SIBLING", "", "federated siblings", nullptr},
    {"uid", 'u', required, "", any_tool, "", "", "as another user", nullptr},
    {"yaml", '\0', optional, "", any_tool, "", "", "YAML", nullptr},
};
// clang-format on

// hold, release and requeue: job ids as separate words or one list, or jobname=X where that is allowed.
int change_jobs(Scontrol& self, const Words& words, Text keyword, wire::Request& request, google::protobuf::RepeatedPtrField<wire::JobName>& jobs,
                std::string* name) {
  for (const Text word : words) {
    if (name != nullptr && word.size() > 8 && equals_ignoring_case(word.substr(0, 8), "jobname=")) {
      *name = word.substr(8);
      continue;
    }
    for (const Text text : split_outside_brackets(word)) {
      const auto job = parse_job_name(text);
      if (!job) {
        say_plain("Invalid job id specified for job " + std::string{text});
        return 1;
      }
      wire::JobName* added = jobs.Add();
      added->set_job_id(job->id);
      added->set_tasks(job->tasks);
    }
  }
  if (jobs.empty() && (name == nullptr || name->empty())) {
    say_plain("too few arguments for keyword:" + std::string{keyword});
    return 1;
  }
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain(reply.error().story + (words.empty() ? "" : " for job " + std::string{words[0]}));
    return 1;
  }
  for (const auto& failed : reply->jobs_changed().failed()) say_plain(failed.text() + " for job " + failed.job());
  return reply->jobs_changed().failed_size() == 0 ? 0 : 1;
}

int hold(Scontrol& self, const Words& words, Text keyword, bool release, bool as_user) {
  wire::Request request;
  wire::HoldJobs* ask = request.mutable_hold();
  ask->set_release(release);
  ask->set_as_user(as_user);
  return change_jobs(self, words, keyword, request, *ask->mutable_jobs(), ask->mutable_name());
}

int requeue(Scontrol& self, const Words& words, Text keyword, bool and_hold) {
  wire::Request request;
  wire::RequeueJobs* ask = request.mutable_requeue();
  ask->set_hold(and_hold);
  Words ids;
  for (const Text word : words) {
    if (equals_ignoring_case(word, "Incomplete")) ask->set_incomplete(true);
    else if (word.size() > 6 && equals_ignoring_case(word.substr(0, 6), "State=")) return scontrol_refuse(self, "requeuehold State=");
    else ids.push_back(word);
  }
  return change_jobs(self, ids, keyword, request, *ask->mutable_jobs(), nullptr);
}

int suspend(Scontrol& self, const Words& words, Text keyword, bool resume) {
  wire::Request request;
  wire::SuspendJobs* ask = request.mutable_suspend();
  ask->set_resume(resume);
  return change_jobs(self, words, keyword, request, *ask->mutable_jobs(), nullptr);
}

int ping(Scontrol& self) {
  wire::Request request;
  request.mutable_ping();
  const auto reply = self.ask(request);
  const std::string host = reply ? reply->pong().host() : self.settings.controller_host.empty() ? own_host_name() : self.settings.controller_host;
  print("Slurmctld(primary) at " + host + (reply ? " is UP\n" : " is DOWN\n"));
  return reply ? 0 : 1;
}

int simple(Scontrol& self, wire::Request& request, Text what) {
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain(std::string{what} + " error: " + reply.error().story);
  return 1;
}

int shut_down(Scontrol& self, const Words& words) {
  wire::Request request;
  request.mutable_shutdown()->set_agents_too(words.empty());
  return simple(self, request, "slurm_shutdown");
}

int write_script(Scontrol& self, const Words& words) {
  if (words.size() < 2 || !Text{"batch_script"}.starts_with(lower(words[0])) || words[0].empty())
    return words.empty() || lower(words[0]) != "config" ? (say_plain("too few arguments for keyword:write"), 1) : scontrol_refuse(self, "write config");
  const auto job = parse_job_name(words[1]);
  wire::Request request;
  if (job) request.mutable_get_script()->set_job_id(job->id);
  const auto reply = job ? self.ask(request) : Result<wire::Reply>{fail(Errc::refused, "Invalid job id specified")};
  if (!reply) {
    say_plain("job script retrieval failed: " + reply.error().story);
    return 1;
  }
  const std::string path = words.size() > 2 ? std::string{words[2]} : "slurm-" + std::string{words[1]} + ".sh";
  if (path == "-") return print(reply->script().script());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  if (fd < 0 || !write_all(fd, reply->script().script())) {
    say_plain("failed to open file `" + path + "`: " + std::strerror(errno));
    if (fd >= 0) close(fd);
    return 1;
  }
  close(fd);
  return print("batch script for job " + std::string{words[1]} + " written to " + path + '\n');
}

// create reservation key=value ..., also written create reservationname=X ...
int create(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:create"), 1;
  const std::string first = lower(words[0]);
  if (first == "reservation" || first == "res") return scontrol_reserve(self, Words(words.begin() + 1, words.end()), false);
  for (const Text word : words)
    if (lower(word).starts_with("reservation")) return scontrol_reserve(self, words, false);
  for (const Text word : words)
    if (lower(word).starts_with("nodename=")) return scontrol_create_nodes(self, words);
  return scontrol_refuse(self, "create " + first.substr(0, first.find('=')));
}

int remove_entity(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:delete"), 1;
  const std::string first = lower(words[0]);
  const std::size_t equals = first.find('=');
  if (first.starts_with("reservation") && equals != std::string::npos) return scontrol_remove_reservation(self, words[0].substr(equals + 1));
  if (first == "reservation" && words.size() > 1) return scontrol_remove_reservation(self, words[1]);
  if (first.starts_with("node") && equals != std::string::npos) return scontrol_delete_nodes(self, words[0].substr(equals + 1));
  return scontrol_refuse(self, "delete " + first.substr(0, equals));
}

struct Verb {
  Keyword keyword;
  int (*run)(Scontrol& self, const Words& words);  // nullptr: known and not built yet
};

// clang-format off
constexpr Verb verbs[] = {
    {{"hold", 4}, [](Scontrol& s, const Words& w) { return hold(s, w, "hold", false, false); }},
    {{"uhold", 5}, [](Scontrol& s, const Words& w) { return hold(s, w, "uhold", false, true); }},
    {{"holdu", 5}, [](Scontrol& s, const Words& w) { return hold(s, w, "holdu", false, true); }},
    {{"release", 3}, [](Scontrol& s, const Words& w) { return hold(s, w, "release", true, false); }},
    {{"requeuehold", 8}, [](Scontrol& s, const Words& w) { return requeue(s, w, "requeuehold", true); }},
    {{"requeue", 3}, [](Scontrol& s, const Words& w) { return requeue(s, w, "requeue", false); }},
    {{"resume", 3}, [](Scontrol& s, const Words& w) { return suspend(s, w, "resume", true); }},
    {{"suspend", 2}, [](Scontrol& s, const Words& w) { return suspend(s, w, "suspend", false); }},
    {{"show", 3}, scontrol_show},
    {{"update", 1}, scontrol_update},
    {{"ping", 3}, [](Scontrol& s, const Words&) { return ping(s); }},
    {{"reconfigure", 3}, [](Scontrol& s, const Words&) { wire::Request r; r.mutable_reconfigure(); return simple(s, r, "slurm_reconfigure"); }},
    {{"shutdown", 2}, shut_down},
    {{"write", 5}, write_script},
    {{"version", 4}, [](Scontrol&, const Words&) { return print(std::string{"slurm "} + slurm_version + '\n'); }},
    {{"help", 2}, [](Scontrol&, const Words&) { return print(help_text(head, option_texts(std::span<const Option<Draft>>{rows}, any_tool))); }},
    {{"oneliner", 1}, [](Scontrol& s, const Words&) { s.show.one_line = true; return 0; }},
    {{"details", 1}, [](Scontrol& s, const Words&) { ++s.show.detail; return 0; }},
    {{"all", 1}, [](Scontrol& s, const Words&) { s.all = true; return 0; }},
    {{"hide", 2}, [](Scontrol& s, const Words&) { s.all = false; return 0; }},
    {{"abort", 2}, nullptr}, {{"callerid", 4}, nullptr}, {{"cancel_reboot", 8}, scontrol_cancel_reboot}, {{"completing", 4}, nullptr}, {{"cluster", 2}, nullptr},
    {{"create", 2}, create}, {{"delete", 3}, remove_entity}, {{"errnumstr", 3}, nullptr}, {{"fsdampeningfactor", 3}, nullptr}, {{"getaddrs", 4}, nullptr},
    {{"gethost", 4}, nullptr}, {{"listjobs", 5}, scontrol_list_jobs}, {{"listpids", 5}, scontrol_list_pids}, {{"liststeps", 5}, scontrol_list_steps}, {{"notify", 1}, nullptr},
    {{"pidinfo", 3}, nullptr}, {{"power", 3}, scontrol_power}, {{"reboot", 3}, scontrol_reboot}, {{"schedloglevel", 3}, nullptr},
    {{"setdebugflags", 9}, nullptr}, {{"setdebug", 2}, nullptr}, {{"takeover", 5}, nullptr}, {{"token", 5}, nullptr},
    {{"top", 3}, nullptr}, {{"wait_job", 4}, scontrol_wait_job},
};
// clang-format on

int run_words(Scontrol& self, const Words& words) {
  const Words rest(words.begin() + 1, words.end());
  for (const Verb& verb : verbs) {
    if (!is_keyword(words[0], verb.keyword)) continue;
    if (verb.run == nullptr) return scontrol_refuse(self, verb.keyword.name);
    return verb.run(self, rest);
  }
  say_plain("invalid keyword: " + std::string{words[0]});
  return 1;
}

// Without a command: one per line until quit, exit or the end of the input.
int run_lines(Scontrol& self) {
  int code = 0;
  char line[16384];
  std::string last;
  for (;;) {
    if (isatty(STDIN_FILENO) != 0) print("scontrol: ");
    if (std::fgets(line, sizeof line, stdin) == nullptr) return code;
    std::string text{trim(Text{line})};
    if (text == "!!") text = last;
    last = text;
    Words words;
    for (const Text word : split(text, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.empty()) continue;
    if (words[0] == "quit" || words[0] == "exit") return code;
    code = std::max(code, run_words(self, words));
  }
}

}  // namespace

bool is_keyword(Text word, const Keyword& keyword) {
  return word.size() >= keyword.letters && keyword.name.size() >= word.size() && equals_ignoring_case(keyword.name.substr(0, word.size()), word);
}

Result<wire::Reply> Scontrol::ask(wire::Request& request) {
  if (!settings_problem.empty()) say_error(command, settings_problem);
  std::vector<std::string> notes;
  auto reply = ask_all(*session, request, &notes);
  if (!reply && reply.error().code != Errc::refused) say_trouble(command, *session);
  for (const std::string& note : notes) say_error(command, note);
  return reply;
}

int scontrol_refuse(Scontrol& self, Text what) {
  say_error(self.command, std::string{what} + " is not built yet in Millrace");
  return 1;
}

std::string scontrol_manual() { return man_page(head, option_texts(std::span<const Option<Draft>>{rows}, any_tool)); }

int run_scontrol(Command& command) {
  Draft draft;
  const std::span<const Option<Draft>> table{rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, head, option_texts(table, any_tool))) return 0;
  auto settings = read_client_settings();
  // Lists of hosts and the version need no cluster at all.
  const std::string problem = settings ? "" : settings.error().story;
  if (!settings) settings = parse_client_settings("", "");
  Scontrol self{command, draft.show, draft.all, *settings, std::make_unique<Session>(*session_options(*settings)), {}, problem};
  return line->operands.empty() ? run_lines(self) : run_words(self, line->operands);
}

}  // namespace millrace
