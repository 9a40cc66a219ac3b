// src/cli/why.cpp - millrace why JOB: why it waits, what would help, when it starts; or what it waited for.
#include "base/shown_text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/render/text_forms.h"
#include "cli/scontrol.h"

namespace millrace {
namespace {

std::string told(const wire::Explanation& e) {
  std::string out = "Job " + e.job() + " is " + e.state() +
                    (e.reason().empty() || e.reason() == "None" ? "" : " (" + e.reason() + ")") + ".\n";
  for (const std::string& sentence : e.words()) out += "  " + shown_text(sentence) + '\n';
  if (e.state() == "waiting") {
    out += e.start_us() == 0 ? "  When it starts cannot be said.\n"
                             : "  Expected start: " + format_time(e.start_us(), "Unknown") +
                                   (e.nodes().empty() ? "" : " on " + e.nodes()) + ", " + e.certainty() + ".\n";
    for (const auto& each : e.suggestions())
      out += "  Sooner " + each.change() + ": " +
             (each.now() ? std::string{"at once"} : format_time(each.start_us(), "Unknown")) + ".\n";
  }
  const auto line = [&](const char* what, std::int64_t at) {
    if (at != 0) out += std::string{"  "} + what + format_time(at, "Unknown") + '\n';
  };
  line("Submitted: ", e.submitted_us());
  line("Eligible:  ", e.eligible_us());
  line("Started:   ", e.started_us());
  line("Ended:     ", e.ended_us());
  return out;
}

}  // namespace

int run_why(Command& command) {
  const bool asked = !command.words.empty() && (command.words[0] == "--help" || command.words[0] == "-h");
  if (command.words.size() != 1 || asked) {
    const std::string usage =
        "Usage: millrace why JOB        (12, 12_3 for a task of an array, 12+1 for a component)\n\nSays in words what "
        "keeps the job from starting, tried on the present plan,\nand what would let it start sooner; of a job that "
        "ran, what it waited for.\n";
    if (asked) return print(usage);
    say_error(command, "name one job, as in: millrace why 12");
    return 1;
  }
  const auto name = parse_job_name(command.words[0]);
  if (!name) {
    say_error(command, told(name.error(), "Invalid job id specified: " + std::string{command.words[0]} +
                                              "; a number like 12 or 12_3 would be right"));
    return 1;
  }
  auto settings = read_client_settings();
  if (!settings) {
    say_error(command, settings.error().story);
    return 1;
  }
  Session session(*session_options(*settings));
  wire::Request request;
  request.mutable_explain()->set_job_id(name->id);
  request.mutable_explain()->set_tasks(name->tasks);
  const auto reply = ask_all(session, request);
  if (!reply) {
    if (reply.error().code != Errc::refused) say_trouble(command, session);
    say_error(command, reply.error().story);
    return 1;
  }
  return print(told(reply->explanation()));
}

}  // namespace millrace
