// src/cli/sattach.cpp - shows what the tasks of a running step write, and gives them input, beside the srun that
// started them.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "cli/srun_endpoint.h"
#include "cli/step_names.h"
#include "cli/task_streams.h"
#include "wire/random.h"

namespace millrace {
namespace {

constexpr ManualHead sattach_head{
    "sattach", "attach to a running step", "[options] JOB.STEP",
    "Shows what the tasks of a running step write from now on, and passes standard input on to them. Ctrl-C leaves the "
    "step as it is. "
    "Ends with the step, with the highest exit code of its tasks. Only the user of the job may attach, and root."};

constexpr std::uint32_t invalid_job_id = 2017;
constexpr std::int64_t known_within_us = 2'000'000;     // a step that has just begun is known after this
constexpr std::int64_t connect_within_us = 15'000'000;  // its nodes have called by then

struct SattachDraft {
  Asked asked;
  StreamOptions streams;
  bool layout = false, quiet = false, pty = false;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

Result<std::uint32_t> task_number(Text v, const char* option) {
  const auto number = parse_integer(v);
  if (!number || *number < 0 || *number >= UINT32_MAX)
    return fail(Errc::refused,
                std::string{option} + "=" + std::string{v} + ": it is the number of a task, as in " + option + "=0");
  return static_cast<std::uint32_t>(*number);
}

// clang-format off
constexpr Option<SattachDraft> sattach_rows[] = {
    {"error-filter", '\0', required, "<task>", any_tool, "", "", "only the errors of this task", [](SattachDraft& d, Text v) -> Result<void> { MR_TRY(d.streams.only_error_of, task_number(v, "--error-filter")); return {}; }},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SattachDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"input-filter", '\0', required, "<task>", any_tool, "", "", "input goes to this task alone", [](SattachDraft& d, Text v) -> Result<void> { MR_TRY(d.streams.only_input_to, task_number(v, "--input-filter")); return {}; }},
    {"label", 'l', none, "", any_tool, "", "", "the number of the task before each line", [](SattachDraft& d, Text) -> Result<void> { d.streams.label = true; return {}; }},
    {"layout", '\0', none, "", any_tool, "", "", "say which task is where, and leave", [](SattachDraft& d, Text) -> Result<void> { d.layout = true; return {}; }},
    {"output-filter", '\0', required, "<task>", any_tool, "", "", "only the output of this task", [](SattachDraft& d, Text v) -> Result<void> { MR_TRY(d.streams.only_output_of, task_number(v, "--output-filter")); return {}; }},
    {"quiet", 'Q', none, "", any_tool, "", "", "say less", [](SattachDraft& d, Text) -> Result<void> { d.quiet = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SattachDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say more", [](SattachDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SattachDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"pty", '\0', none, "", any_tool, "", "", "of a step of srun --pty: every key goes to its terminal, Ctrl-C too, which has the size of this one", [](SattachDraft& d, Text) -> Result<void> { d.pty = true; return {}; }},
};
// clang-format on

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

// Steps come into the log in batches: one that is not known yet may be in the next.
Result<wire::Reply> ask_to_attach(Session& session, wire::Request& request) {
  const std::int64_t until = now_us() + known_within_us;
  for (;;) {
    MR_TRY(wire::Reply reply, session.call(request));
    if (!reply.has_failure() || reply.failure().code() != invalid_job_id || now_us() >= until) return reply;
    poll(nullptr, 0, 100);
  }
}

int print_layout(const wire::Attached& step, const TaskStreams& streams) {
  const auto by_node = streams.tasks_by_node();
  std::string out = "Job step layout:\n  " + std::to_string(step.tasks()) + " tasks, " +
                    std::to_string(step.node_count()) + " nodes (" + step.nodes() + ")\n\n";
  const std::vector<std::string> nodes = expand_hostlist(step.nodes()).value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto found = by_node.find(nodes[i]);
    if (found == by_node.end()) continue;
    out +=
        "  Node " + std::to_string(i) + " (" + nodes[i] + "), " + std::to_string(found->second.size()) + " task(s): ";
    for (std::size_t k = 0; k < found->second.size(); ++k)
      out += (k == 0 ? "" : ", ") + std::to_string(found->second[k]);
    out += '\n';
  }
  return print(out);
}

// The terminal as the step's program has it: keys go through as they are typed, and its size follows ours. As it was
// when this goes.
class OwnTerminal {
 public:
  explicit OwnTerminal(TaskStreams& streams) : streams_(streams) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~OwnTerminal() {
    if (before_) tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
    close(signals_);
  }
  OwnTerminal(const OwnTerminal&) = delete;
  OwnTerminal& operator=(const OwnTerminal&) = delete;
  void take() {
    termios now{};
    if (taken_) return;
    taken_ = true;
    tell_size();
    if (isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &now) != 0) return;
    before_ = now;
    cfmakeraw(&now);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  int signals() const { return signals_; }
  void take_signal() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) tell_size();
  }

 private:
  void tell_size() {
    winsize size{};
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) streams_.send_window(size.ws_row, size.ws_col);
  }
  TaskStreams& streams_;
  std::optional<termios> before_;
  int signals_ = -1;
  bool taken_ = false;
};

int follow(const Command& command, const SattachDraft& draft, const wire::Attached& step, TaskStreams& streams) {
  streams.set_task_count(step.tasks());
  const std::int64_t connect_until = now_us() + connect_within_us;
  bool input_open = !draft.layout;
  std::optional<OwnTerminal> terminal;
  if (draft.pty && !draft.layout) terminal.emplace(streams);
  std::uint32_t worst_code = 0, worst_signal = 0;
  for (;;) {
    const bool all_here = streams.tasks_started() >= step.tasks();
    if (draft.layout && all_here) return print_layout(step, streams);
    if (terminal && all_here && !streams.has_terminal()) {
      say_error(command, "--pty: the step has no terminal; srun --pty gives it one");
      return error_code();
    }
    if (terminal && all_here) terminal->take();
    for (const std::string& note : streams.take_notes()) say_plain(note);
    const auto ends = streams.take_ends();
    for (const TaskEnd& end : ends) {
      worst_code = std::max(worst_code, end.exit_code);
      worst_signal = std::max(worst_signal, end.exit_signal);
    }
    if (!draft.quiet)
      for (const std::string& line : end_lines(ends)) say_error(command, line);
    if (streams.all_ended()) break;
    if (streams.tasks_started() > 0 && !streams.has_connections()) break;  // its nodes have let go of us
    if (!all_here && now_us() >= connect_until) {
      say_error(command, std::to_string(step.tasks() - streams.tasks_started()) + " of " +
                             std::to_string(step.tasks()) + " tasks did not connect; can the nodes reach this host?");
      if (streams.tasks_started() == 0) return error_code();
    }
    std::vector<pollfd> entries{{input_open && !streams.input_is_slow() && all_here ? STDIN_FILENO : -1, POLLIN, 0},
                                {terminal ? terminal->signals() : -1, POLLIN, 0}};
    streams.add_to(entries);
    const std::int64_t wake = std::min(all_here ? INT64_MAX : connect_until, streams.due_us());
    const std::int64_t wait_ms =
        wake == INT64_MAX ? -1 : std::clamp<std::int64_t>((wake - now_us()) / 1000 + 1, 1, 60'000);
    if (poll(entries.data(), entries.size(), static_cast<int>(wait_ms)) < 0 && errno != EINTR) return error_code();
    if (entries[0].revents != 0) {
      char buffer[16384];
      const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
      if (got > 0)
        streams.send_input({buffer, static_cast<std::size_t>(got)});
      else if (got == 0 || errno != EINTR)
        input_open = false;  // the tasks' input goes on: it is srun's
    }
    if (entries[1].revents != 0) terminal->take_signal();
    streams.handle(entries);
  }
  return worst_signal != 0 && worst_code == 0 ? static_cast<int>(128 + worst_signal) : static_cast<int>(worst_code);
}

}  // namespace

std::vector<OptionText> sattach_options() {
  return option_texts(std::span<const Option<SattachDraft>>{sattach_rows}, any_tool);
}
std::string sattach_manual() {
  return man_page(sattach_head, option_texts(std::span<const Option<SattachDraft>>{sattach_rows}, any_tool));
}

int run_sattach(Command& command) {
  SattachDraft draft;
  const std::span<const Option<SattachDraft>> table{sattach_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sattach_head, option_texts(table, any_tool))) return 0;
  if (line->operands.size() != 1)
    return say_usage_error(command, {Errc::refused, "one step must be named, as in sattach 12.0"});
  const auto name = parse_step_name(line->operands[0]);
  const std::string wrong = "Invalid step id " + std::string{line->operands[0]} + "; it is JOB.STEP, as in 12.0";
  if (!name || !name->has_step())
    return say_usage_error(command, {Errc::refused, name ? wrong : told(name.error(), wrong)});
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  const std::string secret = random_bytes(32);
  TaskStreams streams(secret, draft.streams);
  const Endpoint endpoint = choose_endpoint(*settings);
  const auto port = streams.listen(endpoint);
  if (!port) return say_usage_error(command, {Errc::refused, port.error().story});
  wire::Request request;
  *request.mutable_attach_step()->mutable_step() = *name;
  wire::StdioEndpoint& peer = *request.mutable_attach_step()->mutable_peer();
  peer.set_host(endpoint.host);
  peer.set_port(*port);
  peer.set_secret(secret);
  Session session(*session_options(*settings));
  const auto reply = ask_to_attach(session, request);
  if (!reply || reply->has_failure()) {
    if (!reply)
      say_trouble(command, session);
    else
      for (const std::string& note : reply->failure().notes()) say_error(command, note);
    say_error(command, "Could not get job step info: " + (reply ? reply->failure().text() : reply.error().story));
    return error_code();
  }
  return follow(command, draft, reply->attached(), streams);
}

}  // namespace millrace
