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
#include "cli/listing.h"
#include "cli/options/option.h"
#include "cli/scontrol_data.h"
#include "cli/version.h"

namespace millrace {
namespace {

constexpr ManualHead scontrol_head{
    "scontrol", "show and change jobs, nodes, partitions and reservations", "[options] [command]",
    "Without a command it reads commands line by line until quit or exit; !! repeats the last "
    "one. Every command: `scontrol help`."};

struct ScontrolDraft {
  int verbose = 0;
  Asked asked;
  ShowOptions show;
  ListingWish listing;
  bool all = false, quiet = false, future = false;
};

using Text = std::string_view;
using enum ArgKind;

Result<void> nothing(ScontrolDraft&, Text) { return {}; }

constexpr auto without_effect = Effect::no_effect;

// clang-format off
constexpr Option<ScontrolDraft> scontrol_rows[] = {
    {"all", 'a', none, "", any_tool, "SCONTROL_ALL", "", "hidden partitions too", [](ScontrolDraft& d, Text) -> Result<void> { d.all = true; return {}; }},
    {"clusters", 'M', required, "<name>", any_tool, "SLURM_CLUSTERS", "", "this cluster by its name", [](ScontrolDraft& d, Text v) -> Result<void> { d.listing.clusters = std::string{v}; return {}; }},
    {"details", 'd', none, "", any_tool, "", "", "show more; may be repeated", [](ScontrolDraft& d, Text) -> Result<void> { ++d.show.detail; return {}; }},
    {"federation", '\0', none, "", any_tool, "SCONTROL_FEDERATION", "", "records of the federation", nothing, without_effect, "there are no federations: one cluster is all"},
    {"future", 'F', none, "", any_tool, "SCONTROL_FUTURE", "", "also nodes in state FUTURE", [](ScontrolDraft& d, Text) -> Result<void> { d.future = true; return {}; }},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](ScontrolDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"hide", '\0', none, "", any_tool, "", "", "no hidden partitions", [](ScontrolDraft& d, Text) -> Result<void> { d.all = false; return {}; }},
    {"json", '\0', optional, "<parser>", any_tool, "", "", "records as JSON", [](ScontrolDraft& d, Text v) { return wish_json(d.listing, v); }},
    {"local", '\0', none, "", any_tool, "SCONTROL_LOCAL", "", "records of this cluster only", nothing, without_effect, "there are no federations: one cluster is all"},
    {"oneliner", 'o', none, "", any_tool, "", "", "one line per record", [](ScontrolDraft& d, Text) -> Result<void> { d.show.one_line = true; return {}; }},
    {"quiet", 'Q', none, "", any_tool, "", "", "print errors only", [](ScontrolDraft& d, Text) -> Result<void> { d.quiet = true; return {}; }},
    {"sibling", '\0', none, "", any_tool, "SCONTROL_SIBLING", "", "jobs of federated clusters", nothing, without_effect, "there are no federations: one cluster is all"},
    {"uid", 'u', required, "<user>", any_tool, "", "", "act as another user", nullptr, Effect::refused, "who asks is what the kernel says; sudo -u does it"},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](ScontrolDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say how many records there are, and what is sent; more with -vv", [](ScontrolDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](ScontrolDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"yaml", '\0', optional, "<parser>", any_tool, "", "", "records as YAML", [](ScontrolDraft& d, Text v) { return wish_yaml(d.listing, v); }},
};
// clang-format on

// The value of "Key=value", where the word is one of that key.
std::optional<Text> value_of(Text word, std::initializer_list<Text> keys) {
  const std::size_t equals = word.find('=');
  if (equals == Text::npos) return std::nullopt;
  for (const Text key : keys)
    if (equals_ignoring_case(word.substr(0, equals), key)) return word.substr(equals + 1);
  return std::nullopt;
}

// hold, release, requeue, suspend: job ids as separate words or one list, JobId= before them or not, or JobName=X where
// that is allowed. What is no job is said, and the others are changed.
int change_jobs(Scontrol& self, const Words& words, Text keyword, wire::Request& request,
                google::protobuf::RepeatedPtrField<wire::JobName>& jobs, std::string* name) {
  int code = 0;
  for (const Text word : words) {
    if (const auto named = name == nullptr ? std::nullopt : value_of(word, {"JobName", "Name"})) {
      *name = *named;
      continue;
    }
    for (const Text text : split_outside_brackets(value_of(word, {"JobId", "Job"}).value_or(word))) {
      const auto job = parse_job_name(text);
      if (!job) {
        self.complain(told(job.error(), "Invalid job id specified for job " + std::string{text}));
        code = 1;
        continue;
      }
      wire::JobName* added = jobs.Add();
      added->set_job_id(job->id);
      added->set_tasks(job->tasks);
    }
  }
  if (jobs.empty() && (name == nullptr || name->empty())) {
    if (code == 0) say_plain("too few arguments for keyword:" + std::string{keyword});
    return 1;
  }
  const auto reply = self.ask(request);
  if (!reply) {
    self.complain(reply.error().story + (words.empty() ? "" : " for job " + std::string{words[0]}));
    return 1;
  }
  for (const auto& failed : reply->jobs_changed().failed()) self.complain(failed.text() + " for job " + failed.job());
  return reply->jobs_changed().failed_size() == 0 ? code : 1;
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
    if (equals_ignoring_case(word, "Incomplete"))
      ask->set_incomplete(true);
    else if (and_hold && equals_ignoring_case(word, "State=SpecialExit"))
      ask->set_special_exit(true);
    else if (word.size() > 6 && equals_ignoring_case(word.substr(0, 6), "State=")) {
      say_plain("scontrol: error: '" + std::string{word} +
                "' is wrong, State=SpecialExit of requeuehold would be right");
      return 1;
    } else
      ids.push_back(word);
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
  const std::string host = reply                                   ? reply->pong().host()
                           : self.settings.controller_host.empty() ? own_host_name()
                                                                   : self.settings.controller_host;
  if (self.data) return std::max(print_pings(self, host, reply.has_value()), reply ? 0 : 1);
  print("Slurmctld(primary) at " + host + (reply ? " is UP\n" : " is DOWN\n"));
  return reply ? 0 : 1;
}

int simple(Scontrol& self, wire::Request& request, Text what) {
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain(std::string{what} + " error: " + reply.error().story);
  return 1;
}

// Both words must be whole (see the table): a slip of the fingers ends no cluster.
int shut_down(Scontrol& self, const Words& words) {
  if (words.size() > 1) return say_plain("too many arguments for keyword:shutdown"), 1;
  if (words.size() == 1 && !is_keyword(words[0], {"slurmctld", 9}) && !is_keyword(words[0], {"controller", 10}))
    return say_plain("invalid shutdown argument:" + std::string{words[0]}), 1;
  wire::Request request;
  request.mutable_shutdown()->set_agents_too(words.empty());
  return simple(self, request, "slurm_shutdown");
}

int write_script(Scontrol& self, const Words& words) {
  if (!words.empty() && is_keyword(words[0], {"config", 1}))
    return scontrol_write_config(self, Words(words.begin() + 1, words.end()));
  if (!words.empty() && !is_keyword(words[0], {"batch_script", 1}))
    return say_plain("invalid write argument:" + std::string{words[0]}), 1;
  if (words.size() < 2 || words.size() > 3)
    return say_plain(std::string{words.size() < 2 ? "too few" : "too many"} + " arguments for keyword:write"), 1;
  const auto job = parse_job_name(words[1]);
  wire::Request request;
  if (job) request.mutable_get_script()->set_job_id(job->id);
  const auto reply =
      job ? self.ask(request) : Result<wire::Reply>{fail(Errc::refused, told(job.error(), "Invalid job id specified"))};
  if (!reply) {
    say_plain("job script retrieval failed: " + reply.error().story);
    return 1;
  }
  const std::string path = words.size() > 2 ? std::string{words[2]} : "slurm-" + std::string{words[1]} + ".sh";
  if (path == "-") return print_bytes(reply->script().script());
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
  if (words.empty()) return say_plain("too few arguments for create keyword"), 1;
  const std::string first = lower(words[0]);
  if (first == "reservation" || first == "res")
    return scontrol_reserve(self, Words(words.begin() + 1, words.end()), false);
  for (const Text word : words)
    if (lower(word).starts_with("reservation")) return scontrol_reserve(self, words, false);
  for (const Text word : words)
    if (lower(word).starts_with("nodename=")) return scontrol_create_nodes(self, words);
  for (const Text word : words)
    if (lower(word).starts_with("partition")) return scontrol_set_partition(self, words, true);
  return scontrol_refuse(self, "create " + first.substr(0, first.find('=')));
}

int remove_entity(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for delete keyword"), 1;
  // partition=X, or partition X
  const std::size_t equals = words[0].find('=');
  const Text kind = words[0].substr(0, equals);
  const bool apart = equals == Text::npos;
  if (apart && words.size() < 2) return say_plain("too few arguments for delete keyword"), 1;
  if (words.size() > (apart ? 2 : 1)) return say_plain("too many arguments for delete keyword"), 1;
  const Text name = apart ? words[1] : words[0].substr(equals + 1);
  if (is_keyword(kind, {"reservationname", 3})) return scontrol_remove_reservation(self, words[0], name);
  if (is_keyword(kind, {"nodename", 3})) return scontrol_delete_nodes(self, words[0], name);
  if (is_keyword(kind, {"partitionname", 3})) return scontrol_delete_partition(self, words[0], name);
  return say_plain("Invalid deletion entity: " + std::string{words[0]}), 1;
}

int set_cluster(Scontrol& self, const Words& words) {
  const auto known =
      check_clusters(words.empty() ? std::optional<std::string>{} : std::string{words[0]}, self.settings);
  return known ? 0 : say_usage_error(self.command, known.error());
}

int print_help(Scontrol& self, const Words& words);

struct Verb {
  Keyword keyword;
  std::string_view arguments, help;                // arguments empty: it takes none
  int (*run)(Scontrol& self, const Words& words);  // nullptr: known and refused
  std::string_view why{};                          // it is; empty: not built yet
};

// clang-format off
constexpr Verb verbs[] = {
    {{"abort", 5}, "", "end the controller at once", [](Scontrol& s, const Words&) { return shut_down(s, {"controller"}); }},
    {{"all", 1}, "", "show hidden partitions too, from now on", [](Scontrol& s, const Words&) { s.all = true; return 0; }},
    {{"callerid", 4}, "", "who is behind a connection", nullptr, "no node is asked for its connections"},
    {{"cancel_reboot", 8}, "<nodes>", "take back a reboot that has not begun", scontrol_cancel_reboot},
    {{"cluster", 2}, "<name>", "the cluster to speak to, from now on", set_cluster},
    {{"completing", 4}, "", "jobs that end, and where", scontrol_completing},
    {{"create", 2}, "partition|reservation|node <key=value ...>", "make one", create},
    {{"delete", 3}, "partitionname=|reservation=|nodename=<name>", "remove one", remove_entity},
    {{"details", 1}, "", "show more, from now on", [](Scontrol& s, const Words&) { ++s.show.detail; return 0; }},
    {{"errnumstr", 3}, "<number>", "the text of an error number", scontrol_error_text},
    {{"fsdampeningfactor", 3}, "<number>", "change the factor of fair share until the configuration is read again", scontrol_set_damping},
    {{"getaddrs", 4}, "<nodes>", "the addresses of nodes", scontrol_addresses},
    {{"gethost", 4}, "<nodes>", "the host names of nodes", scontrol_host_names},
    {{"help", 2}, "", "show this text", print_help},
    {{"hide", 2}, "", "do not show hidden partitions, from now on", [](Scontrol& s, const Words&) { s.all = false; return 0; }},
    {{"hold", 4}, "<jobs>|jobname=<name>", "keep jobs from starting", [](Scontrol& s, const Words& w) { return hold(s, w, "hold", false, false); }},
    {{"holdu", 5}, "<jobs>", "the same as uhold", [](Scontrol& s, const Words& w) { return hold(s, w, "holdu", false, true); }},
    {{"listjobs", 5}, "[job [node]]", "jobs on a node", scontrol_list_jobs},
    {{"listpids", 5}, "[job[.step] [node]]", "processes of jobs on a node", scontrol_list_pids},
    {{"liststeps", 5}, "[job [node]]", "steps on a node", scontrol_list_steps},
    {{"notify", 1}, "<job[.step]> <text>", "show a line to whoever watches the job", scontrol_notify},
    {{"oneliner", 1}, "", "one line per record, from now on", [](Scontrol& s, const Words&) { s.show.one_line = true; return 0; }},
    {{"pidinfo", 3}, "<pid>", "the job of a process on this node", scontrol_pid_info},
    {{"ping", 3}, "", "does the controller answer", [](Scontrol& s, const Words&) { return ping(s); }},
    {{"power", 3}, "up|down [asap|force] <nodes>", "power nodes up or down", scontrol_power},
    {{"quiet", 4}, "", "print errors only, from now on", [](Scontrol& s, const Words&) { s.command.quiet = true; return 0; }},
    {{"reboot", 3}, "[asap] [nextstate=] [reason=] <nodes>|ALL", "reboot nodes once they are free", scontrol_reboot},
    {{"reconfigure", 3}, "", "read slurm.conf again", [](Scontrol& s, const Words&) { wire::Request r; r.mutable_reconfigure(); return simple(s, r, "slurm_reconfigure"); }},
    {{"release", 3}, "<jobs>|jobname=<name>", "let held jobs start", [](Scontrol& s, const Words& w) { return hold(s, w, "release", true, false); }},
    {{"requeuehold", 8}, "[State=SpecialExit] <jobs>", "put jobs back into the queue and hold them", [](Scontrol& s, const Words& w) { return requeue(s, w, "requeuehold", true); }},
    {{"requeue", 3}, "[incomplete] <jobs>", "put jobs back into the queue", [](Scontrol& s, const Words& w) { return requeue(s, w, "requeue", false); }},
    {{"resume", 3}, "<jobs>", "let suspended jobs go on", [](Scontrol& s, const Words& w) { return suspend(s, w, "resume", true); }},
    {{"schedloglevel", 3}, "0|1", "whether the scheduler writes SlurmSchedLogFile", scontrol_set_schedule_log},
    {{"setdebugflags", 9}, "[+|-]<flag> ... [nodes=]", "subsystems that say more in the log of the controller, or of agents", scontrol_set_log_flags},
    {{"setdebug", 2}, "<level> [nodes=]", "how much the controller logs, or the agents of nodes, until the next reconfigure", scontrol_set_log_level},
    {{"show", 3}, "<entity> [id]", "show records", scontrol_show},
    {{"shutdown", 8}, "[slurmctld|controller]", "end the daemons, or the controller alone", shut_down},
    {{"suspend", 2}, "<jobs>", "stop jobs where they are", [](Scontrol& s, const Words& w) { return suspend(s, w, "suspend", false); }},
    {{"takeover", 8}, "[number]", "let the backup controller take over", scontrol_take_over},
    {{"token", 5}, "[lifespan=] [username=]", "make a token for the HTTP interface (AuthAltTypes=auth/jwt)", scontrol_token},
    {{"top", 3}, "<jobs>", "put waiting jobs before the others of their user", scontrol_top},
    {{"uhold", 5}, "<jobs>|jobname=<name>", "hold jobs so that their owner may release them", [](Scontrol& s, const Words& w) { return hold(s, w, "uhold", false, true); }},
    {{"update", 1}, "<key=value ...>", "change jobs, nodes, partitions, steps or reservations", scontrol_update},
    {{"verbose", 4}, "", "say more from now on", [](Scontrol& self, const Words&) { ++self.command.verbose; return 0; }},
    {{"version", 4}, "", "show the version", [](Scontrol&, const Words&) { return print(std::string{"slurm "} + slurm_version + '\n'); }},
    {{"wait_job", 4}, "<job>", "wait until a job's nodes are there for it", scontrol_wait_job},
    {{"write", 5}, "batch_script <job> [file] | config [file]", "write a job's script, or the configuration", write_script},
};
// clang-format on

std::string verb_lines() {
  std::string out = "\nCommands (each may be shortened to what is unique):\n";
  for (const Verb& verb : verbs) {
    if (verb.run == nullptr) continue;
    std::string line =
        "  " + std::string{verb.keyword.name} + (verb.arguments.empty() ? "" : " " + std::string{verb.arguments});
    line.size() + 2 > 46 ? line += "\n" + std::string(46, ' ') : line += std::string(46 - line.size(), ' ');
    out += line + std::string{verb.help} + '\n';
  }
  return out +
         "  !!                                          repeat the last command\n  quit, exit                          "
         "        leave\n";
}

int print_help(Scontrol&, const Words&) {
  return print(help_text(scontrol_head, option_texts(std::span<const Option<ScontrolDraft>>{scontrol_rows}, any_tool)) +
               verb_lines());
}

int run_words(Scontrol& self, const Words& words) {
  const Words rest(words.begin() + 1, words.end());
  for (const Verb& verb : verbs) {
    if (!is_keyword(words[0], verb.keyword)) continue;
    if (verb.run == nullptr) return scontrol_refuse(self, verb.keyword.name, verb.why);
    if (verb.arguments.empty() && !rest.empty() && verb.run != print_help)
      return say_plain("too many arguments for keyword:" + std::string{verb.keyword.name}), 1;
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
    if (is_keyword(words[0], {"quit", 4}) || is_keyword(words[0], {"exit", 1})) return code;
    code = std::max(code, run_words(self, words));
  }
}

}  // namespace

bool is_keyword(Text word, const Keyword& keyword) {
  return word.size() >= keyword.letters && keyword.name.size() >= word.size() &&
         equals_ignoring_case(keyword.name.substr(0, word.size()), word);
}

void Scontrol::complain(Text text) const {
  if (!command.quiet) say_plain(text);
}

Result<wire::Reply> Scontrol::ask(wire::Request& request) {
  if (!settings_problem.empty()) say_error(command, settings_problem);
  std::vector<std::string> notes;
  auto reply = ask_all(*session, request, &notes);
  if (!reply && reply.error().code != Errc::refused) say_trouble(command, *session);
  for (const std::string& note : notes) say_error(command, note);
  return reply;
}

int scontrol_refuse(Scontrol& self, Text what, Text why) {
  say_error(self.command, std::string{what} + (why.empty() ? " is not built yet in Millrace"
                                                           : " is refused in Millrace: " + std::string{why}));
  return 1;
}

std::vector<OptionText> scontrol_options() {
  return option_texts(std::span<const Option<ScontrolDraft>>{scontrol_rows}, any_tool);
}
std::vector<CommandWord> scontrol_words() {
  std::vector<CommandWord> out;
  for (const Verb& verb : verbs)
    out.push_back({verb.keyword.name, verb.arguments, verb.help, verb.run != nullptr, verb.why});
  return out;
}
std::string scontrol_manual() {
  std::string commands = ".SH COMMANDS\n";
  for (const Verb& verb : verbs)
    if (verb.run != nullptr)
      commands += manual_entry(
          std::string{verb.keyword.name} + (verb.arguments.empty() ? "" : " " + std::string{verb.arguments}),
          verb.help);
  std::string entities;
  for (const CommandWord& entity : scontrol_entities())
    if (entity.built) entities += (entities.empty() ? "" : ", ") + std::string{entity.name};
  return man_page(scontrol_head, option_texts(std::span<const Option<ScontrolDraft>>{scontrol_rows}, any_tool),
                  commands + ".SH ENTITIES\nshow takes: " + entities + ".\n");
}

int run_scontrol(Command& command) {
  ScontrolDraft draft;
  const std::span<const Option<ScontrolDraft>> table{scontrol_rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  // After this word a dash is a minus: setdebugflags -Steps.
  const auto flags =
      std::ranges::find_if(command.words, [](Text word) { return is_keyword(word, {"setdebugflags", 9}); });
  const auto until = flags == command.words.end() ? flags : std::next(flags);
  auto line = apply_words(table, any_tool, std::span{command.words.begin(), until}, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  line->operands.insert(line->operands.end(), until, command.words.end());
  if (draft.asked.help) return print(help_text(scontrol_head, option_texts(table, any_tool)) + verb_lines());
  if (answer_common(draft.asked, scontrol_head, option_texts(table, any_tool))) return 0;
  if (draft.listing.data && draft.listing.data->list_parsers) return print(data_parser_names());
  command.quiet = draft.quiet;
  command.verbose = draft.verbose;
  auto settings = read_client_settings();
  // Lists of hosts and the version need no cluster at all.
  const std::string problem = settings ? "" : settings.error().story;
  if (!settings) settings = parse_client_settings("", "");
  Scontrol self{command,
                draft.show,
                draft.all,
                *settings,
                std::make_unique<Session>(*session_options(*settings, command)),
                {},
                problem,
                draft.listing.data,
                draft.future};
  if (const auto known = check_clusters(draft.listing.clusters, *settings); !known)
    return say_usage_error(command, known.error());
  return line->operands.empty() ? run_lines(self) : run_words(self, line->operands);
}

}  // namespace millrace
