// src/cli/render/usage_fields.cpp - see usage_fields.h.
#include "cli/render/usage_fields.h"

#include <cstdio>

#include "cli/render/step_columns.h"
#include "core/model/step.h"

namespace millrace {
namespace {

using Row = StepUse;

// 4676K: the unit goes up only when nothing is lost.
std::string size_text(std::int64_t bytes, const Row& row) {
  if (row.exact_numbers || bytes == 0) return std::to_string(bytes);
  constexpr const char* units[] = {"", "K", "M", "G", "T"};
  int unit = 0;
  while (bytes % 1024 == 0 && unit < 4) bytes /= 1024, ++unit;
  return std::to_string(bytes) + units[unit];
}

std::string cpu_text(std::int64_t microseconds, const Row&) {
  const std::int64_t seconds = microseconds / 1'000'000;
  char buffer[48];
  const int days = static_cast<int>(seconds / 86'400);
  const int length =
      days > 0 ? std::snprintf(buffer, sizeof buffer, "%d-%02d:%02d:%02d", days, static_cast<int>(seconds / 3600 % 24),
                               static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60))
               : std::snprintf(buffer, sizeof buffer, "%02d:%02d:%02d", static_cast<int>(seconds / 3600),
                               static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return {buffer, static_cast<std::size_t>(length)};
}

std::string plain_text(std::int64_t value, const Row&) { return std::to_string(value); }

using Show = std::string (*)(std::int64_t value, const Row& row);

template <auto measure, Show show>
std::string most(const Row& row) {
  return show((row.*measure).most, row);
}
template <auto measure>
std::string most_node(const Row& row) {
  return (row.*measure).most_node;
}
template <auto measure>
std::string most_task(const Row& row) {
  return std::to_string((row.*measure).most_task);
}
template <auto measure, Show show>
std::string average(const Row& row) {
  return show((row.*measure).average(), row);
}
std::string zero(const Row&) { return "0"; }

// The list of TRES: what of each measure, in the order of their names. Energy is not measured.
std::string in_list(const Row& row, std::int64_t UsageSpread::* value) {
  const std::string gpus = row.gpu_busy.count == 0 ? ""
                                                   : ",gres/gpumem=" + size_text(row.gpu_memory.*value, row) +
                                                         ",gres/gpuutil=" + std::to_string(row.gpu_busy.*value);
  return "cpu=" + cpu_text(row.cpu_us.*value, row) + ",energy=0,fs/disk=" + std::to_string(row.read.*value) + gpus +
         ",mem=" + size_text(row.rss.*value, row) + ",pages=" + std::to_string(row.pages.*value) +
         ",vmem=" + size_text(row.vm.*value, row);
}
std::string in_nodes(const Row& row, std::string UsageSpread::* node) {
  const std::string gpus =
      row.gpu_busy.count == 0 ? "" : ",gres/gpumem=" + row.gpu_memory.*node + ",gres/gpuutil=" + row.gpu_busy.*node;
  return "cpu=" + row.cpu_us.*node + ",energy=" + row.cpu_us.*node + ",fs/disk=" + row.read.*node + gpus +
         ",mem=" + row.rss.*node + ",pages=" + row.pages.*node + ",vmem=" + row.vm.*node;
}
std::string in_tasks(const Row& row, std::uint32_t UsageSpread::* task) {
  const auto number = [&](const UsageSpread& spread) { return std::to_string(spread.*task); };
  const std::string gpus =
      row.gpu_busy.count == 0 ? "" : ",gres/gpumem=" + number(row.gpu_memory) + ",gres/gpuutil=" + number(row.gpu_busy);
  return "cpu=" + number(row.cpu_us) + ",fs/disk=" + number(row.read) + gpus + ",mem=" + number(row.rss) +
         ",pages=" + number(row.pages) + ",vmem=" + number(row.vm);
}
std::string out_list(std::int64_t value) { return "energy=0,fs/disk=" + std::to_string(value); }

Row averages_of(Row row) {
  for (UsageSpread* spread :
       {&row.cpu_us, &row.rss, &row.vm, &row.pages, &row.read, &row.written, &row.gpu_busy, &row.gpu_memory})
    spread->most = spread->average();
  return row;
}

std::string pid_text(const Row& row) {
  std::string out;
  for (const std::uint32_t pid : row.pids) out += (out.empty() ? "" : ",") + std::to_string(pid);
  return out;
}

// clang-format off
constexpr Field<Row> fields[] = {
    {"AllocTRES", "AllocTRES", 10, [](const Row& row) { return step_tres(*row.step); }},
    {"AveCPU", "AveCPU", 10, average<&Row::cpu_us, cpu_text>},
    {"AveCPUFreq", "AveCPUFreq", 10, zero},
    {"AveDiskRead", "AveDiskRead", 12, average<&Row::read, size_text>},
    {"AveDiskWrite", "AveDiskWrite", 12, average<&Row::written, size_text>},
    {"AvePages", "AvePages", 10, average<&Row::pages, plain_text>},
    {"AveRSS", "AveRSS", 10, average<&Row::rss, size_text>},
    {"AveVMSize", "AveVMSize", 10, average<&Row::vm, size_text>},
    {"ConsumedEnergy", "ConsumedEnergy", 14, zero},
    {"ConsumedEnergyRaw", "ConsumedEnergyRaw", 17, zero},
    {"JobID", "JobID", -12, [](const Row& row) { return shown_step(*row.step); }},
    {"MaxDiskRead", "MaxDiskRead", 12, most<&Row::read, size_text>},
    {"MaxDiskReadNode", "MaxDiskReadNode", 15, most_node<&Row::read>},
    {"MaxDiskReadTask", "MaxDiskReadTask", 15, most_task<&Row::read>},
    {"MaxDiskWrite", "MaxDiskWrite", 12, most<&Row::written, size_text>},
    {"MaxDiskWriteNode", "MaxDiskWriteNode", 16, most_node<&Row::written>},
    {"MaxDiskWriteTask", "MaxDiskWriteTask", 16, most_task<&Row::written>},
    {"MaxPages", "MaxPages", 8, most<&Row::pages, plain_text>},
    {"MaxPagesNode", "MaxPagesNode", 12, most_node<&Row::pages>},
    {"MaxPagesTask", "MaxPagesTask", 14, most_task<&Row::pages>},
    {"MaxRSS", "MaxRSS", 10, most<&Row::rss, size_text>},
    {"MaxRSSNode", "MaxRSSNode", 10, most_node<&Row::rss>},
    {"MaxRSSTask", "MaxRSSTask", 10, most_task<&Row::rss>},
    {"MaxVMSize", "MaxVMSize", 10, most<&Row::vm, size_text>},
    {"MaxVMSizeNode", "MaxVMSizeNode", 14, most_node<&Row::vm>},
    {"MaxVMSizeTask", "MaxVMSizeTask", 14, most_task<&Row::vm>},
    {"MinCPU", "MinCPU", 10, [](const Row& row) { return cpu_text(row.cpu_us.least, row); }},
    {"MinCPUNode", "MinCPUNode", 10, [](const Row& row) { return row.cpu_us.least_node; }},
    {"MinCPUTask", "MinCPUTask", 10, [](const Row& row) { return std::to_string(row.cpu_us.least_task); }},
    {"Nodelist", "Nodelist", 20, [](const Row& row) { return std::string{row.step->nodes()}; }},
    {"NTasks", "NTasks", 8, [](const Row& row) { return std::to_string(row.step->tasks()); }},
    {"Pids", "Pids", 20, pid_text},
    {"ReqCPUFreq", "ReqCPUFreq", 10, zero},
    {"ReqCPUFreqMin", "ReqCPUFreqMin", 13, zero},
    {"ReqCPUFreqMax", "ReqCPUFreqMax", 13, zero},
    {"ReqCPUFreqGov", "ReqCPUFreqGov", 13, zero},
    {"TRESUsageInAve", "TRESUsageInAve", 14, [](const Row& row) { return in_list(averages_of(row), &UsageSpread::most); }},
    {"TRESUsageInMax", "TRESUsageInMax", 14, [](const Row& row) { return in_list(row, &UsageSpread::most); }},
    {"TRESUsageInMaxNode", "TRESUsageInMaxNode", 18, [](const Row& row) { return in_nodes(row, &UsageSpread::most_node); }},
    {"TRESUsageInMaxTask", "TRESUsageInMaxTask", 18, [](const Row& row) { return in_tasks(row, &UsageSpread::most_task); }},
    {"TRESUsageInMin", "TRESUsageInMin", 14, [](const Row& row) { return in_list(row, &UsageSpread::least); }},
    {"TRESUsageInMinNode", "TRESUsageInMinNode", 18, [](const Row& row) { return in_nodes(row, &UsageSpread::least_node); }},
    {"TRESUsageInMinTask", "TRESUsageInMinTask", 18, [](const Row& row) { return in_tasks(row, &UsageSpread::least_task); }},
    {"TRESUsageInTot", "TRESUsageInTot", 14, [](const Row& row) { return in_list(row, &UsageSpread::total); }},
    {"TRESUsageOutAve", "TRESUsageOutAve", 15, [](const Row& row) { return out_list(row.written.average()); }},
    {"TRESUsageOutMax", "TRESUsageOutMax", 15, [](const Row& row) { return out_list(row.written.most); }},
    {"TRESUsageOutMaxNode", "TRESUsageOutMaxNode", 19, [](const Row& row) { return "energy=" + row.written.most_node + ",fs/disk=" + row.written.most_node; }},
    {"TRESUsageOutMaxTask", "TRESUsageOutMaxTask", 19, [](const Row& row) { return "fs/disk=" + std::to_string(row.written.most_task); }},
    {"TRESUsageOutMin", "TRESUsageOutMin", 15, [](const Row& row) { return out_list(row.written.least); }},
    {"TRESUsageOutMinNode", "TRESUsageOutMinNode", 19, [](const Row& row) { return "energy=" + row.written.least_node + ",fs/disk=" + row.written.least_node; }},
    {"TRESUsageOutMinTask", "TRESUsageOutMinTask", 19, [](const Row& row) { return "fs/disk=" + std::to_string(row.written.least_task); }},
    {"TRESUsageOutTot", "TRESUsageOutTot", 15, [](const Row& row) { return out_list(row.written.total); }},
};
// clang-format on

}  // namespace

void UsageSpread::add(std::int64_t value, const std::string& node, std::uint32_t task) {
  if (count == 0 || value > most) most = value, most_node = node, most_task = task;
  if (count == 0 || value < least) least = value, least_node = node, least_task = task;
  total += value;
  ++count;
}

StepUse sum_up(const wire::StepView& step, const wire::StepSamples& samples) {
  StepUse out;
  out.step = &step;
  for (const wire::StepSample& sample : samples.samples()) {
    const std::uint32_t number = sample.has_step() ? sample.step() : sample.batch() ? batch_step : 0;
    if (sample.job_id() != step.job_id() || number != step.step()) continue;
    if (sample.gpu_looks() > 0) {
      const std::uint32_t rank =
          sample.tasks_size() > 0 ? sample.tasks(0).rank() : 0;  // the gpus are the node's tasks' together
      out.gpu_busy.add(sample.gpu_busy_max(), sample.node(), rank);
      out.gpu_memory.add(sample.gpu_memory_max_bytes(), sample.node(), rank);
    }
    for (const wire::TaskSample& task : sample.tasks()) {
      out.cpu_us.add(task.user_us() + task.system_us(), sample.node(), task.rank());
      out.rss.add(task.max_rss_bytes(), sample.node(), task.rank());
      out.vm.add(task.max_vm_bytes(), sample.node(), task.rank());
      out.pages.add(task.page_faults(), sample.node(), task.rank());
      out.read.add(task.read_bytes(), sample.node(), task.rank());
      out.written.add(task.write_bytes(), sample.node(), task.rank());
      if (task.running()) out.pids.push_back(task.pid());
    }
    out.pids.insert(out.pids.end(), sample.other_pids().begin(), sample.other_pids().end());
  }
  return out;
}

const char* const sstat_default_fields =
    "JobID,AllocTRES,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,"
    "MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,"
    "AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,"
    "AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,"
    "TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,"
    "TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,TRESUsageOutMax,TRESUsageOutMaxNode,"
    "TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,TRESUsageOutMinTask,TRESUsageOutTot";
const char* const sstat_pid_fields = "JobID,Nodelist,Pids";

std::span<const Field<StepUse>> usage_fields() { return fields; }

}  // namespace millrace
