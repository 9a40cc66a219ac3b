// src/sim/workload.cpp - see workload.h.
#include "sim/workload.h"

#include <algorithm>

#include "base/prng.h"
#include "base/text.h"

namespace millrace {
namespace {

void by_submit_time(Workload& workload) { std::ranges::stable_sort(workload.jobs, {}, &WorkloadJob::submit); }

void note_count(Workload& workload, std::size_t count, const std::string& what) {
  if (count > 0) workload.notes.push_back(std::to_string(count) + (count == 1 ? " job " : " jobs ") + what);
}

// gpu:2, gpu:a100:2, or a plain name for one of it.
GresAsk gres_ask(std::string_view text) {
  GresAsk ask;
  ask.count = 1;
  auto parts = split(text, ':');
  if (parts.size() > 1)
    if (const auto count = parse_integer(parts.back())) {
      ask.count = *count;
      parts.pop_back();
    }
  ask.name = parts[0];
  if (parts.size() > 1) ask.type = parts[1];
  return ask;
}

}  // namespace

std::uint32_t Workload::word(const std::string& text) {
  const auto known = std::ranges::find(words, text);
  if (known == words.end()) {
    words.push_back(text);
    return static_cast<std::uint32_t>(words.size() - 1);
  }
  return static_cast<std::uint32_t>(known - words.begin());
}

std::int64_t Workload::processors_of(const WorkloadJob& job) const {
  return static_cast<std::int64_t>(std::max(job.tasks, job.nodes)) * std::max(job.cpus_per_task, 1u);
}

Result<std::int64_t> trace_processors(const SwfTrace& trace) {
  for (const char* key : {"MaxProcs", "MaxNodes"})
    if (const auto number = trace.header_number(key); number && *number > 0) return *number;
  return fail(
      Errc::invalid,
      trace.name + ": its header has neither MaxProcs nor MaxNodes; --processors N says how wide the machine was");
}

Workload whole_trace(const SwfTrace& trace, std::int64_t processors, Queues queues) {
  Workload workload;
  std::size_t no_run = 0, no_width = 0, too_wide = 0, cut = 0, no_request = 0;
  for (const SwfJob& from : trace.jobs) {
    const std::int64_t width = from.requested_processors > 0 ? from.requested_processors : from.allocated;
    if (from.run < 0) {
      ++no_run;
    } else if (width <= 0) {
      ++no_width;
    } else if (width > processors) {
      ++too_wide;
    } else {
      WorkloadJob job;
      job.submit = from.submit;
      job.run = std::max<std::int64_t>(from.run, 1);
      job.requested = from.requested_time > 0 ? from.requested_time : job.run;
      no_request += from.requested_time > 0 ? 0 : 1;
      cut += job.run > job.requested ? 1 : 0;
      job.run = std::min(job.run, job.requested);
      job.tasks = static_cast<std::uint32_t>(width);
      job.user = from.user < 0 ? 0 : static_cast<std::uint32_t>(from.user);
      if (const std::int64_t queue = from.partition > 0 ? from.partition : from.queue;
          queue >= 0 && queues == Queues::are_partitions)
        job.partition = workload.word(std::to_string(queue));
      workload.jobs.push_back(job);
    }
  }
  by_submit_time(workload);
  note_count(workload, no_run, "without a run time left out");
  note_count(workload, no_width, "without processors left out");
  note_count(workload, too_wide, "wider than " + std::to_string(processors) + " processors left out");
  note_count(workload, no_request, "without a requested time, taken as having requested their run time");
  note_count(workload, cut, "that ran longer than requested, cut at the request");
  return workload;
}

void shake(Workload& workload, std::uint64_t seed) {
  Prng random(seed);
  for (WorkloadJob& job : workload.jobs)
    job.submit = std::max<std::int64_t>(job.submit + random.between(-shake_seconds, shake_seconds), 0);
  by_submit_time(workload);
}

void keep_half(Workload& workload, Half half) {
  if (half == Half::whole) return;
  const auto middle = workload.jobs.begin() + static_cast<std::ptrdiff_t>(workload.jobs.size() / 2);
  if (half == Half::first)
    workload.jobs.erase(middle, workload.jobs.end());
  else
    workload.jobs.erase(workload.jobs.begin(), middle);
}

namespace {

struct Column {
  std::string_view name;
  bool is_number;
  std::int64_t lowest;
  void (*set)(Workload&, WorkloadJob&, std::int64_t number, const std::string& text);
};

std::uint32_t small(std::int64_t number) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(number, unlimited));
}

constexpr Column columns[] = {
    {"submit", true, 0, [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.submit = n; }},
    {"run", true, 0,
     [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.run = std::max<std::int64_t>(n, 1); }},
    {"limit", true, 1, [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.requested = n; }},
    {"user", true, 0, [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.user = small(n); }},
    {"account", false, 0,
     [](Workload& all, WorkloadJob& job, std::int64_t, const std::string& t) { job.account = all.word(t); }},
    {"partition", false, 0,
     [](Workload& all, WorkloadJob& job, std::int64_t, const std::string& t) { job.partition = all.word(t); }},
    {"nodes", true, 1, [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.nodes = small(n); }},
    {"tasks", true, 1, [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.tasks = small(n); }},
    {"cpus_per_task", true, 1,
     [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.cpus_per_task = small(n); }},
    {"mem", true, 0, [](Workload&, WorkloadJob& job, std::int64_t n, const std::string&) { job.memory = n; }},
    {"gres", false, 0,
     [](Workload& all, WorkloadJob& job, std::int64_t, const std::string& t) { job.gres = all.word(t); }},
};

std::string column_names() {
  std::string names;
  for (const Column& column : columns) names += (names.empty() ? "" : ",") + std::string{column.name};
  return names;
}

Result<std::vector<const Column*>> parse_columns(std::string_view line, const std::string& where) {
  std::vector<const Column*> order;
  for (const std::string_view word : split(line, ',')) {
    const auto found = std::ranges::find(columns, trim(word), &Column::name);
    if (found == std::end(columns))
      return fail(Errc::invalid,
                  where + ": there is no column '" + std::string{trim(word)} + "'; the columns are " + column_names());
    if (std::ranges::find(order, found) != order.end())
      return fail(Errc::invalid, where + ": column '" + std::string{found->name} + "' is there twice");
    order.push_back(found);
  }
  for (const Column& needed : {columns[0], columns[1]})
    if (std::ranges::find(order, needed.name, &Column::name) == order.end())
      return fail(Errc::invalid, where + ": the first line names the columns, and '" + std::string{needed.name} +
                                     "' must be one of " + column_names());
  return order;
}

}  // namespace

Result<Workload> parse_workload_csv(std::string_view text, const std::string& name) {
  Workload workload;
  std::vector<const Column*> order;
  std::size_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    const std::string where = name + " line " + std::to_string(number);
    if (line.empty() || line.front() == '#') continue;
    if (order.empty()) {
      MR_TRY(order, parse_columns(line, where));
      continue;
    }
    const auto cells = split(line, ',');
    if (cells.size() != order.size())
      return fail(Errc::invalid, where + ": " + std::to_string(cells.size()) + " values, but the first line names " +
                                     std::to_string(order.size()) + " columns");
    WorkloadJob job;
    job.requested = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell{trim(cells[i])};
      if (cell.empty()) continue;
      const auto value = parse_integer(cell);
      if (order[i]->is_number && (!value || *value < order[i]->lowest))
        return fail(Errc::invalid, where + ": column '" + std::string{order[i]->name} + "' is '" + cell +
                                       "'; a whole number of at least " + std::to_string(order[i]->lowest) +
                                       " is right");
      order[i]->set(workload, job, value.value_or(0), cell);
    }
    if (job.requested == 0) job.requested = job.run;
    job.run = std::min(job.run, job.requested);
    workload.jobs.push_back(job);
  }
  if (order.empty()) return fail(Errc::invalid, name + ": the first line must name the columns: " + column_names());
  by_submit_time(workload);
  return workload;
}

SubmitJob ask_of(const Workload& workload, const WorkloadJob& job) {
  SubmitJob ask;
  const std::uint32_t uid = 1000 + job.user % 1'000'000'000;
  ask.spec.owner =
      SharedValue(Owner{UserId{uid}, GroupId{uid}, "user" + std::to_string(job.user), "users", {uid}, "sim", {}});
  ask.spec.name = "job";
  ask.spec.work_dir = "/";
  ask.spec.min_nodes = job.nodes;
  ask.spec.max_nodes = job.nodes;
  ask.spec.tasks = job.tasks;
  ask.spec.cpus_per_task = job.cpus_per_task;
  ask.spec.account = workload.words[job.account];
  if (job.memory > 0) ask.spec.memory_per_node = Mebibytes{job.memory};
  if (job.gres > 0) {
    ResourceRequest request;
    for (const std::string_view one : split(workload.words[job.gres], '+'))
      if (!trim(one).empty()) request.gres.push_back(gres_ask(trim(one)));
    ask.spec.resources = SharedValue(std::move(request));
  }
  ask.partition = workload.words[job.partition];
  ask.time_limit_minutes = static_cast<std::uint32_t>(std::min<std::int64_t>((job.requested + 59) / 60, unlimited - 1));
  ask.script_bytes = 1;
  return ask;
}

}  // namespace millrace
