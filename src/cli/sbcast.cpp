// src/cli/sbcast.cpp - copies a file to every node of a job: a step of the job whose tasks write what comes over
// standard input, with the user's rights.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "cli/srun_console.h"
#include "cli/srun_endpoint.h"
#include "cli/step_names.h"
#include "cli/submission.h"
#include "wire/random.h"

namespace millrace {
namespace {

constexpr ManualHead sbcast_head{
    "sbcast", "copy a file to the nodes of a job", "[options] source destination",
    "Copies a file of this host to the same place on every node of the job it is run in. It is "
    "written by the user's own rights, whole or not at all."};

constexpr std::size_t block_default = 1u << 20, block_max = 4u << 20;

struct SbcastDraft {
  bool help = false, usage = false, version = false;
  bool compress = false, force = false, preserve = false, send_libraries = false;
  std::optional<std::uint32_t> job_id;
  std::optional<wire::StepName> step;  // its nodes alone
  std::string nodes{};                 // these alone
  std::size_t block = block_default;
  std::string exclude = "/lib,/usr/lib,/lib64,/usr/lib64";
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> on(SbcastDraft& d, Text) {
  d.*field = true;
  return {};
}

Result<void> set_job(SbcastDraft& d, Text v) {
  if (v.find('.') != Text::npos) {
    const auto name = parse_step_name(v);
    const std::string wrong = "Invalid step id " + std::string{v} + "; it is JOB.STEP, as in 12.0";
    if (!name || !name->has_step() || !name->job().tasks().empty())
      return fail(Errc::refused, name ? wrong : told(name.error(), wrong));
    d.step = *name;
    d.job_id = name->job().job_id();
    return {};
  }
  d.step.reset();
  const auto job = parse_job_name(v);
  const std::string wrong = "Invalid job id " + std::string{v};
  if (!job || !job->tasks.empty()) return fail(Errc::refused, job ? wrong : told(job.error(), wrong));
  d.job_id = job->id;
  return {};
}

Result<void> set_compress(SbcastDraft& d, Text v) {
  if (!v.empty() && v != "zlib" && v != "lz4" && v != "none")
    return fail(Errc::refused, "--compress=" + std::string{v} + " is not known; zlib or none would be right");
  d.compress = v != "none";
  return {};
}

Result<void> set_block(SbcastDraft& d, Text v) {
  std::size_t unit = 1;
  Text digits = v;
  if (!v.empty() && (v.back() == 'k' || v.back() == 'K')) unit = 1024;
  if (!v.empty() && (v.back() == 'm' || v.back() == 'M')) unit = 1024 * 1024;
  if (unit > 1) digits.remove_suffix(1);
  const auto number = parse_integer(digits);
  if (!number || *number < 1 || *number > 1'000'000'000)
    return fail(Errc::refused,
                "Invalid size specification " + std::string{v} + "; bytes, or with k or m, would be right");
  d.block = std::min(static_cast<std::size_t>(*number) * unit, block_max);
  return {};
}

Result<void> check_number(SbcastDraft&, Text v) {
  const auto number = parse_integer(v);
  if (!number || *number < 1) return fail(Errc::refused, "Invalid number " + std::string{v});
  return {};
}

// clang-format off
constexpr Option<SbcastDraft> sbcast_rows[] = {
    {"compress", 'C', optional, "[=zlib|none]", any_tool, "SBCAST_COMPRESS", "", "pack the file for its way", set_compress},
    {"exclude", '\0', required, "<folders>", any_tool, "SBCAST_EXCLUDE", "", "with --send-libs: libraries below these are there already", [](SbcastDraft& d, Text v) -> Result<void> { d.exclude = equals_ignoring_case(v, "none") ? "" : std::string{v}; return {}; }},
    {"fanout", 'F', required, "<count>", any_tool, "SBCAST_FANOUT", "", "accepted", check_number, Effect::no_effect, "every node gets the file at the same time"},
    {"force", 'f', none, "", any_tool, "SBCAST_FORCE", "", "replace a file that is there", on<&SbcastDraft::force>},
    {"help", '\0', none, "", any_tool, "", "", "show this text", on<&SbcastDraft::help>},
    {"jobid", 'j', required, "<job>", any_tool, "SLURM_JOB_ID", "", "the job whose nodes are meant; JOB.STEP: those of the step alone", set_job},
    {"preserve", 'p', none, "", any_tool, "SBCAST_PRESERVE", "", "keep mode and times", on<&SbcastDraft::preserve>},
    {"send-libs", '\0', optional, "[=yes|no]", any_tool, "SBCAST_SEND_LIBS", "", "also the shared libraries of a program, to DESTINATION_libs", [](SbcastDraft& d, Text v) -> Result<void> { d.send_libraries = v != "no" && v != "0"; return {}; }},
    {"size", 's', required, "<bytes>", any_tool, "SBCAST_SIZE", "", "bytes sent at once, also with k or m; 4m at most", set_block},
    {"timeout", 't', required, "<seconds>", any_tool, "SBCAST_TIMEOUT", "", "accepted", check_number, Effect::no_effect, "a node that is there is waited for"},
    {"treewidth", '\0', required, "<count>", any_tool, "", "", "accepted", check_number, Effect::no_effect, "every node gets the file at the same time"},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", on<&SbcastDraft::usage>},
    {"verbose", 'v', none, "", any_tool, "", "", "say what is done", [](SbcastDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", on<&SbcastDraft::version>},
    {"nodelist", 'w', required, "<nodes>", any_tool, "", "", "these nodes of the job only", [](SbcastDraft& d, Text v) -> Result<void> { d.nodes = std::string{v}; return {}; }},
};
// clang-format on

std::int64_t microseconds(const timespec& at) {
  return static_cast<std::int64_t>(at.tv_sec) * 1'000'000 + at.tv_nsec / 1000;
}

// A child packs into a pipe, so that neither a copy on disk nor the whole file in memory is needed.
Result<int> packed_stream(int source) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::io, std::string{"pipe: "} + std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) return fail(Errc::io, std::string{"fork: "} + std::strerror(errno));
  if (pid > 0) {
    close(ends[1]);
    close(source);
    return ends[0];
  }
  static char in[65536], out[65536];
  z_stream stream{};
  if (deflateInit(&stream, Z_BEST_SPEED) != Z_OK) _exit(1);
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const ssize_t count = read(source, in, sizeof in);
    if (count < 0) _exit(1);
    stream.next_in = reinterpret_cast<Bytef*>(in);
    stream.avail_in = static_cast<uInt>(count);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out);
      stream.avail_out = sizeof out;
      state = deflate(&stream, count == 0 ? Z_FINISH : Z_NO_FLUSH);
      if (!write_all(ends[1], {out, sizeof out - stream.avail_out})) _exit(1);
    } while (stream.avail_out == 0);
  }
  _exit(0);
}

struct Errand {
  std::string source{}, path{};
  bool library = false;
};

int send_file(const Command& command, const SbcastDraft& draft, const ClientSettings& settings, const Errand& errand) {
  struct stat facts{};
  int source = open(errand.source.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0 || fstat(source, &facts) != 0) {
    say_error(command, "Can't open `" + errand.source + "`: " + std::strerror(errno));
    return 1;
  }
  if (!S_ISREG(facts.st_mode)) {
    say_error(command, errand.source + " is not a regular file");
    return 1;
  }
  const mode_t mask = umask(0);
  umask(mask);
  wire::CreateStep ask;
  wire::JobDescription& step = *ask.mutable_step();
  wire::ReceivedFile& file = *step.mutable_step_options()->mutable_receive();
  file.set_path(errand.path);
  file.set_force(draft.force || errand.library);
  file.set_preserve(draft.preserve);
  file.set_mode(facts.st_mode & 07777 & (draft.preserve ? 07777u : ~mask));
  file.set_accessed_at_us(microseconds(facts.st_atim));
  file.set_modified_at_us(microseconds(facts.st_mtim));
  file.set_size(static_cast<std::uint64_t>(facts.st_size));
  file.set_packed(draft.compress);
  file.set_make_folder(errand.library);

  SrunPlan plan;
  plan.secret = random_bytes(32);
  plan.job_name = "sbcast";
  plan.say_ends = false;
  plan.streams.unbuffered = true;
  plan.input_block = draft.block;
  plan.input_fd = source;
  if (draft.compress) {
    const auto packed = packed_stream(source);
    if (!packed) return say_usage_error(command, {Errc::refused, packed.error().story});
    plan.input_fd = *packed;
  }
  SrunConsole console(command, plan);
  const Endpoint endpoint = choose_endpoint(settings);
  const auto port = console.listen(endpoint);
  if (!port) return say_usage_error(command, {Errc::refused, port.error().story});
  ask.set_job_id(*draft.job_id);
  ask.set_overlap(true);  // no node of the job is too busy for it
  step.mutable_resources()->set_gres("none");
  if (!draft.nodes.empty()) step.set_required_nodes(draft.nodes);
  step.set_name("sbcast");
  step.set_interactive(true);
  step.set_work_dir("/");
  step.set_umask(mask);
  step.add_arguments("sbcast");
  step.mutable_stdio()->set_host(endpoint.host);
  step.mutable_stdio()->set_port(*port);
  step.mutable_stdio()->set_secret(plan.secret);
  const SessionOptions options = *session_options(settings);
  Session session(options);
  console.catch_signals();
  if (draft.verbose > 0)
    say_info(command, errand.source + " to " + errand.path + ", " + std::to_string(facts.st_size) + " bytes");
  const int code = console.run_step(session, options, std::move(ask));
  while (draft.compress && waitpid(-1, nullptr, 0) > 0) continue;
  return code == 0 ? 0 : 1;
}

// Of a step that runs; said when it does not.
Result<std::string> nodes_of(const SbcastDraft& draft, const ClientSettings& settings) {
  wire::Request request;
  *request.mutable_query_steps()->add_steps() = *draft.step;
  Session session(*session_options(settings));
  MR_TRY(const wire::Reply reply, session.call(request));
  if (reply.has_failure()) return fail(Errc::refused, reply.failure().text());
  if (reply.steps().steps_size() != 1) return fail(Errc::refused, "step " + step_text(*draft.step) + " does not run");
  return reply.steps().steps(0).nodes();
}

// As the loader of this host finds them.
std::vector<std::string> libraries_of(const std::string& program, const std::string& exclude) {
  std::vector<std::string> out;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return out;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    execlp("ldd", "ldd", program.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  close(ends[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t arrow = line.find("=> /");
    if (arrow == std::string_view::npos) continue;
    const std::string_view rest = line.substr(arrow + 3);
    const std::string_view path = rest.substr(0, rest.find(' '));
    const bool is_there = std::ranges::any_of(split(exclude, ','), [&](std::string_view folder) {
      return !folder.empty() && path.starts_with(std::string{folder} + "/");
    });
    if (!is_there) out.emplace_back(path);
  }
  return out;
}

}  // namespace

std::vector<OptionText> sbcast_options() {
  return option_texts(std::span<const Option<SbcastDraft>>{sbcast_rows}, any_tool);
}
std::string sbcast_manual() {
  return man_page(sbcast_head, option_texts(std::span<const Option<SbcastDraft>>{sbcast_rows}, any_tool));
}

int run_sbcast(Command& command) {
  SbcastDraft draft;
  const auto settings = read_client_settings();
  if (settings) {  // below what anybody says here
    draft.exclude = settings->bcast_exclude;
    draft.send_libraries = settings->bcast_libraries;
    draft.compress = !settings->bcast_compression.empty() && settings->bcast_compression != "none";
  }
  const std::span<const Option<SbcastDraft>> table{sbcast_rows};
  if (const auto set = apply_environment(table, any_tool, draft); !set) return say_usage_error(command, set.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::end_options, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common({draft.help, draft.usage, draft.version}, sbcast_head, option_texts(table, any_tool))) return 0;
  if (line->operands.size() != 2) {
    say_error(command, "Need two file names, have " + std::to_string(line->operands.size()) + " names");
    say_plain("Try \"sbcast --help\" for more information");
    return 1;
  }
  if (!draft.job_id) draft.job_id = job_around();
  if (!draft.job_id) {
    say_error(command, "Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.");
    return 1;
  }
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (draft.step && draft.nodes.empty()) {
    auto nodes = nodes_of(draft, *settings);
    if (!nodes) return say_usage_error(command, {Errc::refused, nodes.error().story});
    draft.nodes = *std::move(nodes);
  }
  Errand errand{std::string{line->operands[0]}, std::string{line->operands[1]}};
  if (errand.path.ends_with('/')) errand.path += errand.source.substr(errand.source.rfind('/') + 1);
  if (errand.path[0] != '/') errand.path = current_directory() + "/" + errand.path;
  if (const int code = send_file(command, draft, *settings, errand); code != 0 || !draft.send_libraries) return code;
  for (const std::string& library : libraries_of(errand.source, draft.exclude))
    if (const int code = send_file(command, draft, *settings,
                                   {library, errand.path + "_libs/" + library.substr(library.rfind('/') + 1), true});
        code != 0)
      return code;
  return 0;
}

}  // namespace millrace
