// src/cli/sbatch.cpp - submits a batch script, from a file, from standard input or made of --wrap.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_options.h"
#include "cli/options/script.h"
#include "cli/submission.h"
#include "cli/told_options.h"
#include "client.pb.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

constexpr ManualHead sbatch_head{
    "sbatch", "submit a batch script", "[options [: options]...] [script [arguments]]",
    "Sends a script to the controller, which runs it when its resources are free, and prints the id of the job. "
    "Options may also stand in the script, on lines that begin with #SBATCH before the first command, and in the "
    "environment; the command line wins over the environment, and that over the script. A lone ':' between options, or "
    "a line #SBATCH "
    "hetjob between such lines, begins the next component of a heterogeneous job: all components start together."};

struct Script {
  std::string text;
  std::string path;  // absolute; empty for --wrap and standard input
  std::string name;  // of the job, unless it is given one
};

Result<std::string> read_script(int fd, std::uint64_t size_max) {
  std::string out;
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got == 0) return out;
    if (got < 0 && errno != EINTR) return fail(Errc::io, "Error reading batch script: read failed");
    if (got > 0) out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > size_max + sizeof buffer) return out;  // too large already; the check that follows says so
  }
}

// A name without a slash that is not here is looked for along PATH.
int open_script(const std::string& name, std::string& path) {
  path = name[0] == '/' ? name : current_directory() + '/' + name;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const char* search = std::getenv("PATH");
  if (fd >= 0 || name.find('/') != std::string::npos || search == nullptr) return fd;
  for (const std::string_view folder : split(search, ':')) {
    path = std::string{folder} + '/' + name;
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return -1;
}

Result<Script> find_script(const Submission& first, const ClientSettings& settings) {
  Script out;
  if (first.draft.wrap) {
    if (!first.operands.empty()) return fail(Errc::refused, "Script arguments not permitted with --wrap option");
    out.text = wrap_script(*first.draft.wrap);
    out.name = "wrap";
    return out;
  }
  int fd = STDIN_FILENO;
  out.name = first.draft.external ? "external" : "sbatch";
  if (first.draft.external && first.operands.empty()) return out;
  if (!first.operands.empty()) {
    const std::string name{first.operands[0]};
    fd = name.empty() ? -1 : open_script(name, out.path);
    if (fd < 0) return fail(Errc::refused, "Unable to open file " + name);
    out.name = name.substr(name.rfind('/') + 1);
  }
  MR_TRY(out.text, read_script(fd, settings.script_size_max));
  if (fd != STDIN_FILENO) close(fd);
  return out;
}

// A number from 3 on is a descriptor somebody opened for us.
Result<std::string> read_export_file(const std::string& name) {
  constexpr std::uint64_t size_max = environment_bytes_max;
  const auto number = parse_integer(name);
  const int fd = number && *number > STDERR_FILENO && *number < 65536 ? static_cast<int>(*number)
                                                                      : open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Errc::refused, "Could not open user environment file " + name);
  auto text = read_script(fd, size_max);
  if (!number) close(fd);
  if (!text) return fail(Errc::refused, "Unable to read environment file " + name);
  if (text->size() > size_max) return fail(Errc::refused, "environment file " + name + " has more than 6 MiB");
  return *std::move(text);
}

// Without the submitter's variables a job has those of a login, unless nothing at all was asked for.
void settle_environment(JobDraft& draft) {
  bool all = !draft.export_given;
  for (const std::string_view word : split(draft.export_list, ','))
    all = all || equals_ignoring_case(word, "all") || equals_ignoring_case(word, "nil");
  if (!all && !draft.job.extras().has_user_env()) draft.job.mutable_extras()->set_user_env("L");
}

int report(const Command& command, const JobDraft& draft, const wire::Submitted& submitted,
           const ClientSettings& settings) {
  for (const std::string& note : submitted.notes()) say_info(command, note);
  if (draft.test_only) {
    say_plain(command.name + ": " + test_only_text(submitted));
    return 0;
  }
  if (draft.quiet) return 0;
  const std::string where =
      draft.clusters.empty() ? "" : (draft.parsable ? ";" : " on cluster ") + settings.cluster_name;
  return print((draft.parsable ? "" : "Submitted batch job ") + std::to_string(submitted.job_id()) + where + '\n');
}

int submit(const Command& command, Submission& all, Script& script, const ClientSettings& settings) {
  JobDraft& draft = all.draft;
  if (const auto reached = check_clusters(draft, settings); !reached) return say_usage_error(command, reached.error());
  if (draft.export_file) {
    auto variables = read_export_file(*draft.export_file);
    if (!variables) return say_usage_error(command, variables.error());
    draft.exported = *std::move(variables);
  }
  settle_environment(draft);
  describe_submitter(command, draft, settings);
  tell_options(command, draft);
  draft.job.set_command(script.path);
  if (!draft.name_given) draft.job.set_name(script.name);
  describe_components(command, all, settings);
  for (std::size_t i = 1; i < all.operands.size(); ++i) draft.job.add_arguments(std::string{all.operands[i]});
  wire::SubmitJob ask;
  ask.set_environment(job_environment(draft));
  *ask.mutable_job() = std::move(draft.job);
  for (wire::JobDescription& component : all.more) *ask.add_more_components() = std::move(component);
  ask.set_script(std::move(script.text));
  ask.set_test_only(draft.test_only);
  const auto options = session_options(settings, command);
  say_more(command, 2,
           "script of " + std::to_string(ask.script().size()) + " bytes, environment of " +
               std::to_string(ask.environment().size()) + " bytes");
  Session session(*options);
  const auto reply = session.submit(std::move(ask));
  const char* failed = draft.test_only ? "allocation failure: " : "Batch job submission failed: ";
  if (!reply) {
    say_trouble(command, session);
    say_error(command, failed + reply.error().story);
    if (reply.error().code == Errc::outcome_unknown)
      say_error(command,
                "The job may have been accepted all the same: look with squeue --me before submitting it again.");
    return error_code();
  }
  if (reply->has_failure()) {
    for (const std::string& note : reply->failure().notes()) say_error(command, note);
    if (draft.test_only)
      say_plain(failed + reply->failure().text());
    else
      say_error(command, failed + reply->failure().text());
    return error_code();
  }
  const int printed = report(command, draft, reply->submitted(), settings);
  if (!draft.wait || draft.test_only || printed != 0) return printed;
  return wait_for_end(command, *options, reply->submitted().job_id());
}

}  // namespace

static constexpr std::int64_t wait_patience_s = 60;  // for a controller that is away while we wait

static std::int64_t now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

int wait_for_end(const Command& command, const SessionOptions& options, std::uint32_t job_id) {
  Session session(options);
  std::int64_t heard_s = now_s();
  for (;;) {
    wire::Request request;
    request.mutable_wait_job()->set_job_id(job_id);
    const auto sent = session.send(request);
    const std::int64_t asked_s = now_s();
    auto reply = sent ? session.next(std::nullopt) : Result<wire::Reply>{std::unexpected(sent.error())};
    while (reply && reply->more() && !reply->job_progress().ended()) reply = session.next(std::nullopt);
    // A question that stayed open for a while was heard by a controller; a relay that has none answers at once.
    if (now_s() - asked_s > 1) heard_s = now_s();
    if (!reply && now_s() - heard_s < wait_patience_s) {
      const timespec pause{0, 200'000'000};
      nanosleep(&pause, nullptr);
      continue;
    }
    if (!reply) say_trouble(command, session);
    if (!reply || reply->has_failure()) {
      say_error(command, "Unable to wait for job " + std::to_string(job_id) + ": " +
                             (reply ? reply->failure().text() : reply.error().story));
      return error_code();
    }
    const wire::JobProgress& progress = reply->job_progress();
    if (progress.exit_signal() != 0) return 1;
    if (progress.exit_code() != 0) return static_cast<int>(progress.exit_code());
    return progress.state() == wire::COMPLETED ? 0 : 1;
  }
}

std::vector<OptionText> sbatch_options() { return option_texts(job_options(), sbatch); }
std::string sbatch_manual() { return man_page(sbatch_head, option_texts(job_options(), sbatch)); }

int run_sbatch(Command& command) {
  auto first = read_command_line(command, sbatch);
  if (!first) return say_usage_error(command, first.error());
  const JobDraft& draft = first->draft;
  if (answer_common({draft.help, draft.usage, draft.version}, sbatch_head, option_texts(job_options(), sbatch)))
    return 0;
  const auto settings = read_client_settings();
  if (!settings) {
    say_error(command, settings.error().story);
    return error_code();
  }
  if (answer_gres_help(draft, *settings)) return 0;
  auto script = find_script(*first, *settings);
  if (!script) return say_usage_error(command, script.error());
  if (!draft.external) {
    for (const std::string& line : script_problems(script->text, settings->script_size_max)) say_error(command, line);
    if (!script_problems(script->text, settings->script_size_max).empty()) return error_code();
  }
  const bool ignore_pbs = draft.ignore_pbs || std::getenv("SBATCH_IGNORE_PBS") != nullptr;
  for (const std::string& line : script_warnings(script->text, ignore_pbs)) say_error(command, line);
  auto words = script_words(script->text, ignore_pbs);
  if (!words) return say_usage_error(command, words.error());
  if (words->empty()) words->emplace_back();
  words->front().insert(words->front().begin(), command.defaults.begin(), command.defaults.end());
  auto all = read_all_layers(command, sbatch, *words);
  if (!all) return say_usage_error(command, all.error());
  command.quiet = all->draft.quiet;
  command.verbose = all->draft.verbose;
  if (all->draft.external) {  // what is in a script are its options
    if (all->draft.job.array().size() > 0)
      return say_usage_error(command,
                             {Errc::refused, "--external holds nodes for one job; an array of them is not possible"});
    script->text.clear();
    all->draft.job.set_allocation_only(true);
    for (wire::JobDescription& component : all->more) component.set_allocation_only(true);
  }
  return submit(command, *all, *script, *settings);
}

}  // namespace millrace
