// src/cli/scrontab.cpp - a user's jobs that come again at times of the clock: list, change, edit and remove them.
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/crontab_file.h"
#include "cli/options/job_options.h"
#include "cli/options/resource_setters.h"
#include "cli/options/script.h"
#include "cli/submission.h"

namespace millrace {
namespace {

constexpr ManualHead scrontab_head{
    "scrontab", "jobs that come again at times of the clock", "[-u user] [-e | -l | -r | -v | file | -]",
    "Keeps a file of entries like cron's: minute, hour, day of the month, month, day of the week "
    "and a command. Each entry is a job, with the options of #SCRON lines above it, "
    "that waits for its time, runs on the cluster, and waits again. Lines NAME=value are "
    "variables of the entries below. Times are those of the controller's clock. "
    "Cancelling such a job (scancel --cron) switches its line off."};

struct ScrontabDraft {
  int verbose = 0;
  Asked asked;
  bool edit = false, list = false, remove = false;
  std::optional<std::string> user;
};

using Text = std::string_view;
using enum ArgKind;

// clang-format off
constexpr Option<ScrontabDraft> scrontab_rows[] = {
    {"edit", 'e', none, "", any_tool, "", "", "edit it, with VISUAL or EDITOR", [](ScrontabDraft& d, Text) -> Result<void> { d.edit = true; return {}; }},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](ScrontabDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"list", 'l', none, "", any_tool, "", "", "print it", [](ScrontabDraft& d, Text) -> Result<void> { d.list = true; return {}; }},
    {"remove", 'r', none, "", any_tool, "", "", "remove it, and its jobs that wait", [](ScrontabDraft& d, Text) -> Result<void> { d.remove = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](ScrontabDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"user", 'u', required, "<name>", any_tool, "", "", "that of another user, for administrators", [](ScrontabDraft& d, Text v) -> Result<void> { d.user = std::string{v}; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say what is sent", [](ScrontabDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](ScrontabDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
};
// clang-format on

struct Owner {
  std::optional<std::uint32_t> uid;  // when it is not the caller
  std::uint32_t gid = 0;
  std::string name, home, shell;
};

Result<Owner> owner_of(const ScrontabDraft& draft) {
  Owner out;
  if (draft.user) {
    out.uid = parse_user(*draft.user);
    if (!out.uid) return fail(Errc::refused, "Invalid user: " + *draft.user);
  }
  const passwd* entry = getpwuid(out.uid.value_or(getuid()));
  out.name = entry != nullptr ? entry->pw_name : std::to_string(out.uid.value_or(getuid()));
  if (out.uid && entry == nullptr)
    return fail(Errc::refused, "Invalid user: " + *draft.user + ": nobody knows the group");
  out.gid = entry != nullptr ? entry->pw_gid : getgid();
  out.home = entry != nullptr ? entry->pw_dir : "/";
  out.shell = entry != nullptr ? entry->pw_shell : "/bin/sh";
  return out;
}

// As cron's jobs have it: little, and what the file says.
std::string environment_of(const Owner& owner, const CrontabEntry& entry) {
  std::string out;
  const auto put = [&](const std::string& variable) { out += variable + '\0'; };
  put("HOME=" + owner.home);
  put("LOGNAME=" + owner.name);
  put("USER=" + owner.name);
  put("SHELL=" + owner.shell);
  put("PATH=/usr/local/bin:/usr/bin:/bin");
  for (const std::string& variable : entry.variables) put(variable);
  put("SLURM_SUBMIT_DIR=" + owner.home);
  put("SLURM_SUBMIT_HOST=" + own_host_name());
  return out;
}

// What sbatch itself would do, and nobody does for a job that comes by itself.
std::optional<std::string> useless_option(const JobDraft& draft) {
  if (draft.export_given || draft.export_file) return "--export: variables of an entry are lines NAME=value above it";
  if (draft.wait || draft.test_only || draft.parsable)
    return "--wait, --test-only and --parsable: nobody waits for a job of scrontab";
  if (draft.external) return "--external: a job of scrontab runs the command of its entry";
  if (draft.wrap) return "--wrap: the command stands in the entry";
  if (draft.job.has_as_uid() || draft.job.has_as_gid())
    return "--uid and --gid: scrontab -u has the crontabs of others";
  return std::nullopt;
}

// Options come from the #SCRON lines alone: the environment of whoever edits the file is not that of its jobs.
Result<wire::CronEntry> to_entry(const Command& command, const CrontabEntry& entry, const Owner& owner,
                                 const ClientSettings& settings) {
  const std::string script = script_of(entry);
  MR_TRY(const auto words, script_words(script, true));
  if (words.size() > 1)
    return fail(Errc::refused, "a job of scrontab has one component, without hetjob would be right");
  JobDraft draft;
  const std::vector<Text> views(words.front().begin(), words.front().end());
  MR_TRY(const auto line, apply_words(job_options(), sbatch, views, Operands::end_options, draft));
  if (!line.operands.empty())
    return fail(Errc::refused, "'" + std::string{line.operands[0]} + "' of #SCRON is no option of sbatch");
  MR_TRY_VOID(check_draft(draft));
  MR_TRY_VOID(resource::complete(draft));
  MR_TRY_VOID(check_clusters(draft, settings));
  if (const auto useless = useless_option(draft)) return fail(Errc::refused, *useless);
  const std::string chosen = draft.job.work_dir();
  draft.job.set_work_dir(chosen.empty() ? owner.home : chosen[0] == '/' ? chosen : owner.home + '/' + chosen);
  Command submitter = command;
  submitter.submit_line = "scrontab";
  describe_submitter(submitter, draft, settings);
  if (owner.uid) {
    draft.job.set_as_uid(*owner.uid);
    draft.job.set_as_gid(owner.gid);
    draft.job.clear_limits();  // root's are not theirs
  }
  if (!draft.name_given) draft.job.set_name(entry.command.substr(0, entry.command.find_first_of(" \t")));
  if (draft.job.open_mode() == wire::JobDescription::default_mode)
    draft.job.set_open_mode(wire::JobDescription::append);
  wire::CronEntry out;
  out.set_line(entry.line);
  out.set_times(entry.times);
  out.mutable_job()->set_script(script);
  out.mutable_job()->set_environment(environment_of(owner, entry));
  *out.mutable_job()->mutable_job() = std::move(draft.job);
  return out;
}

int say_refusal(const Command& command, const Session& session, const Error& error,
                const std::vector<std::string>& notes) {
  say_trouble(command, session);
  for (const std::string& note : notes) say_error(command, note);
  say_error(command, error.story);
  return 1;
}

Result<std::string> current_text(Session& session, const Owner& owner, std::vector<std::string>& notes) {
  wire::Request request;
  request.mutable_query_crontab();
  if (owner.uid) request.mutable_query_crontab()->set_uid(*owner.uid);
  MR_TRY(const wire::Reply reply, ask_all(session, request, &notes));
  if (!reply.crontab().known()) return fail(Errc::not_found, "no crontab for " + owner.name);
  return reply.crontab().text();
}

int install(const Command& command, Session& session, const Owner& owner, const std::string& text,
            const ClientSettings& settings) {
  const auto entries = parse_crontab(text);
  if (!entries) {
    say_error(command, entries.error().story);
    return 1;
  }
  wire::Request request;
  wire::SetCrontab& ask = *request.mutable_set_crontab();
  if (owner.uid) ask.set_uid(*owner.uid);
  ask.set_text(text);
  for (const CrontabEntry& entry : *entries) {
    auto one = to_entry(command, entry, owner, settings);
    if (!one) {
      say_error(command, "line " + std::to_string(entry.line) + ": " + one.error().story);
      return 1;
    }
    *ask.add_entries() = *std::move(one);
  }
  say_more(command, 1, std::to_string(ask.entries_size()) + " entries" + (owner.uid ? " for " + owner.name : ""));
  std::vector<std::string> notes;
  const auto reply = ask_all(session, request, &notes);
  if (reply)
    for (const std::uint32_t id : reply->crontab().job_ids())
      say_more(command, 1, "an entry is job " + std::to_string(id));
  return reply ? 0 : say_refusal(command, session, reply.error(), notes);
}

Result<std::string> read_all(int fd) {
  std::string out;
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got == 0) return out;
    if (got < 0 && errno != EINTR) return fail(Errc::io, std::strerror(errno));
    if (got > 0) out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > 1u << 20) return fail(Errc::refused, "a crontab has at most 1 MiB");
  }
}

Result<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Errc::refused, "Unable to open file " + path + ": " + std::strerror(errno));
  auto text = read_all(fd);
  close(fd);
  return text;
}

// The editor's copy; what was typed is not lost when the controller does not take it.
int edit(const Command& command, Session& session, const Owner& owner, const ClientSettings& settings) {
  std::vector<std::string> notes;
  const auto before = current_text(session, owner, notes);
  if (!before && before.error().code != Errc::not_found) return say_refusal(command, session, before.error(), notes);
  std::string path = std::string{getenv("TMPDIR") != nullptr ? getenv("TMPDIR") : "/tmp"} + "/scrontab-XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) return say_usage_error(command, {Errc::refused, path + ": " + std::strerror(errno)});
  write_all(fd, before
                    ? *before
                    : "# minute hour day month weekday command; #SCRON lines above an entry are options of its job\n");
  close(fd);
  const char* editor = getenv("VISUAL") != nullptr   ? getenv("VISUAL")
                       : getenv("EDITOR") != nullptr ? getenv("EDITOR")
                                                     : "vi";
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", (std::string{editor} + " \"$1\"").c_str(), "sh", path.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const auto after = read_file(path);
  if (status != 0 || !after) {
    say_error(command, "the editor did not end well; nothing is changed, your text is in " + path);
    return 1;
  }
  if (before && *after == *before) {
    unlink(path.c_str());
    say_info(command, "no changes");
    return 0;
  }
  const int code = install(command, session, owner, *after, settings);
  if (code == 0)
    unlink(path.c_str());
  else
    say_error(command, "nothing is changed, your text is in " + path);
  return code;
}

int act(const Command& command, const ScrontabDraft& draft, const std::vector<Text>& operands, const Owner& owner,
        const ClientSettings& settings) {
  Session session(*session_options(settings, command, 1));
  std::vector<std::string> notes;
  if (draft.edit) return edit(command, session, owner, settings);
  if (draft.remove) return install(command, session, owner, "", settings);
  if (draft.list) {
    const auto text = current_text(session, owner, notes);
    if (text) return print_bytes(*text);
    if (text.error().code != Errc::not_found) return say_refusal(command, session, text.error(), notes);
    say_plain(text.error().story);
    return 1;
  }
  const auto text = operands[0] == "-" ? read_all(STDIN_FILENO) : read_file(std::string{operands[0]});
  if (!text) return say_usage_error(command, {Errc::refused, text.error().story});
  return install(command, session, owner, *text, settings);
}

}  // namespace

std::vector<OptionText> scrontab_options() {
  return option_texts(std::span<const Option<ScrontabDraft>>{scrontab_rows}, any_tool);
}
std::string scrontab_manual() { return man_page(scrontab_head, scrontab_options()); }

int run_scrontab(Command& command) {
  ScrontabDraft draft;
  const std::span<const Option<ScrontabDraft>> table{scrontab_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, scrontab_head, option_texts(table, any_tool))) return 0;
  command.verbose = draft.verbose;
  // Nothing at all is not standard input: a crontab would be gone where somebody forgot a word.
  if (draft.edit + draft.list + draft.remove + static_cast<int>(line->operands.size()) != 1)
    return say_usage_error(command,
                           {Errc::refused, "one of -e, -l, -r, a file or - for standard input would be right"});
  const auto owner = owner_of(draft);
  if (!owner) return say_usage_error(command, owner.error());
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return act(command, draft, line->operands, *owner, *settings);
}

}  // namespace millrace
