// src/core/admission/resource_wishes.cpp - see resource_wishes.h.
#include "core/admission/resource_wishes.h"

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "core/admission/submit_job.h"
#include "core/model/features.h"
#include "core/model/gres_text.h"
#include "core/model/layout.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

using Checked = std::expected<void, Refusal>;

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out.empty() ? "none" : out;
}

std::string shown(const GresAsk& ask) { return ask.name + (ask.type.empty() ? "" : ":" + ask.type); }

Checked check_known(const State& state, const GresAsk& ask) {
  std::set<std::string> known;
  for (const auto& [index, node] : state.nodes) {
    if (!node->configured) continue;
    for (const NodeGres& kind : node->def->kinds) {
      if (kind.name == ask.name && (ask.type.empty() || kind.type == ask.type)) return {};
      known.insert(kind.name + (kind.type.empty() ? "" : ":" + kind.type));
    }
  }
  return refuse(RefusalCode::invalid_gres, "no node has " + shown(ask) + "; there is: " + joined(known));
}

// The asks of one option take the place of those it set before.
Checked put_asks(const State& state, const std::optional<std::string>& text, GresScope scope, bool gpus_only,
                 ResourceRequest& out) {
  if (!text) return {};
  auto asks = gpus_only ? parse_gpu_asks(*text, scope) : parse_gres_asks(*text, scope);
  if (text->empty()) asks = std::vector<GresAsk>{};
  if (!asks) return refuse(RefusalCode::invalid_gres, asks.error().story);
  std::erase_if(out.gres, [&](const GresAsk& old) { return old.scope == scope && (!gpus_only || old.name == "gpu"); });
  for (GresAsk& ask : *asks) {
    if (auto known = check_known(state, ask); !known) return known;
    out.gres.push_back(std::move(ask));
  }
  return {};
}

// cpu:2,gres/gpu:1,license/x:1
Checked put_tres_per_task(const State& state, const ResourceWishes& wishes, JobSpec& spec, ResourceRequest& out) {
  if (!wishes.tres_per_task) return {};
  std::string gres;
  for (const std::string_view entry : split(*wishes.tres_per_task, ',')) {
    const std::string_view word = trim(entry);
    if (word.starts_with("gres/") || word.starts_with("gres:")) {
      gres += (gres.empty() ? "" : ",") + std::string{word};
      continue;
    }
    const std::size_t end = word.find_first_of(":=");
    const auto count = parse_integer(end == std::string_view::npos ? "" : word.substr(end + 1));
    if (!count || *count < 1 || *count > 1'000'000)
      return refuse(RefusalCode::invalid_tres, "'" + std::string{word} + "': cpu:2 or gres/gpu:1 would be right");
    if (word.substr(0, end) == "cpu")
      spec.cpus_per_task = static_cast<std::uint32_t>(*count);
    else
      return refuse(RefusalCode::invalid_tres, "'" + std::string{word.substr(0, end)} +
                                                   "' per task is not built yet in Millrace; cpu and gres are");
  }
  return put_asks(state, gres, GresScope::task, false, out);
}

Checked check_features(const State& state, const std::string& text, RefusalCode code) {
  const auto parsed = parse_features(text);
  if (!parsed) return refuse(code, parsed.error().story);
  const std::vector<std::string> wanted = names_in(*parsed);
  std::set<std::string_view> missing{wanted.begin(), wanted.end()};
  std::set<std::string> known;
  std::set<std::string_view> read;  // what nodes are told to have: the same text for most of them
  std::string_view last;
  for (const auto& [index, node] : state.nodes) {
    if (missing.empty()) return {};
    const std::string_view features = node->def->features;
    if (!node->configured || features == last || !read.insert(features).second) continue;
    last = features;
    for (std::string& feature : available_features_of(*node->def)) {
      missing.erase(feature);
      known.insert(std::move(feature));
    }
  }
  if (missing.empty()) return {};
  return refuse(code, "no node has the feature '" + std::string{*missing.begin()} + "'; there is: " + joined(known));
}

Checked put_licences(const State& state, const std::string& text, ResourceRequest& out) {
  const auto parsed = parse_licences(text);
  if (!parsed) return refuse(RefusalCode::invalid_licenses, parsed.error().story);
  std::set<std::string> known;
  for (const LicenceAsk& total : state.policy->licences) known.insert(total.name + ":" + std::to_string(total.count));
  bool one_fits = false;
  std::string problem;
  for (const LicenceAsk& ask : parsed->asks) {
    const auto total = std::ranges::find(state.policy->licences, ask.name, &LicenceAsk::name);
    if (total == state.policy->licences.end())
      problem = "there is no license '" + ask.name + "'; there is: " + joined(known);
    else if (total->count < ask.count)
      problem = "there are only " + std::to_string(total->count) + " of license " + ask.name;
    else
      one_fits = true;
  }
  if (!problem.empty() && !(parsed->any && one_fits)) return refuse(RefusalCode::invalid_licenses, problem);
  out.licences = parsed->asks;
  out.any_licence = parsed->any;
  return {};
}

Checked put_flags(const std::string& text, ResourceRequest& out) {
  out.enforce_binding = out.disable_binding = false;
  for (const std::string_view word : split(text, ',')) {
    if (equals_ignoring_case(word, "enforce-binding"))
      out.enforce_binding = true;
    else if (equals_ignoring_case(word, "disable-binding"))
      out.disable_binding = true;
    else if (!word.empty())
      return refuse(RefusalCode::invalid_gres, "--gres-flags=" + std::string{word} + " is not built yet in Millrace");
  }
  return {};
}

Checked put_layout(const State& state, const ResourceWishes& wishes, JobSpec& spec, ResourceRequest& out) {
  if (wishes.distribution) {
    const auto parsed = parse_distribution(*wishes.distribution);
    if (!parsed) return refuse(RefusalCode::bad_distribution, parsed.error().story);
    out.distribution = *wishes.distribution;
  }
  if (!wishes.task_nodes) return {};
  const auto names = expand_hostlist(*wishes.task_nodes);
  if (!names) return refuse(RefusalCode::invalid_node_name, names.error().story);
  if (spec.tasks == 0) spec.tasks = static_cast<std::uint32_t>(names->size());
  if (spec.tasks != names->size() && !names->empty())
    return refuse(RefusalCode::bad_task_count, "--distribution=arbitrary: " + std::to_string(spec.tasks) +
                                                   " tasks, but " + std::to_string(names->size()) +
                                                   " nodes are listed");
  const auto found = find_nodes(state, *names);
  out.task_nodes.clear();
  out.task_nodes.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) return refuse(RefusalCode::invalid_node_name, "no such node: " + (*names)[i]);
    out.task_nodes.push_back(found[i]->value);
  }
  return {};
}

Checked put_texts(const State& state, const ResourceWishes& wishes, JobSpec& spec, ResourceRequest& out) {
  if (wishes.features) {
    if (auto known = check_features(state, *wishes.features, RefusalCode::invalid_feature); !known) return known;
    out.features = *wishes.features;
  }
  if (wishes.prefer) {
    if (auto known = check_features(state, *wishes.prefer, RefusalCode::invalid_prefer); !known) return known;
    out.prefer = *wishes.prefer;
  }
  if (wishes.licences)
    if (auto known = put_licences(state, *wishes.licences, out); !known) return known;
  if (wishes.reservation) out.reservation = *wishes.reservation;  // whether it may be used: admission/reserve
  if (wishes.gres_flags)
    if (auto flags = put_flags(*wishes.gres_flags, out); !flags) return flags;
  if (wishes.hint) out.hint = *wishes.hint;
  if (wishes.node_counts) {
    auto counts = wishes.node_counts->empty() ? IndexSet{} : parse_index_set(*wishes.node_counts, node_counts_max);
    if (!counts || counts->contains(0))
      return refuse(RefusalCode::invalid_node_count,
                    "'" + *wishes.node_counts + "' is no list of numbers of nodes; 1,3-7:2 with numbers up to " +
                        std::to_string(node_counts_max) + " would be right");
    out.node_counts = *std::move(counts);
  }
  return put_layout(state, wishes, spec, out);
}

void put_numbers(const ResourceWishes& wishes, ResourceRequest& out) {
  const auto set = [](auto& field, const auto& value) {
    if (value) field = *value;
  };
  set(out.cpus_per_gpu, wishes.cpus_per_gpu);
  set(out.memory_per_gpu, wishes.memory_per_gpu);
  set(out.tasks_per_socket, wishes.tasks_per_socket);
  set(out.tasks_per_core, wishes.tasks_per_core);
  set(out.tasks_per_gpu, wishes.tasks_per_gpu);
  set(out.sockets_per_node, wishes.sockets_per_node);
  set(out.cores_per_socket, wishes.cores_per_socket);
  set(out.threads_per_core, wishes.threads_per_core);
  set(out.tmp_disk, wishes.tmp_disk);
  set(out.contiguous, wishes.contiguous);
  set(out.spread_job, wishes.spread_job);
  set(out.use_min_nodes, wishes.use_min_nodes);
  set(out.exclusive_user, wishes.exclusive_user);
  set(out.switches, wishes.switches);
  set(out.segment, wishes.segment);
  set(out.spread_segments, wishes.spread_segments);
  set(out.consolidate_segments, wishes.consolidate_segments);
  set(out.switches_wait_seconds, wishes.switches_wait_seconds);
  set(out.time_min_minutes, wishes.time_min_minutes);
  set(out.deadline, wishes.deadline);
}

std::int64_t gpus_of(const ResourceRequest& ask, GresScope scope) {
  std::int64_t sum = 0;
  for (const GresAsk& each : ask.gres)
    if (each.name == "gpu" && each.scope == scope) sum = bounded_count(sum + each.count);
  return sum;
}

bool wants_gpus(const ResourceRequest& ask) {
  return std::ranges::any_of(ask.gres, [](const GresAsk& g) { return g.name == "gpu"; });
}

Checked check_consistent(const JobSpec& spec, const ResourceRequest& ask) {
  const auto bad = [](const char* why) { return refuse(RefusalCode::invalid_tres, why); };
  // --cpus-per-gpu of a job without gpus says nothing, and may come from the environment; memory by gpu would say
  // "none".
  if (ask.memory_per_gpu > 0 && !wants_gpus(ask) && ask.tasks_per_gpu == 0)
    return bad("--mem-per-gpu needs a number of gpus");
  if (ask.memory_per_gpu > 0 && (spec.memory_per_cpu || spec.memory_per_node))
    return bad("--mem, --mem-per-cpu and --mem-per-gpu exclude each other");
  if (gpus_of(ask, GresScope::socket) > 0 && ask.sockets_per_node == 0)
    return bad("--gpus-per-socket needs --sockets-per-node");
  return {};
}

}  // namespace

Checked check_numbers(const JobSpec& spec) {
  const ResourceRequest& ask = spec.resource_request();
  const std::pair<std::uint32_t, const char*> counts[] = {
      {spec.tasks, "tasks"},
      {spec.tasks_per_node, "tasks on a node"},
      {spec.cpus_per_task, "CPUs for a task"},
      {spec.min_cpus_per_node, "CPUs of a node"},
      {ask.cpus_per_gpu, "CPUs for a gpu"},
      {ask.tasks_per_socket, "tasks on a socket"},
      {ask.tasks_per_core, "tasks on a core"},
      {ask.tasks_per_gpu, "tasks for a gpu"},
      {ask.sockets_per_node, "sockets of a node"},
      {ask.cores_per_socket, "cores of a socket"},
      {ask.threads_per_core, "threads of a core"},
  };
  for (const auto& [count, what] : counts)
    if (count > tasks_max)
      return refuse(RefusalCode::bad_task_count, "at most " + std::to_string(tasks_max) + " " + what +
                                                     " can be asked for, not " + std::to_string(count));
  return {};
}

Checked apply_wishes(const State& state, const ResourceWishes& wishes, JobSpec& spec) {
  if (wishes == ResourceWishes{}) return {};
  ResourceRequest request = spec.resource_request();
  if (auto done = put_asks(state, wishes.gres, GresScope::node, false, request); !done) return done;
  if (auto done = put_asks(state, wishes.gpus_per_node, GresScope::node, true, request); !done) return done;
  if (auto done = put_asks(state, wishes.gpus, GresScope::job, true, request); !done) return done;
  if (auto done = put_asks(state, wishes.gpus_per_socket, GresScope::socket, true, request); !done) return done;
  if (auto done = put_tres_per_task(state, wishes, spec, request); !done) return done;
  if (auto done = put_asks(state, wishes.gpus_per_task, GresScope::task, true, request); !done) return done;
  if (auto done = put_texts(state, wishes, spec, request); !done) return done;
  put_numbers(wishes, request);
  if (auto done = check_consistent(spec, request); !done) return done;
  spec.resources = request == ResourceRequest{} ? SharedValue<ResourceRequest>{} : SharedValue(std::move(request));
  return {};
}

Checked relate_gpus(JobSpec& spec) {
  if (!spec.resources) return {};
  // What is too large stays too large, and is refused for it.
  const auto number = [](std::int64_t count) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, UINT32_MAX));
  };
  ResourceRequest ask = *spec.resources;
  const std::int64_t of_job = gpus_of(ask, GresScope::job), per_task = gpus_of(ask, GresScope::task),
                     per_node = gpus_of(ask, GresScope::node);
  const auto drop_total = [&] {
    std::erase_if(ask.gres, [](const GresAsk& g) { return g.name == "gpu" && g.scope == GresScope::job; });
  };
  if (of_job > 0 && per_task > 0) {
    if (spec.tasks == 0) spec.tasks = number(of_job / per_task);
    if (bounded_product(spec.tasks, per_task) != of_job)
      return refuse(RefusalCode::invalid_gres, std::to_string(of_job) + " gpus in all, but " +
                                                   std::to_string(spec.tasks) + " tasks with " +
                                                   std::to_string(per_task) + " each");
    drop_total();
  } else if (of_job > 0 && per_node > 0) {
    const std::int64_t nodes = of_job / per_node;
    if (nodes * per_node != of_job || (spec.min_nodes > 0 && spec.min_nodes != nodes))
      return refuse(RefusalCode::invalid_gres, std::to_string(of_job) + " gpus in all do not fill whole nodes with " +
                                                   std::to_string(per_node) + " each");
    spec.min_nodes = spec.max_nodes = number(nodes);
    drop_total();
  }
  if (ask.tasks_per_gpu > 0) {
    const std::int64_t k = ask.tasks_per_gpu;
    if (of_job > 0 && spec.tasks == 0)
      spec.tasks = number(bounded_product(of_job, k));
    else if (per_node > 0 && spec.tasks_per_node == 0)
      spec.tasks_per_node = number(bounded_product(per_node, k));
    else if (of_job == 0 && per_node == 0 && per_task == 0 && spec.tasks > 0)
      ask.gres.push_back({"gpu", "", (spec.tasks + k - 1) / k, GresScope::job});
    else if (of_job == 0 && per_node == 0)
      return refuse(RefusalCode::invalid_gres, "--ntasks-per-gpu needs a number of gpus or of tasks");
  }
  spec.resources = SharedValue(std::move(ask));
  return {};
}

}  // namespace millrace
