// src/apps/millrace_sim.cpp - millrace-sim: what `millrace sim` starts, so that the client program stays small.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "apps/sim_commands.h"

namespace millrace {
namespace {

constexpr Choice<OrderPolicy> policies[] = {
    {"fcfs", OrderPolicy::fcfs, "first come, first served"},
    {"sjf", OrderPolicy::sjf, "shortest estimate first"},
    {"f1", OrderPolicy::f1, "log10(r) n + 870 log10(s); r estimate, n processors, s submit time"},
    {"f2", OrderPolicy::f2, "sqrt(r) n + 25600 log10(s)"},
    {"f3", OrderPolicy::f3, "r n + 6860000 log10(s)"},
    {"f4", OrderPolicy::f4, "r sqrt(n) + 530000 log10(s)"},
    {"wfp3", OrderPolicy::wfp3, "-(w / r)^3 n; w the wait so far"},
    {"unicep", OrderPolicy::unicep, "-w / (log2(n) r)"},
    {"guarded", OrderPolicy::guarded,
     "s + min(5 r, 8 h), less 7 days for limits up to 30 minutes on up to a quarter of the machine"},
};
constexpr Choice<Backfill> backfills[] = {
    {"none", Backfill::none, "nobody overtakes"},
    {"easy", Backfill::easy, "who does not delay the first blocked job may overtake it"},
    {"sjbf", Backfill::shortest_first, "easy, and the shortest estimate overtakes first"},
    {"conservative", Backfill::conservative, "every waiting job has a promised start, which nobody may delay"},
    {"guarded", Backfill::guarded, "easy, and the first three who have waited for two days have promised starts too"},
};
constexpr Choice<Estimates> estimates[] = {
    {"requested", Estimates::requested, "what the user asked for"},
    {"exact", Estimates::exact, "the run time itself, as if it were known"},
    {"predicted", Estimates::predicted,
     "mean of the user's last two run times, within the request; the request once that is exceeded"},
};

struct Row {
  std::string_view name, summary;
  int (*run)(const Words&);
};
constexpr Row rows[] = {
    {"run", "replay a trace on one machine under a policy", run_sim_trace},
    {"compare", "several policies over shaken traces, with spread", run_sim_compare},
    {"rlscheduler", "the recipe of the RLScheduler comparison, to the letter", run_sim_published},
    {"cluster", "replay a workload on the cluster of a slurm.conf", run_sim_cluster},
    {"whatif", "the running cluster with other nodes, jobs, limits or weights: who starts when?", run_sim_what_if},
    {"workload", "print a workload made by a model", run_sim_workload},
};

int print_help() {
  std::string out =
      "Usage: millrace sim COMMAND [arguments]\n\n"
      "Replays workloads through the ledger, admission and planner that run a real cluster, without one; or looks at "
      "one and asks what if.\n\n";
  for (const Row& row : rows)
    out += "  " + std::string{row.name} + std::string(14 - row.name.size(), ' ') + std::string{row.summary} + '\n';
  out += "\nEach answers --help. docs/admin/simulator.md has worked examples.\n";
  return std::fputs(out.c_str(), stdout) < 0;
}

}  // namespace

std::span<const Choice<OrderPolicy>> policy_choices() { return policies; }
std::span<const Choice<Backfill>> backfill_choices() { return backfills; }
std::span<const Choice<Estimates>> estimate_choices() { return estimates; }

Result<OrderPolicy> choose_policy(std::string_view word) {
  if (word == "multifactor") return fail(Errc::invalid, "--policy multifactor is not built yet");
  return choose(policy_choices(), "--policy", word);
}

std::function<void(std::size_t, std::size_t)> progress_bar() {
  if (isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  return [begin = Clock::now(), drawn = Clock::time_point{}, any = false](std::size_t ended, std::size_t all) mutable {
    constexpr std::size_t cells = 40;
    const auto now = Clock::now();
    const bool last = ended == all;
    if (now - begin < std::chrono::seconds(1) || (now - drawn < std::chrono::milliseconds(100) && !last)) return;
    drawn = now;
    if (last) {
      if (any) std::fprintf(stderr, "\r%*s\r", 70, "");
      return;
    }
    any = true;
    const std::size_t full = all == 0 ? cells : ended * cells / all;
    std::fprintf(stderr, "\r[%s%s] %zu of %zu jobs", std::string(full, '#').c_str(),
                 std::string(cells - full, ' ').c_str(), ended, all);
  };
}

void print_report(const Report& report) {
  if (report.json) {
    for (const std::string& note : report.notes) std::fprintf(stderr, "millrace sim: %s\n", note.c_str());
    std::fputs(metrics_json(report.metrics).c_str(), stdout);
    return;
  }
  std::string out = report.title + "\n\n" + metrics_table(report.metrics);
  if (!report.notes.empty()) out += '\n';
  for (const std::string& note : report.notes) out += note + '\n';
  std::fputs(out.c_str(), stdout);
}

Result<void> write_file(const std::string& path, const std::string& content) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return fail(Errc::io, "writing " + path + ": " + std::strerror(errno));
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) return fail(Errc::io, "writing " + path + ": " + std::strerror(errno));
  return {};
}

}  // namespace millrace

int main(int argc, char** argv) {
  using namespace millrace;
  signal(SIGPIPE, SIG_IGN);
  const std::string_view name = argc > 1 ? argv[1] : "--help";
  if (name == "--help" || name == "-h" || name == "help") return print_help();
  const Words words(argv + 2, argv + argc);
  std::string known;
  for (const auto& row : rows) {
    if (row.name == name) return row.run(words);
    known += (known.empty() ? "" : ", ") + std::string{row.name};
  }
  return say_failure("sim", "there is no command '" + std::string{name} + "'; it is one of " + known);
}
