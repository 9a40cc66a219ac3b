// src/cli/sgather.cpp - brings a file of every node of a job here, each under the name of its node: a step on each node
// prints the file.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "client.pb.h"

namespace millrace {
namespace {

constexpr ManualHead sgather_head{"sgather", "bring a file of every node of a job here", "[options] source destination",
                                  "Copies a file that is on each node of the job it is run in to this host, as "
                                  "destination.node. On the nodes it is removed afterwards, unless --keep is given."};

struct SgatherDraft {
  Asked asked;
  bool force = false, keep = false;
  std::uint32_t fanout = 8;
  std::optional<std::uint32_t> job_id;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> on(SgatherDraft& d, Text) {
  d.*field = true;
  return {};
}

Result<void> set_number(Text v, std::uint32_t& to) {
  const auto number = parse_integer(v);
  if (!number || *number < 1 || *number > UINT32_MAX) return fail(Errc::refused, "Invalid number " + std::string{v});
  to = static_cast<std::uint32_t>(*number);
  return {};
}

// clang-format off
constexpr Option<SgatherDraft> sgather_rows[] = {
    {"compress", 'C', none, "", any_tool, "SGATHER_COMPRESS", "", "accepted", [](SgatherDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "the stream of a step is not packed"},
    {"fanout", 'F', required, "<count>", any_tool, "SGATHER_FANOUT", "", "so many nodes at the same time; 8 otherwise", [](SgatherDraft& d, Text v) { return set_number(v, d.fanout); }},
    {"force", 'f', none, "", any_tool, "", "", "a node that has no such file is passed over", on<&SgatherDraft::force>},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SgatherDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"jobid", 'j', required, "<job>", any_tool, "SLURM_JOB_ID", "", "the job whose nodes are meant", [](SgatherDraft& d, Text v) -> Result<void> { std::uint32_t id = 0; MR_TRY_VOID(set_number(v, id)); d.job_id = id; return {}; }},
    {"keep", 'k', none, "", any_tool, "", "", "leave the file on the nodes", on<&SgatherDraft::keep>},
    {"preserve", 'p', none, "", any_tool, "SGATHER_PRESERVE", "", "keep mode and times", nullptr, Effect::refused, "not built yet"},
    {"recursive", 'r', none, "", any_tool, "", "", "folders with what is in them", nullptr, Effect::refused, "not built yet; tar makes one file of a folder"},
    {"timeout", 't', required, "<seconds>", any_tool, "SGATHER_TIMEOUT", "", "accepted", [](SgatherDraft&, Text v) -> Result<void> { std::uint32_t ignored = 0; return set_number(v, ignored); }, Effect::no_effect, "a node that is there is waited for"},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SgatherDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say what is done", [](SgatherDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SgatherDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
};
// clang-format on

constexpr int no_such_file = 66;

// On the node: prints the file, and takes it away where that is wanted and all of it was printed.
constexpr const char* on_node =
    "test -f \"$1\" || exit 66; cat -- \"$1\" || exit 1; test \"$2\" = keep || rm -f -- \"$1\"";

Result<std::vector<std::string>> nodes_of_job(Session& session, std::uint32_t id) {
  wire::Request request;
  request.mutable_query_jobs()->add_jobs()->set_job_id(id);
  MR_TRY(const wire::Reply reply, ask_all(session, request));
  if (reply.jobs().jobs_size() == 0) return fail(Errc::not_found, "Invalid job id specified");
  std::vector<std::string> out;
  for (const wire::JobView& job : reply.jobs().jobs()) {
    MR_TRY(const std::vector<std::string> nodes, expand_hostlist(job.nodes()));
    out.insert(out.end(), nodes.begin(), nodes.end());
  }
  if (out.empty()) return fail(Errc::refused, "Job " + std::to_string(id) + " has no nodes");
  return out;
}

class Gathering {
 public:
  Gathering(const Command& command, const SgatherDraft& draft, std::string source, std::string destination)
      : command_(command), draft_(draft), source_(std::move(source)), destination_(std::move(destination)) {}

  int run(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) {
      while (running_.size() >= draft_.fanout) wait_for_one();
      start(node);
    }
    while (!running_.empty()) wait_for_one();
    return failed_ ? 1 : 0;
  }

 private:
  std::string file_of(const std::string& node) const { return destination_ + "." + node; }

  void start(const std::string& node) {
    const int file = open(file_of(node).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
      say_error(command_, file_of(node) + ": " + std::strerror(errno));
      failed_ = true;
      return;
    }
    if (draft_.verbose > 0) say_plain("sgather: " + node + ":" + source_ + " to " + file_of(node));
    const std::string job = "--jobid=" + std::to_string(*draft_.job_id), where = "--nodelist=" + node;
    const char* const words[] = {"srun",       job.c_str(),    where.c_str(),   "--nodes=1",
                                 "--ntasks=1", "--overlap",    "--gres=none",   "--quiet",
                                 "--chdir=/",  "--input=none", "/bin/sh",       "-c",
                                 on_node,      "sgather",      source_.c_str(), draft_.keep ? "keep" : "take",
                                 nullptr};
    const pid_t pid = fork();
    if (pid == 0) {
      if (dup2(file, STDOUT_FILENO) < 0) _exit(1);
      execv("/proc/self/exe", const_cast<char* const*>(words));
      _exit(127);
    }
    close(file);
    if (pid < 0) {
      say_error(command_, std::string{"fork: "} + std::strerror(errno));
      failed_ = true;
      return;
    }
    running_[pid] = node;
  }

  void wait_for_one() {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto it = running_.find(pid);
    if (pid < 0 && errno != EINTR) return running_.clear();
    if (it == running_.end()) return;
    const std::string node = it->second;
    running_.erase(it);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    unlink(file_of(node).c_str());  // what came of it is not the file
    const bool missing = WIFEXITED(status) && WEXITSTATUS(status) == no_such_file;
    if (missing && draft_.force) return;
    say_error(command_, missing ? node + " has no file " + source_ + "; --force passes over such nodes"
                                : source_ + " of " + node + " could not be brought here");
    failed_ = true;
  }

  const Command& command_;
  const SgatherDraft& draft_;
  std::string source_, destination_;
  std::map<pid_t, std::string> running_;
  bool failed_ = false;
};

}  // namespace

std::vector<OptionText> sgather_options() {
  return option_texts(std::span<const Option<SgatherDraft>>{sgather_rows}, any_tool);
}
std::string sgather_manual() {
  return man_page(sgather_head, option_texts(std::span<const Option<SgatherDraft>>{sgather_rows}, any_tool));
}

int run_sgather(Command& command) {
  SgatherDraft draft;
  const std::span<const Option<SgatherDraft>> table{sgather_rows};
  if (const auto taken = apply_environment(table, any_tool, draft); !taken)
    return say_usage_error(command, taken.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sgather_head, option_texts(table, any_tool))) return 0;
  if (line->operands.size() != 2)
    return say_usage_error(command,
                           {Errc::refused, "Need two file names, have " + std::to_string(line->operands.size()) +
                                               " names; sgather [options] SOURCE DESTINATION would be right"});
  if (!draft.job_id)
    return say_usage_error(command, {Errc::refused, "Command only valid from within a Slurm job, or with --jobid"});
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  Session session(*session_options(*settings));
  const auto nodes = nodes_of_job(session, *draft.job_id);
  if (!nodes) {
    say_trouble(command, session);
    say_error(command, nodes.error().story);
    return 1;
  }
  std::string source{line->operands[0]};
  if (!source.starts_with('/')) {
    char folder[4096];
    if (getcwd(folder, sizeof folder) != nullptr) source = std::string{folder} + "/" + source;
  }
  return Gathering(command, draft, std::move(source), std::string{line->operands[1]}).run(*nodes);
}

}  // namespace millrace
