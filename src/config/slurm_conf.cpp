// src/config/slurm_conf.cpp - see slurm_conf.h.
#include "config/slurm_conf.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "config/cgroup_conf.h"
#include "config/entity_lines.h"
#include "config/gres_conf.h"
#include "config/job_container_conf.h"
#include "config/key_words.h"
#include "config/keys.h"
#include "config/topology_conf.h"

namespace millrace {
namespace {

// A plugin that does nothing is there: switch/none, jobcomp/none.
bool asks_nothing(std::string_view value) {
  return value.empty() || equals_ignoring_case(value, "none") || equals_ignoring_case(value, "(null)") ||
         lower(value).ends_with("/none");
}

void take_key(const ConfLine& line, const ConfPair& pair, Configuration& out, std::vector<std::string>& errors) {
  const ConfigKey* key = find_config_key(pair.key);
  if (key == nullptr) {
    std::string known;
    for (const ConfigKey& each : config_keys()) known += std::string{each.name} + " ";
    out.unknown.push_back({pair.key, line.file, line.line, "unknown key" + did_you_mean(pair.key, known)});
    return;
  }
  const KeyWords* words = find_key_words(key->name);
  Result<void> done = check_kind(*key, pair.value);
  const std::size_t notes = out.not_built.size();
  if (done && key->set != nullptr) done = key->set(out, pair.value);
  for (std::size_t i = notes; i < out.not_built.size(); ++i)
    out.not_built[i].file = line.file, out.not_built[i].line = line.line;
  if (!done) {
    errors.push_back(line.file + ":" + std::to_string(line.line) + ": " + std::string{key->name} + ": " +
                     done.error().story + (words ? did_you_mean_in(*words, pair.value) : std::string{}));
    return;
  }
  const bool differs = !equals_ignoring_case(pair.value, key->fallback);
  if ((key->effect == KeyEffect::not_built && !asks_nothing(pair.value)) ||
      (key->effect == KeyEffect::agrees && differs))
    out.not_built.push_back({pair.key, line.file, line.line, "not built yet"});
  if (key->effect == KeyEffect::no_effect && differs)
    out.without_effect.push_back({pair.key, line.file, line.line, "has no effect here"});
  if (words)
    note_words(*words, pair.value, key->effect == KeyEffect::not_built || key->effect == KeyEffect::no_effect,
               line.file, line.line, out);
  out.given[lower(key->name)] = pair.value;
}

void settle(Configuration& out, const std::string& path, std::vector<std::string>& errors) {
  out.path = path;
  if (out.cluster_name.empty()) errors.push_back(path + ": ClusterName is missing, ClusterName=NAME would be right");
  if (out.controllers.empty()) errors.push_back(path + ": SlurmctldHost is missing, SlurmctldHost=HOST would be right");
  if (out.first_job_id == 0 || out.first_job_id > out.max_job_id)
    errors.push_back(path + ": FirstJobId must be at least 1 and at most MaxJobId");
  if (out.max_array_size < 1 || out.max_array_size > 4000001)
    errors.push_back(path + ": MaxArraySize must be 1 to 4000001");
  if (out.socket_path.empty()) out.socket_path = default_socket_path(out.cluster_name);
  // A name that is not absolute is looked for beside the file.
  const std::string folder = path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  for (auto* list : {&out.node_life.prolog, &out.node_life.epilog, &out.node_life.controller_prolog,
                     &out.node_life.controller_epilog})
    for (std::string& program : *list)
      if (!program.starts_with('/')) program.insert(0, folder);
  out.cluster_key_file = out.state_dir + "/cluster.key";
  const std::size_t slash = path.rfind('/');
  out.node_key_file = (slash == std::string::npos ? std::string{"."} : path.substr(0, slash)) + "/millrace.key";
}

void check_partitions(const Configuration& out, const std::string& path, std::vector<std::string>& errors) {
  if (out.consumable == ConsumableUnit::socket)
    for (const ConfiguredNode& node : out.nodes)
      if (!node.withheld_cpus.empty())
        errors.push_back(
            path + ": NodeName=" + node.name +
            ": CoreSpecCount and CPUSpecList are not built together with CR_Socket; CR_Core or CR_CPU would be right");
  for (const ConfiguredPartition& partition : out.partitions)
    if (partition.preempt_mode == PreemptMode::suspend && !out.gang)
      errors.push_back(
          path + ": PartitionName=" + partition.name +
          ": PreemptMode=SUSPEND needs GANG in the PreemptMode of the cluster, so that suspended jobs go on again");
}

// Where records of ended jobs go: a file or a program by its whole name; other types are not built, and their places
// are theirs.
void settle_completion(JobCompletionSettings& completion, const std::string& path, std::vector<std::string>& errors) {
  using Kind = JobCompletionSettings::Kind;
  if (completion.kind == Kind::none) return;
  if (completion.kind == Kind::file && completion.location.empty()) completion.location = "/var/log/slurm_jobcomp.log";
  if (completion.location.starts_with('/')) return;
  const std::string given = completion.location.empty() ? "" : ": '" + completion.location + "' is wrong";
  errors.push_back(path + ": JobCompType=" +
                   (completion.kind == Kind::program
                        ? "jobcomp/script needs JobCompLoc, the absolute name of a program"
                        : "jobcomp/filetxt needs JobCompLoc, the absolute name of a file") +
                   given);
}

// Whoever powers nodes down must be able to power them up, and names nodes and partitions that are there.
void check_power(Configuration& out, const std::string& path, std::vector<std::string>& errors) {
  PowerSettings& power = out.power;
  const bool saves = !power.suspend_program.empty() && !power.resume_program.empty();
  const bool one_of_them = power.suspend_program.empty() != power.resume_program.empty();
  const bool waits =
      power.suspend_seconds != unlimited_count || std::ranges::any_of(out.partitions, [](const ConfiguredPartition& p) {
        return p.suspend_seconds && *p.suspend_seconds != unlimited_count;
      });
  // Power saving is off then, as with Slurm, which says so and starts.
  if (!saves && (waits || one_of_them)) {
    out.adjusted.push_back({one_of_them ? "SuspendProgram" : "SuspendTime", path, 0,
                            "no node is powered down: " +
                                std::string{!one_of_them                   ? "SuspendProgram and ResumeProgram are"
                                            : power.resume_program.empty() ? "ResumeProgram is"
                                                                           : "SuspendProgram is"} +
                                " not set"});
    power.suspend_seconds = unlimited_count;
    power.suspend_program.clear();
    power.resume_program.clear();
    for (ConfiguredPartition& partition : out.partitions) partition.suspend_seconds.reset();
  }
  for (const KeepUp& group : power.keep_up)
    for (const std::string& name : group.nodes)
      if (std::ranges::find(out.nodes, name, &ConfiguredNode::name) == out.nodes.end())
        errors.push_back(path + ": SuspendExcNodes: node " + name + " is not defined by any NodeName line");
  for (const std::string& name : power.except_partitions)
    if (std::ranges::find(out.partitions, name, &ConfiguredPartition::name) == out.partitions.end())
      errors.push_back(path + ": SuspendExcParts: partition " + name + " is not defined");
  if (!saves && std::ranges::find(out.nodes, ConfiguredNodeState::cloud, &ConfiguredNode::state) != out.nodes.end())
    out.adjusted.push_back(
        {"State", path, 0, "nodes of State=CLOUD without SuspendProgram and ResumeProgram have to be started by hand"});
}

}  // namespace

Result<CompanionLines> read_companions(const std::string& path, const std::vector<ConfLine>& lines) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
  CompanionLines out;
  if (const std::string gres = folder + "gres.conf"; access(gres.c_str(), F_OK) == 0) {
    MR_TRY(out.gres, read_conf_lines(gres));
  }
  if (const std::string topology = folder + "topology.conf"; access(topology.c_str(), F_OK) == 0) {
    MR_TRY(out.topology, read_conf_lines(topology));
  }
  if (const std::string cgroup = folder + "cgroup.conf"; access(cgroup.c_str(), F_OK) == 0) {
    MR_TRY(out.cgroup, read_conf_lines(cgroup));
  }
  if (const std::string container = folder + "job_container.conf"; access(container.c_str(), F_OK) == 0) {
    MR_TRY(out.container, read_conf_lines(container));
  }
  out.plugins = read_plugstack(lines, path);
  return out;
}

ConfigurationReport parse_configuration(const std::vector<ConfLine>& lines, const std::string& path,
                                        const CompanionLines& companions) {
  ConfigurationReport report;
  EntityReader entities(report.configuration);
  for (const ConfLine& line : lines) {
    if (!line.problem.empty()) {
      report.errors.push_back(line.file + ":" + std::to_string(line.line) + ": " + line.problem);
      continue;
    }
    if (line.pairs.empty() || entities.take(line, report.errors)) continue;
    for (const ConfPair& pair : line.pairs) take_key(line, pair, report.configuration, report.errors);
  }
  settle(report.configuration, path, report.errors);
  entities.finish(report.errors);
  check_partitions(report.configuration, path, report.errors);
  check_power(report.configuration, path, report.errors);
  settle_completion(report.configuration.job_completion, path, report.errors);
  read_gres(companions.gres, report.configuration, report.errors);
  read_topology(companions.topology, report.configuration, report.errors);
  read_cgroup_conf(companions.cgroup, report.configuration, report.errors);
  read_job_container_conf(companions.container, report.configuration, report.errors);
  take_plugstack(companions.plugins, report.configuration);
  return report;
}

ConfigurationReport parse_configuration_text(std::string_view text, const std::string& path) {
  return parse_configuration(split_conf_text(text, path), path);
}

// Read as a small slurm.conf of its own, so that every key means the same in both places.
Result<std::vector<ConfiguredNode>> configured_nodes(const std::string& names, const std::string& words) {
  if (names.empty() || equals_ignoring_case(names, "DEFAULT") ||
      (names + words).find_first_of("\n#\\ ") < names.size() || words.find_first_of("\n#\\") != std::string::npos)
    return fail(Errc::invalid, "'" + names + " " + words +
                                   "' is wrong, the names of nodes and keys of a NodeName line would be right");
  std::set<std::string> types;  // the devices they have are known types, as by GresTypes
  for (const std::string_view word : split(words, ' '))
    if (word.size() > 5 && equals_ignoring_case(word.substr(0, 5), "Gres="))
      for (const std::string_view each : split(word.substr(5), ',')) types.emplace(split(each, ':').front());
  std::string text = "ClusterName=c\nSlurmctldHost=c\n", gres;
  for (const std::string& type : types) gres += (gres.empty() ? "GresTypes=" : ",") + type;
  ConfigurationReport report =
      parse_configuration_text(text + gres + "\nNodeName=" + names + " " + words + "\n", "the request");
  if (!report.errors.empty()) return fail(Errc::invalid, report.errors.front());
  for (const auto* notes : {&report.configuration.unknown, &report.configuration.not_built})
    if (!notes->empty()) return fail(Errc::invalid, "'" + notes->front().key + "': " + notes->front().text);
  for (const ConfiguredNode& node : report.configuration.nodes)
    if (node.state != ConfiguredNodeState::unknown && node.state != ConfiguredNodeState::cloud)
      return fail(Errc::invalid, "State of a node that is made is CLOUD, or not given");
  return std::move(report.configuration.nodes);
}

Result<Configuration> load_configuration(const std::string& path) {
  MR_TRY(const auto lines, read_conf_lines(path));
  MR_TRY(const CompanionLines companions, read_companions(path, lines));
  ConfigurationReport report = parse_configuration(lines, path, companions);
  if (report.errors.empty()) return std::move(report.configuration);
  std::string story;
  for (const std::string& error : report.errors) story += (story.empty() ? "" : "\n") + error;
  return fail(Errc::invalid, std::move(story));
}

}  // namespace millrace
