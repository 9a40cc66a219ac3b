// src/step/step_manager/step_resources.cpp - see step_resources.h.
#include "step/step_manager/step_resources.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "agent.pb.h"
#include "base/index_set.h"
#include "base/text.h"
#include "core/model/gres_text.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

constexpr std::string_view memory_text = "Memory required by task is not available",
                           gres_text = "Invalid generic resource (gres) specification",
                           processors_text = "More processors requested than permitted";
constexpr std::uint32_t too_many_cpus = 2005, invalid_task_memory = 2044, invalid_gres = 2072, not_available = 2014;

bool matches(const DevicePool& pool, const GresAsk& ask) {
  return pool.name == ask.name && (ask.type.empty() || pool.type == ask.type);
}

std::string shown(const DevicePool& pool) {
  return pool.name + (pool.type.empty() ? "" : ":" + pool.type) + ":" + std::to_string(pool.count);
}

std::size_t sockets_of(const NodeBelongings& node, std::span<const std::uint32_t> cpus) {
  std::set<std::uint32_t> sockets;
  for (const std::uint32_t cpu : cpus) sockets.insert(cpu < node.cpus.size() ? node.cpus[cpu].socket : 0);
  return std::max<std::size_t>(sockets.size(), 1);
}

std::size_t cores_of(const NodeBelongings& node, std::span<const std::uint32_t> cpus) {
  std::set<std::uint32_t> cores;
  for (const std::uint32_t cpu : cpus) cores.insert(cpu < node.cpus.size() ? node.cpus[cpu].core : cpu);
  return cores.size();
}

// The lowest numbers first, of as few kinds as can be.
bool grab(const NodeBelongings& node, NodeStock& stock, const GresAsk& ask, std::int64_t count,
          std::vector<HeldDevices>& out) {
  for (std::uint32_t at = 0; at < node.devices.size() && count > 0; ++at) {
    HeldDevices& left = stock.devices[at];
    if (!matches(node.devices[at], ask) || left.count <= 0) continue;
    const std::int64_t here = std::min(left.count, count);
    auto held = std::ranges::find(out, at, &HeldDevices::pool);
    if (held == out.end()) held = out.insert(out.end(), HeldDevices{.pool = at});
    held->count += here;
    left.count -= here;
    count -= here;
    if (!node.devices[at].is_one_by_one()) {
      held->devices = node.devices[at].devices;
      continue;
    }
    const auto end = left.devices.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                static_cast<std::size_t>(here), left.devices.size()));
    held->devices.insert(held->devices.end(), left.devices.begin(), end);
    left.devices.erase(left.devices.begin(), end);
    std::ranges::sort(held->devices);
  }
  return count == 0;
}

std::int64_t gpus_in(const NodeBelongings& node, std::span<const HeldDevices> held) {
  std::int64_t sum = 0;
  for (const HeldDevices& each : held)
    if (node.devices[each.pool].name == "gpu") sum += each.count;
  return sum;
}

std::optional<std::vector<HeldDevices>> take_devices(const NodeBelongings& node, NodeStock stock,
                                                     const StepNeeds& needs, std::uint32_t tasks,
                                                     std::span<const std::uint32_t> cpus,
                                                     std::span<const std::int64_t> of_step) {
  if (needs.all_devices) {
    std::vector<HeldDevices> all = all_devices(node);
    for (const HeldDevices& each : all)
      if (needs.holds_devices && !needs.overlap && stock.devices[each.pool].count < each.count) return std::nullopt;
    return all;
  }
  std::vector<HeldDevices> out;
  // Those that name a type first: one that takes any would have theirs.
  for (const bool typed : {true, false})
    for (std::size_t i = 0; i < needs.gres.size(); ++i) {
      const GresAsk& ask = needs.gres[i];
      if (ask.type.empty() == typed) continue;
      std::int64_t count = ask.count;
      if (ask.scope == GresScope::task) count *= tasks;
      if (ask.scope == GresScope::socket) count *= static_cast<std::int64_t>(sockets_of(node, cpus));
      if (ask.scope == GresScope::job) count = i < of_step.size() ? of_step[i] : 0;
      if (!grab(node, stock, ask, count, out)) return std::nullopt;
    }
  const bool gpus_said = std::ranges::find(needs.gres, "gpu", &GresAsk::name) != needs.gres.end();
  if (needs.tasks_per_gpu > 0 && !gpus_said &&
      !grab(node, stock, {"gpu", "", 1, GresScope::node}, (tasks + needs.tasks_per_gpu - 1) / needs.tasks_per_gpu, out))
    return std::nullopt;
  std::ranges::sort(out, {}, &HeldDevices::pool);
  return out;
}

// What a step may use of the memory, and what of it nobody else gets while it runs.
void take_memory(const NodeBelongings& node, const StepNeeds& needs, NodeTaking& out) {
  const std::int64_t all = node.memory_mib;
  std::int64_t wanted = 0;
  if (needs.memory_per_gpu)
    wanted = *needs.memory_per_gpu * gpus_in(node, out.devices);
  else if (needs.memory_per_cpu)
    wanted = *needs.memory_per_cpu * out.cpus;
  else if (needs.memory_per_node)
    wanted = *needs.memory_per_node;
  if (needs.memory_is_inherited) wanted = std::min(wanted, all);  // nothing of it where the job's is not counted either
  out.memory_mib = wanted > 0 ? wanted : all;
  out.held_memory_mib = all > 0 ? wanted : 0;
}

Result<void> put_asks(const std::string& text, GresScope scope, bool gpus_only, const char* option, StepNeeds& out) {
  if (text.empty()) return {};
  auto asks = gpus_only ? parse_gpu_asks(text, scope) : parse_gres_asks(text, scope);
  if (!asks) return fail(Errc::invalid, "gres: --" + std::string{option} + "=" + text + ": " + asks.error().story);
  for (GresAsk& ask : *asks) out.gres.push_back(std::move(ask));
  return {};
}

// cpu:2,gres/gpu:1
Result<void> put_tres_per_task(const std::string& text, StepNeeds& out) {
  std::string gres;
  for (const std::string_view entry : split(text, ',')) {
    const std::string_view word = trim(entry);
    if (word.empty()) continue;
    if (word.starts_with("gres/") || word.starts_with("gres:")) {
      gres += (gres.empty() ? "" : ",") + std::string{word};
      continue;
    }
    const std::size_t end = word.find_first_of(":=");
    const auto count = parse_integer(end == std::string_view::npos ? "" : word.substr(end + 1));
    if (word.substr(0, end) != "cpu" || !count || *count < 1 || *count > 1'000'000)
      return fail(Errc::invalid, "--tres-per-task: '" + std::string{word} + "': cpu:2 or gres/gpu:1 would be right");
    out.cpus_per_task = static_cast<std::uint32_t>(*count);
    out.may_crowd = false;
  }
  return put_asks(gres, GresScope::task, false, "tres-per-task", out);
}

std::int64_t gpus_of(const StepNeeds& needs, GresScope scope) {
  std::int64_t sum = 0;
  for (const GresAsk& ask : needs.gres)
    if (ask.name == "gpu" && ask.scope == scope) sum += ask.count;
  return sum;
}

// Of gpus in all, gpus of a task, tasks of a gpu and tasks two say what the third is.
Result<void> relate(StepNeeds& needs) {
  const std::int64_t in_all = gpus_of(needs, GresScope::job), per_task = gpus_of(needs, GresScope::task),
                     per_node = gpus_of(needs, GresScope::node);
  if (in_all > 0 && per_task > 0) {
    if (needs.tasks == 0) needs.tasks = static_cast<std::uint32_t>(in_all / per_task);
    if (needs.tasks * per_task != in_all)
      return fail(Errc::invalid, "gres: " + std::to_string(in_all) + " gpus in all, but " +
                                     std::to_string(needs.tasks) + " tasks with " + std::to_string(per_task) + " each");
    std::erase_if(needs.gres, [](const GresAsk& ask) { return ask.name == "gpu" && ask.scope == GresScope::job; });
  }
  if (needs.tasks_per_gpu > 0 && in_all > 0 && needs.tasks == 0)
    needs.tasks = static_cast<std::uint32_t>(in_all) * needs.tasks_per_gpu;
  if (needs.tasks_per_gpu > 0 && per_node > 0 && needs.tasks == 0 && needs.tasks_per_node == 0)
    needs.tasks_per_node = static_cast<std::uint32_t>(per_node) * needs.tasks_per_gpu;
  return {};
}

}  // namespace

std::vector<NodeBelongings> belongings_of(const wire::LaunchPlan& allocation,
                                          std::span<const std::uint32_t> cpus_per_node) {
  std::vector<NodeBelongings> out(cpus_per_node.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    NodeBelongings& node = out[i];
    const int at = static_cast<int>(i);
    if (at < allocation.memory_per_node_mib_size())
      node.memory_mib = static_cast<std::int64_t>(allocation.memory_per_node_mib(at));
    for (std::uint32_t cpu = 0; cpu < cpus_per_node[i]; ++cpu) node.cpus.push_back({cpu, 0});
    if (at >= allocation.allocation_size()) continue;
    const wire::AllocationNode& told = allocation.allocation(at);
    for (const wire::DeviceGrant& grant : told.devices()) {
      DevicePool pool{grant.name(),
                      grant.type(),
                      grant.files(),
                      grant.count(),
                      grant.parts_of_device(),
                      {grant.devices().begin(), grant.devices().end()}};
      if (pool.is_one_by_one()) pool.count = static_cast<std::int64_t>(pool.devices.size());
      node.devices.push_back(std::move(pool));
    }
    node.features.assign(told.features().begin(), told.features().end());
    const auto positions = parse_index_set(told.cpu_ids(), 1'000'000);
    const std::uint32_t threads = std::max(told.threads_per_core(), 1u),
                        per_socket = threads * std::max(told.cores_per_socket(), 1u);
    if (told.cpu_ids().empty() || !positions || positions->size() != cpus_per_node[i]) continue;
    std::size_t cpu = 0;
    for (const auto& range : positions->ranges())
      for (std::uint64_t position = range.first; position <= range.last && cpu < node.cpus.size(); ++position, ++cpu)
        node.cpus[cpu] = {static_cast<std::uint32_t>(position) / threads,
                          static_cast<std::uint32_t>(position) / per_socket};
  }
  return out;
}

StepDefaults defaults_of(const wire::LaunchPlan& allocation) {
  StepDefaults out;
  out.knows_devices = allocation.allocation_size() > 0;
  out.holds_devices = allocation.devices_asked();
  const wire::JobDescription& job = allocation.job();
  if (job.has_memory_per_cpu_mib() && job.memory_per_cpu_mib() > 0)
    out.memory_per_cpu = bounded_mebibytes(job.memory_per_cpu_mib());
  else if (job.has_memory_per_node_mib() && job.memory_per_node_mib() > 0)
    out.memory_per_node = bounded_mebibytes(job.memory_per_node_mib());
  return out;
}

Result<StepNeeds> needs_of(const wire::CreateStep& ask, const StepDefaults& defaults) {
  const wire::JobDescription& step = ask.step();
  const wire::ResourceWishes& wishes = step.resources();
  StepNeeds out;
  out.exact = ask.exact();
  out.overlap = ask.overlap();
  out.tasks = step.tasks();
  out.tasks_per_node = step.tasks_per_node();
  out.cpus_per_task = std::max(step.cpus_per_task(), 1u);
  out.may_crowd = (step.cpus_per_task() == 0 && ask.overlap()) || step.extras().overcommit();
  MR_TRY_VOID(put_asks(wishes.gres(), GresScope::node, false, "gres", out));
  MR_TRY_VOID(put_asks(wishes.gpus_per_node(), GresScope::node, true, "gpus-per-node", out));
  MR_TRY_VOID(put_asks(wishes.gpus(), GresScope::job, true, "gpus", out));
  MR_TRY_VOID(put_asks(wishes.gpus_per_socket(), GresScope::socket, true, "gpus-per-socket", out));
  MR_TRY_VOID(put_asks(wishes.gpus_per_task(), GresScope::task, true, "gpus-per-task", out));
  MR_TRY_VOID(put_tres_per_task(wishes.tres_per_task(), out));
  std::erase_if(out.gres, [](const GresAsk& each) { return each.count == 0; });
  out.cpus_per_gpu = wishes.cpus_per_gpu();
  out.tasks_per_gpu = wishes.tasks_per_gpu();
  out.tasks_per_socket = wishes.tasks_per_socket();
  out.tasks_per_core = wishes.tasks_per_core();
  out.threads_per_core = wishes.threads_per_core();
  const bool said = wishes.has_gres() || wishes.has_gpus() || wishes.has_gpus_per_node() ||
                    wishes.has_gpus_per_socket() || wishes.has_gpus_per_task() || out.tasks_per_gpu > 0 ||
                    !out.gres.empty();
  out.all_devices = !said;
  out.holds_devices = said || defaults.holds_devices;
  if (!out.gres.empty() && !defaults.knows_devices)
    return fail(Errc::invalid, "gres: what its nodes have was not told to the step manager of this job's steps");
  MR_TRY_VOID(relate(out));
  if (wishes.has_memory_per_gpu_mib())
    out.memory_per_gpu = bounded_mebibytes(wishes.memory_per_gpu_mib());
  else if (step.has_memory_per_cpu_mib())
    out.memory_per_cpu = bounded_mebibytes(step.memory_per_cpu_mib());
  else if (step.has_memory_per_node_mib())
    out.memory_per_node = bounded_mebibytes(step.memory_per_node_mib());
  else {
    out.memory_is_inherited = true;
    out.memory_per_cpu = defaults.memory_per_cpu;
    out.memory_per_node = defaults.memory_per_node;
  }
  if (!wishes.features().empty()) {
    const auto parsed = parse_features(wishes.features());
    if (!parsed) return fail(Errc::invalid, "--constraint: " + parsed.error().story);
    out.features = *parsed;
    if (out.features.alternatives.size() > 1 || !out.features.counted.empty())
      return fail(Errc::invalid,
                  "--constraint=" + wishes.features() +
                      " of a step: [a|b] and [a*2] are not built yet in Millrace; a&b, a|b and (a|b)&c are");
  }
  return out;
}

NodeStock whole_stock(const NodeBelongings& node) {
  NodeStock out{node.memory_mib, {}};
  for (std::uint32_t at = 0; at < node.devices.size(); ++at)
    out.devices.push_back({at, node.devices[at].count, node.devices[at].devices});
  return out;
}

void put_aside(NodeStock& stock, const NodeTaking& taken) {
  stock.memory_mib -= taken.held_memory_mib;
  for (const HeldDevices& held : taken.devices) {
    HeldDevices& left = stock.devices[held.pool];
    left.count -= held.count;
    std::erase_if(left.devices,
                  [&](std::uint32_t device) { return std::ranges::find(held.devices, device) != held.devices.end(); });
  }
}

std::int64_t count_of(const NodeBelongings& node, const NodeStock& stock, const GresAsk& ask) {
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < node.devices.size(); ++at)
    if (matches(node.devices[at], ask)) sum += std::max<std::int64_t>(stock.devices[at].count, 0);
  return sum;
}

std::vector<HeldDevices> all_devices(const NodeBelongings& node) { return whole_stock(node).devices; }

std::optional<NodeTaking> take_from(const NodeBelongings& node, const NodeStock& stock, const StepNeeds& needs,
                                    std::uint32_t tasks, std::span<const std::uint32_t> cpus,
                                    std::span<const std::int64_t> of_step, bool ignore_memory) {
  NodeTaking out;
  std::size_t used =
      needs.exact ? std::min<std::size_t>(std::size_t{tasks} * needs.cpus_per_task, cpus.size()) : cpus.size();
  if (needs.tasks_per_core > 0 && tasks > cores_of(node, cpus) * needs.tasks_per_core) return std::nullopt;
  if (needs.tasks_per_socket > 0 && tasks > sockets_of(node, cpus) * needs.tasks_per_socket) return std::nullopt;
  if (!needs.may_crowd && std::size_t{tasks} * needs.cpus_per_task > cpus.size()) return std::nullopt;
  auto devices = take_devices(node, stock, needs, tasks, cpus.first(used), of_step);
  if (!devices) return std::nullopt;
  out.devices = *std::move(devices);
  if (needs.cpus_per_gpu > 0) {
    const std::size_t wanted = needs.cpus_per_gpu * static_cast<std::size_t>(gpus_in(node, out.devices));
    if (wanted > cpus.size()) return std::nullopt;
    used = std::max(used, wanted);
  }
  out.cpus = static_cast<std::uint32_t>(used);
  take_memory(node, needs, out);
  if (out.held_memory_mib > stock.memory_mib && !ignore_memory) return std::nullopt;
  return out;
}

std::uint32_t tasks_for(const NodeBelongings& node, const NodeStock& stock, const StepNeeds& needs, std::uint32_t most,
                        std::span<const std::uint32_t> cpus, bool ignore_memory) {
  if (most == 0 || take_from(node, stock, needs, most, cpus, {}, ignore_memory)) return most;
  std::uint32_t fits = 0, beyond = most;
  while (beyond - fits > 1) {
    const std::uint32_t middle = fits + (beyond - fits) / 2;
    (take_from(node, stock, needs, middle, cpus, {}, ignore_memory) ? fits : beyond) = middle;
  }
  return fits;
}

std::vector<std::uint32_t> some_threads(const NodeBelongings& node, const std::vector<std::uint32_t>& cpus,
                                        std::uint32_t threads_per_core) {
  if (threads_per_core == 0) return cpus;
  std::map<std::uint32_t, std::uint32_t> used;
  std::vector<std::uint32_t> out;
  for (const std::uint32_t cpu : cpus)
    if (used[cpu < node.cpus.size() ? node.cpus[cpu].core : cpu]++ < threads_per_core) out.push_back(cpu);
  return out;
}

std::vector<wire::DeviceGrant> grants_of(const NodeBelongings& node, std::span<const HeldDevices> held) {
  std::vector<wire::DeviceGrant> out;
  for (const HeldDevices& each : held) {
    const DevicePool& pool = node.devices[each.pool];
    wire::DeviceGrant& grant = out.emplace_back();
    grant.set_name(pool.name);
    grant.set_type(pool.type);
    grant.set_files(pool.files);
    grant.set_count(each.count);
    if (pool.parts_of_device > 0) grant.set_parts_of_device(pool.parts_of_device);
    for (const std::uint32_t device : each.devices) grant.add_devices(device);
  }
  return out;
}

wire::StepWishes shown_wishes(const wire::CreateStep& ask, std::span<const wire::DeviceGrant> held) {
  wire::StepWishes out;
  std::map<std::string, std::int64_t> sums;
  for (const wire::DeviceGrant& grant : held) {
    sums[grant.name()] += grant.count();
    if (!grant.type().empty()) sums[grant.name() + ":" + grant.type()] += grant.count();
  }
  std::string gres;
  for (const auto& [name, count] : sums)
    if (count > 0) gres += (gres.empty() ? "gres/" : ",gres/") + name + "=" + std::to_string(count);
  out.set_gres(gres);
  StepDefaults any;
  any.knows_devices = true;
  const auto needs = needs_of(ask, any);
  if (!needs) return out;
  out.set_tres_per_step(format_asks(needs->gres, GresScope::job));
  out.set_tres_per_node(format_asks(needs->gres, GresScope::node));
  out.set_tres_per_socket(format_asks(needs->gres, GresScope::socket));
  out.set_tres_per_task(format_asks(needs->gres, GresScope::task));
  if (needs->cpus_per_gpu > 0) out.set_cpus_per_tres("gres/gpu:" + std::to_string(needs->cpus_per_gpu));
  if (needs->memory_per_gpu) out.set_mem_per_tres("gres/gpu:" + std::to_string(*needs->memory_per_gpu));
  return out;
}

Error no_memory() { return {Errc::invalid, std::string{memory_text}}; }

Error no_devices(const StepNeeds& needs, std::span<const NodeBelongings> nodes) {
  std::string asked, there;
  for (const GresAsk& ask : needs.gres)
    asked += (asked.empty() ? "" : ",") + ask.name + (ask.type.empty() ? "" : ":" + ask.type) + ":" +
             std::to_string(ask.count);
  for (const NodeBelongings& node : nodes) {
    std::string here;
    for (const DevicePool& pool : node.devices) here += (here.empty() ? "" : ",") + shown(pool);
    if (!here.empty() && there.find(here) == std::string::npos) there += (there.empty() ? "" : " or ") + here;
  }
  return {Errc::invalid, "gres: the step asks for " + (asked.empty() ? "gpus" : asked) +
                             "; on a node of the job there is " + (there.empty() ? "none of its own" : there)};
}

StepRefusal refusal_of(const Error& why) {
  if (why.story == memory_text) return {invalid_task_memory, std::string{memory_text}, ""};
  if (why.story.starts_with("gres: ")) return {invalid_gres, std::string{gres_text}, why.story.substr(6)};
  if (why.story == processors_text) return {too_many_cpus, why.story, ""};
  const std::string text = "Requested node configuration is not available";
  return {not_available, text, why.story == text ? "" : why.story};
}

}  // namespace millrace
