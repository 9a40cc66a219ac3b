// src/cli/render/step_columns.cpp - see step_columns.h.
#include "cli/render/step_columns.h"

#include <algorithm>

#include "core/model/step.h"

namespace millrace {
namespace {

using Row = StepRow;
using Out = std::string;
using V = wire::StepView;
using enum Cut;

template <auto getter>
void text_of(Out& out, const Row& row) {
  out += (row.step->*getter)();
}
template <auto getter>
void number_of(Out& out, const Row& row) {
  out += std::to_string((row.step->*getter)());
}
void not_available(Out& out, const Row&) { out += "N/A"; }
void null(Out& out, const Row&) { out += "(null)"; }
void nothing(Out&, const Row&) {}

// Of what a step asked for, if it did.
template <auto getter>
void wish_of(Out& out, const Row& row) {
  const std::string& text = (row.step->wishes().*getter)();
  out += text.empty() ? "N/A" : text;
}

std::string time_limit_of(const V& step) {
  return format_short_limit(step.time_limit_minutes() == 0 ? UINT32_MAX : step.time_limit_minutes());
}

void put_user(Out& out, const Row& row) {
  if (!row.step->user_name().empty())
    out += row.step->user_name();
  else
    out += row.context->names->user(row.step->uid());
}

std::int64_t run_seconds(const Row& row) {
  return std::max<std::int64_t>(0, (row.context->now_us - row.step->start_at_us()) / 1'000'000);
}

std::string_view state_of(const V& step) { return step.state() == wire::SUSPENDED ? "SUSPENDED" : "RUNNING"; }

// clang-format off
constexpr Column<Row> rows[] = {
    {"ArrayJobId", 0, "ARRAY_JOB_ID", never, true, [](Out& out, const Row& row) { out += row.step->array_job_id() != 0 ? std::to_string(row.step->array_job_id()) : "N/A"; }},
    {"ArrayTaskId", 0, "ARRAY_TASK_ID", never, true, [](Out& out, const Row& row) { out += row.step->has_array_task() ? std::to_string(row.step->array_task()) : "N/A"; }},
    {"Cluster", 0, "CLUSTER", to_width, true, [](Out& out, const Row& row) { out += row.context->cluster; }},
    {"Container", 0, "CONTAINER", to_width, true, nothing},
    {"ContainerId", 0, "CONTAINERID", to_width, true, nothing},
    {"CPUFreq", 0, "CPU_FREQ", to_width, true, not_available},
    {"cpus-per-tres", 0, "CPUS_PER_TRES", to_width, true, wish_of<&wire::StepWishes::cpus_per_tres>},
    {"Gres", 0, "TRES_PER_JOB", to_width, true, wish_of<&wire::StepWishes::tres_per_node>},
    {"JobId", 0, "JOB_ID", never, true, number_of<&V::job_id>},
    {"mem-per-tres", 0, "MEM_PER_TRES", to_width, true, wish_of<&wire::StepWishes::mem_per_tres>},
    {"Network", 0, "NETWORK", to_width, true, not_available},
    {"Nodes", 'N', "NODELIST", to_width, true, text_of<&V::nodes>},
    {"NumCPUs", 0, "NUM_CPUS", never, true, number_of<&V::cpus>},
    {"NumTasks", 'A', "TASKS", never, true, number_of<&V::tasks>},
    {"Partition", 'P', "PARTITION", to_width, true, text_of<&V::partition>},
    {"ResvPorts", 0, "RESERVED_PORTS", to_width, true, [](Out& out, const Row& row) { out += row.step->ports().empty() ? "(null)" : row.step->ports(); }},
    {"Runtime", 0, "RUNTIME", to_width, true, null},
    {"StartTime", 'S', "START_TIME", to_width, true, [](Out& out, const Row& row) { out += format_time(row.step->start_at_us(), "N/A"); }},
    {"StdErr", 0, "STDERR", to_width, true, null},
    {"StdIn", 0, "STDIN", to_width, true, null},
    {"StdOut", 0, "STDOUT", to_width, true, null},
    {"StepId", 'i', "STEPID", to_width, true, [](Out& out, const Row& row) { out += shown_step(*row.step); }},
    {"StepName", 'j', "NAME", to_width, true, text_of<&V::name>},
    {"StepState", 0, "STATE", to_width, true, [](Out& out, const Row& row) { out += state_of(*row.step); }},
    {"TimeLimit", 'l', "TIME_LIMIT", never, true, [](Out& out, const Row& row) { out += time_limit_of(*row.step); }},
    {"TimeUsed", 'M', "TIME", never, true, [](Out& out, const Row& row) { out += format_short_duration(run_seconds(row)); }},
    {"tres-bind", 0, "TRES_BIND", to_width, true, not_available},
    {"tres-freq", 0, "TRES_FREQ", to_width, true, not_available},
    {"tres-per-job", 0, "TRES_PER_STEP", to_width, true, wish_of<&wire::StepWishes::tres_per_step>},
    {"tres-per-node", 'b', "TRES_PER_JOB", to_width, true, wish_of<&wire::StepWishes::tres_per_node>},
    {"tres-per-socket", 0, "TRES_PER_SOCKET", to_width, true, wish_of<&wire::StepWishes::tres_per_socket>},
    {"tres-per-step", 0, "TRES_PER_STEP", to_width, true, wish_of<&wire::StepWishes::tres_per_step>},
    {"tres-per-task", 0, "TRES_PER_TASK", to_width, true, wish_of<&wire::StepWishes::tres_per_task>},
    {"UserId", 'U', "UID", never, true, number_of<&V::uid>},
    {"UserName", 'u', "USER", to_width, true, put_user},
};
// clang-format on

template <class T>
int compare(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int compare_by(char letter, const Row& a, const Row& b) {
  const V &x = *a.step, &y = *b.step;
  switch (letter) {
    case 'i':
      return x.job_id() != y.job_id() ? compare(x.job_id(), y.job_id()) : compare(x.step(), y.step());
    case 'j':
      return compare(x.name(), y.name());
    case 'P':
      return compare(x.partition(), y.partition());
    case 'N':
      return compare(x.nodes(), y.nodes());
    case 'A':
      return compare(x.tasks(), y.tasks());
    case 'S':
      return compare(x.start_at_us(), y.start_at_us());
    case 'M':
      return compare(run_seconds(a), run_seconds(b));
    case 'u':
      return compare(a.context->names->user(x.uid()), b.context->names->user(y.uid()));
    case 'U':
      return compare(x.uid(), y.uid());
    case 'l':
      return compare(x.time_limit_minutes() - 1, y.time_limit_minutes() - 1);  // no limit is the longest
    default:
      return 0;
  }
}

}  // namespace

const char* const squeue_steps_format = "%.15i %.8j %.9P %.8u %.9M %N";

std::span<const Column<StepRow>> step_columns() { return rows; }

std::string shown_step_number(std::uint32_t step) {
  return step == batch_step ? "batch" : step == interactive_step ? "interactive" : std::to_string(step);
}

std::string shown_step(const wire::StepView& step) {
  std::string job = std::to_string(step.job_id());
  if (step.array_job_id() != 0 && step.has_array_task())
    job = std::to_string(step.array_job_id()) + '_' + std::to_string(step.array_task());
  if (step.het_job_id() != 0) job = std::to_string(step.het_job_id()) + '+' + std::to_string(step.het_job_offset());
  return job + '.' + shown_step_number(step.step());
}

std::string step_tres(const wire::StepView& step) {
  if (step.cpus() == 0) return {};
  return "cpu=" + std::to_string(step.cpus()) +
         (step.memory_mib() != 0 ? ",mem=" + format_mib(step.memory_mib()) : "") +
         ",node=" + std::to_string(step.node_count()) +
         (step.wishes().gres().empty() ? "" : "," + step.wishes().gres());
}

void sort_steps(std::vector<StepRow>& steps, std::string_view keys, std::string& unknown) {
  constexpr std::string_view known = "ijPNASMuUl";
  std::vector<std::pair<char, bool>> order;
  bool reverse = false;
  for (const char c : keys) {
    if (c == '-' || c == '+') reverse = c == '-';
    if (c == ',' || c == '-' || c == '+' || c == '#' || c == ' ' || c == '%') continue;
    if (known.find(c) == std::string_view::npos)
      unknown += c;
    else
      order.emplace_back(c, reverse);
    reverse = false;
  }
  std::ranges::stable_sort(steps, [&](const StepRow& a, const StepRow& b) {
    for (const auto& [letter, backwards] : order)
      if (const int result = compare_by(letter, a, b); result != 0) return backwards ? result > 0 : result < 0;
    return false;
  });
}

std::string render_steps(const std::vector<StepRow>& steps, const Format<StepRow>& format, bool header) {
  std::string out, scratch;
  if (header) append_header(out, format);
  for (const StepRow& row : steps) append_row(out, format, row, scratch);
  return out;
}

std::string show_step_record(const wire::StepView& step, bool one_line) {
  const std::string next = one_line ? " " : "\n   ";
  std::string out = "StepId=" + shown_step(step) + " UserId=" + std::to_string(step.uid()) +
                    " StartTime=" + format_time(step.start_at_us(), "Unknown") + " TimeLimit=" +
                    format_limit(step.time_limit_minutes() == 0 ? UINT32_MAX : step.time_limit_minutes());
  out += next + "State=" + std::string{state_of(step)} + " Partition=" + step.partition() + " NodeList=" + step.nodes();
  out += next + "Nodes=" + std::to_string(step.node_count()) + " CPUs=" + std::to_string(step.cpus()) +
         " Tasks=" + std::to_string(step.tasks()) + " Name=" + step.name() + " Network=(null)";
  const std::string tres = step_tres(step);
  out += next + "TRES=" + std::string{or_null(tres)};
  out += next + "ResvPorts=" + (step.ports().empty() ? "(null)" : step.ports());
  out += next + "CPUFreqReq=Default";
  if (step.step() != batch_step) {
    std::string layout = step.distribution().empty() ? "block" : step.distribution();
    layout = layout.substr(0, layout.find(':'));
    layout[0] = upper_case(layout.substr(0, 1))[0];
    out += " Dist=" + layout;
  }
  out += next + "SrunHost:Pid=" + std::string{or_null(step.srun_host())} + ':' + std::to_string(step.srun_pid());
  const wire::StepWishes& wishes = step.wishes();
  const std::pair<const char*, const std::string&> asked[] = {
      {"CpusPerTres", wishes.cpus_per_tres()},     {"MemPerTres", wishes.mem_per_tres()},
      {"TresPerStep", wishes.tres_per_step()},     {"TresPerNode", wishes.tres_per_node()},
      {"TresPerSocket", wishes.tres_per_socket()}, {"TresPerTask", wishes.tres_per_task()}};
  for (const auto& [name, value] : asked)
    if (!value.empty()) out += next + name + "=" + value;
  return out + (one_line ? "\n" : "\n\n");
}

}  // namespace millrace
