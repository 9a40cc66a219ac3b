// src/cli/submission.cpp - see submission.h.
#include "cli/submission.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <set>
#include <span>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/options/job_environment.h"
#include "cli/options/job_options.h"
#include "cli/options/job_values.h"
#include "cli/options/resource_setters.h"
#include "cli/render/text_forms.h"
#include "core/model/compat_variable.h"
#include "core/model/preserved_variable.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

// "0022", as a job's variable has it.
std::optional<std::uint32_t> umask_of(const char* text) {
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 8);
  return *end == '\0' && value <= 0777 ? std::optional{static_cast<std::uint32_t>(value)} : std::nullopt;
}

struct LimitRow {
  const char* name;
  int resource;
};

constexpr LimitRow limits[] = {{"CPU", RLIMIT_CPU},     {"FSIZE", RLIMIT_FSIZE},   {"DATA", RLIMIT_DATA},
                               {"STACK", RLIMIT_STACK}, {"CORE", RLIMIT_CORE},     {"RSS", RLIMIT_RSS},
                               {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE}, {"MEMLOCK", RLIMIT_MEMLOCK},
                               {"AS", RLIMIT_AS}};

// --mem, --mem-per-cpu and --mem-per-gpu on one command line contradict each other; from different layers the higher
// one wins.
Result<void> check_memory(const CommandLine<JobDraft>& line) {
  std::set<std::string_view> given;
  for (const JobOption* row : line.given)
    if (row->name == "mem" || row->name == "mem-per-cpu" || row->name == "mem-per-gpu") given.insert(row->name);
  if (given.size() > 1) return fail(Errc::refused, "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
  return {};
}

// How long to wait for few switches has a variable of its own; it says nothing where no number of switches is given.
Result<void> apply_switch_wait(std::uint8_t tool, JobDraft& draft) {
  const char* name = tool == srun ? "SLURM_WAIT4SWITCH" : tool == salloc ? "SALLOC_WAIT4SWITCH" : "SBATCH_WAIT4SWITCH";
  const char* value = std::getenv(name);
  if (value == nullptr || !draft.job.resources().has_switches()) return {};
  MR_TRY(const resource::SwitchAsk ask, resource::parse_switches("1@" + std::string{value}));
  draft.job.mutable_resources()->set_switches_wait_seconds(ask.wait_seconds);
  return {};
}

// More nodes than tasks is not an error: so many nodes are taken as there are tasks, and that is said.
void fit_nodes_to_tasks(const Command& command, wire::JobDescription& job) {
  if (job.tasks() == 0 || job.min_nodes() <= job.tasks()) return;
  say_info(command, "Warning: can't run " + std::to_string(job.tasks()) + " processes on " +
                        std::to_string(job.min_nodes()) + " nodes, setting nnodes to " + std::to_string(job.tasks()));
  job.set_min_nodes(job.tasks());
  job.set_max_nodes(job.tasks());
  if (job.resources().has_node_counts()) job.mutable_resources()->clear_node_counts();
}

// More nodes named than may be had: srun goes on with the first of them, and says so.
Result<void> fit_named_nodes(const Command& command, std::uint8_t tool, wire::JobDescription& job) {
  if (job.max_nodes() == 0 || job.required_nodes().empty()) return {};
  const auto expanded = expand_hostlist(job.required_nodes());
  if (!expanded) return {};  // the controller says what is wrong with it
  std::vector<std::string> names;
  for (const std::string& name : *expanded)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  if (names.size() <= job.max_nodes()) return {};
  const std::string named = std::to_string(names.size()), most = std::to_string(job.max_nodes());
  if (tool != srun) return fail(Errc::refused, "invalid number of nodes (-N " + named + "-" + most + ")");
  say_error(command, "Required nodelist includes more nodes than permitted by max-node count (" + named + " > " + most +
                         "). Eliminating nodes from the nodelist.");
  names.resize(job.max_nodes());
  job.set_required_nodes(compress_hostlist(names));
  return {};
}

// srun takes the number of tasks, and as many to a node as that comes to.
void fit_tasks_per_node(const Command& command, wire::JobDescription& job) {
  const std::uint32_t tasks = job.tasks(), nodes = job.min_nodes(), each = job.tasks_per_node();
  if (each == 0 || nodes == 0 || tasks <= nodes || tasks / nodes == each) return;
  say_info(command, "Warning: can't honor --ntasks-per-node set to " + std::to_string(each) +
                        " which doesn't match the requested tasks " + std::to_string(tasks) +
                        " with the number of requested nodes " + std::to_string(nodes) +
                        ". Ignoring --ntasks-per-node.");
  job.clear_tasks_per_node();
}

using Words = std::span<const std::string_view>;

// A lone ':' ends the options of a component; once the script is named, everything is its argument.
Result<std::vector<Words>> split_components(Words words, std::uint8_t tool) {
  std::vector<Words> out;
  for (std::size_t from = 0; tool != srun;) {
    const auto until = static_cast<std::size_t>(
        std::find(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), ":") - words.begin());
    if (until == words.size()) break;
    const Words part = words.subspan(from, until - from);
    JobDraft ignored;
    MR_TRY(const auto line, apply_words(job_options(), tool, part, Operands::end_options, ignored));
    if (!line.operands.empty()) break;
    if (part.empty())
      return fail(
          Errc::refused,
          "HetJob component must not be an empty string: each ':' stands between the options of two components");
    out.push_back(part);
    from = until + 1;
    if (from == words.size())
      return fail(
          Errc::refused,
          "HetJob component must not be an empty string: after the last ':' come the options of one more component");
  }
  std::size_t used = 0;
  for (const Words& part : out) used += part.size() + 1;
  out.push_back(words.subspan(used));
  return out;
}

// What a component asks for; each has its own.
wire::JobDescription request_of(const wire::JobDescription& job) {
  wire::JobDescription out;
  out.set_partition(job.partition());
  out.set_min_nodes(job.min_nodes());
  out.set_max_nodes(job.max_nodes());
  out.set_tasks(job.tasks());
  out.set_tasks_per_node(job.tasks_per_node());
  out.set_cpus_per_task(job.cpus_per_task());
  if (job.has_memory_per_node_mib()) out.set_memory_per_node_mib(job.memory_per_node_mib());
  if (job.has_memory_per_cpu_mib()) out.set_memory_per_cpu_mib(job.memory_per_cpu_mib());
  out.set_exclusive(job.exclusive());
  out.set_oversubscribe(job.oversubscribe());
  out.set_required_nodes(job.required_nodes());
  out.set_excluded_nodes(job.excluded_nodes());
  if (job.has_min_cpus_per_node()) out.set_min_cpus_per_node(job.min_cpus_per_node());
  if (job.has_resources()) *out.mutable_resources() = job.resources();
  return out;
}

// Name, account, files, time limit and the like go on to the next component; what it asks for, and what is said once
// for the whole job, does not.
JobDraft next_component(const JobDraft& before) {
  JobDraft out = before;
  wire::JobDescription& job = out.job;
  job.clear_partition();
  job.clear_min_nodes();
  job.clear_max_nodes();
  job.clear_tasks();
  job.clear_tasks_per_node();
  job.clear_cpus_per_task();
  job.clear_memory_per_node_mib();
  job.clear_memory_per_cpu_mib();
  job.clear_exclusive();
  job.clear_oversubscribe();
  job.clear_required_nodes();
  job.clear_excluded_nodes();
  job.clear_min_cpus_per_node();
  job.clear_resources();
  job.clear_dependency();
  job.clear_array();
  job.clear_begin_at_us();
  job.clear_hold();
  job.clear_priority();
  out.het_group.reset();
  return out;
}

// The first component, with what the command itself was told in any of them.
Submission gather(std::vector<JobDraft> drafts, std::vector<std::string_view> operands) {
  Submission out{drafts.back(), {}, std::move(operands)};
  out.draft.job = std::move(drafts.front().job);
  out.draft.name_given = drafts.front().name_given;
  for (std::size_t i = 1; i < drafts.size(); ++i) out.more.push_back(std::move(drafts[i].job));
  return out;
}

}  // namespace

Result<Submission> read_command_line(const Command& command, std::uint8_t tool) {
  MR_TRY(const auto parts, split_components(command.words, tool));
  std::vector<JobDraft> drafts;
  std::vector<std::string_view> operands;
  for (const Words& part : parts) {
    drafts.push_back(drafts.empty() ? JobDraft{} : next_component(drafts.back()));
    MR_TRY(auto line, apply_words(job_options(), tool, part, Operands::end_options, drafts.back()));
    MR_TRY_VOID(check_memory(line));
    operands = std::move(line.operands);
  }
  return gather(std::move(drafts), std::move(operands));
}

Result<Submission> read_all_layers(const Command& command, std::uint8_t tool,
                                   const std::vector<std::vector<std::string>>& script_words) {
  MR_TRY(const auto parts, split_components(command.words, tool));
  std::vector<JobDraft> drafts;
  std::vector<std::string_view> operands;
  for (std::size_t i = 0; i < std::max(parts.size(), script_words.size()); ++i) {
    drafts.push_back(i == 0 ? JobDraft{} : next_component(drafts.back()));
    JobDraft& draft = drafts.back();
    if (i < script_words.size()) {
      const std::vector<std::string_view> words(script_words[i].begin(), script_words[i].end());
      MR_TRY(const auto script, apply_words(job_options(), tool, words, Operands::end_options, draft));
      if (!script.operands.empty())
        return fail(Errc::refused, "Invalid directive found in batch script: " + std::string{script.operands[0]});
    }
    if (i == 0) {
      MR_TRY_VOID(apply_environment(job_options(), tool, draft));
      MR_TRY_VOID(apply_switch_wait(tool, draft));
    } else {
      JobDraft from_environment;
      MR_TRY_VOID(apply_environment(job_options(), tool, from_environment));
      draft.job.MergeFrom(request_of(from_environment.job));
    }
    if (i < parts.size()) {
      MR_TRY(auto line, apply_words(job_options(), tool, parts[i], Operands::end_options, draft));
      MR_TRY_VOID(check_memory(line));
      operands = std::move(line.operands);
    }
    MR_TRY_VOID(check_draft(draft));
    MR_TRY_VOID(resource::complete(draft));
    MR_TRY_VOID(fit_named_nodes(command, tool, draft.job));
    fit_nodes_to_tasks(command, draft.job);
  }
  return gather(std::move(drafts), std::move(operands));
}

namespace {

// What a job's variables say of it is what a step in this component would ask for; the plain ones are those of the
// first.
class VariablesOfComponent {
 public:
  explicit VariablesOfComponent(std::uint32_t component) {
    if (component == 0 || getenv("SLURM_HET_SIZE") == nullptr) return;
    for (const char* name :
         {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_CPUS_PER_TASK",
          "SLURM_NTASKS_PER_NODE", "SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_TRES_PER_TASK"}) {
      const char* before = getenv(name);
      saved_.emplace_back(name, before != nullptr ? std::optional<std::string>{before} : std::nullopt);
      const char* own = getenv((std::string{name} + "_HET_GROUP_" + std::to_string(component)).c_str());
      const bool asked = std::string_view{name}.find("_MEM_") == std::string_view::npos &&
                         std::string_view{name} != "SLURM_TRES_PER_TASK";
      own != nullptr&& asked ? setenv(name, own, 1) : unsetenv(name);
    }
  }
  ~VariablesOfComponent() {
    for (const auto& [name, value] : saved_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  VariablesOfComponent(const VariablesOfComponent&) = delete;
  VariablesOfComponent& operator=(const VariablesOfComponent&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> saved_;
};

}  // namespace

// srun's programs stand between the colons, so any lone ':' separates.
Result<std::vector<SrunPart>> read_srun_parts(const Command& command) {
  std::vector<SrunPart> out;
  std::set<std::uint32_t> taken;
  std::uint32_t place = 0;
  std::optional<JobDraft> before;
  for (std::size_t from = 0; from <= command.words.size(); ++place) {
    const auto until = static_cast<std::size_t>(
        std::find(command.words.begin() + static_cast<std::ptrdiff_t>(from), command.words.end(), ":") -
        command.words.begin());
    const Words words = Words{command.words}.subspan(from, until - from);
    from = until + 1;
    JobDraft alone;
    MR_TRY(const auto line, apply_words(job_options(), srun, words, Operands::end_options, alone));
    const JobDraft start = before ? next_component(*before) : JobDraft{};
    IndexSet groups;
    if (alone.het_group)
      groups = *alone.het_group;
    else
      groups.insert(place);
    std::vector<std::uint32_t> components;
    groups.for_each([&](std::uint32_t component) { components.push_back(component); });
    for (const std::uint32_t component : components) {
      if (!taken.insert(component).second)
        return fail(Errc::refused,
                    "component " + std::to_string(component) + " is named twice; each runs one program of a step");
      SrunPart part{component, {words.begin(), words.end()}, {start, {}, {}}};
      const VariablesOfComponent variables(component);
      if (before) {
        JobDraft from_environment;
        MR_TRY_VOID(apply_environment(job_options(), srun, from_environment));
        part.all.draft.job.MergeFrom(request_of(from_environment.job));
      } else {
        MR_TRY_VOID(apply_environment(job_options(), srun, part.all.draft));
        MR_TRY_VOID(apply_switch_wait(srun, part.all.draft));
      }
      MR_TRY(auto applied, apply_words(job_options(), srun, part.words, Operands::end_options, part.all.draft));
      MR_TRY_VOID(check_memory(applied));
      part.all.operands.assign(line.operands.begin(), line.operands.end());
      MR_TRY_VOID(check_draft(part.all.draft));
      resource::take_host_file(part.all.draft);
      MR_TRY_VOID(resource::complete(part.all.draft));
      MR_TRY_VOID(fit_named_nodes(command, srun, part.all.draft.job));
      if (alone.job.min_nodes() > 0) fit_nodes_to_tasks(command, part.all.draft.job);
      fit_tasks_per_node(command, part.all.draft.job);
      out.push_back(std::move(part));
    }
    before = out.back().all.draft;
  }
  std::ranges::stable_sort(out, {}, &SrunPart::component);
  return out;
}

void describe_components(const Command& command, Submission& all, const ClientSettings& settings) {
  for (wire::JobDescription& component : all.more) {
    JobDraft described;
    described.job = std::move(component);
    describe_submitter(command, described, settings);
    if (described.job.name().empty()) described.job.set_name(all.draft.job.name());
    component = std::move(described.job);
  }
}

bool answer_gres_help(const JobDraft& draft, const ClientSettings& settings) {
  if (!draft.list_gres) return false;
  std::string text = "Valid gres options are:\n";
  for (const std::string_view name : split(settings.gres_types, ','))
    if (!trim(name).empty()) text += std::string{trim(name)} + "[[:type]:count]\n";
  print(text);
  return true;
}

std::string current_directory() {
  char buffer[PATH_MAX];
  return getcwd(buffer, sizeof buffer) != nullptr ? buffer : "/";
}

void describe_submitter(const Command& command, JobDraft& draft, const ClientSettings& settings) {
  wire::JobDescription& job = draft.job;
  const std::string here = current_directory();
  if (job.work_dir().empty())
    job.set_work_dir(here);
  else if (job.work_dir()[0] != '/')
    job.set_work_dir(here + '/' + job.work_dir());
  job.set_submit_line(command.submit_line.substr(0, submit_line_bytes_max));  // only shown, never run
  job.set_submit_host(own_host_name());
  job.set_submit_sid(static_cast<std::uint32_t>(getsid(0)));
  const mode_t mask = umask(0);
  umask(mask);
  job.set_umask(umask_of(std::getenv("SLURM_UMASK")).value_or(mask));
  if (job.extras().has_core_spec() && !settings.allow_spec_resources) {
    say_error(command, std::string{"Ignoring "} + (job.extras().threads_spec() ? "--thread-spec" : "-S") +
                           " since it's not allowed by configuration (AllowSpecResourcesUsage = No)");
    job.mutable_extras()->clear_core_spec();
    job.mutable_extras()->clear_threads_spec();
  }
  // A wrong word in slurm.conf is for the daemons to complain about.
  auto passed = limit_names(draft.propagate.value_or(settings.propagate_limits));
  if (passed && !draft.propagate && !settings.propagate_limits_except.empty()) {
    const auto kept_back = limit_names(settings.propagate_limits_except);
    passed = limit_names("ALL");
    if (kept_back)
      std::erase_if(*passed,
                    [&](const std::string& name) { return std::ranges::find(*kept_back, name) != kept_back->end(); });
  }
  for (const LimitRow& row : limits) {
    if (passed && std::ranges::find(*passed, row.name) == passed->end()) continue;
    rlimit value{};
    if (getrlimit(static_cast<__rlimit_resource_t>(row.resource), &value) != 0) continue;
    auto* limit = job.add_limits();
    limit->set_name(row.name);
    limit->set_soft(value.rlim_cur);
  }
}

Result<void> check_clusters(const JobDraft& draft, const ClientSettings& settings) {
  for (const std::string_view word : split(draft.clusters, ',')) {
    const std::string_view name = trim(word);
    if (!name.empty() && name != settings.cluster_name && !equals_ignoring_case(name, "all"))
      return fail(Errc::refused, "'" + std::string{name} +
                                     "' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr "
                                     "list clusters' to see available clusters.");
  }
  return {};
}

// What stands there already is of an outer job, and would be taken for this one's.
void mark_submission(const char* front) {
  for (const std::string_view name : submission_variables) unsetenv(name.data());
  setenv(compat_marker.data(), front, 1);
}

std::string job_environment(const JobDraft& draft) {
  std::string packed = pack_environment(environ, draft.export_list);
  for (std::string_view rest = draft.exported; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (const std::size_t equals = entry.find('='); equals != std::string_view::npos && equals > 0)
      set_variable(packed, entry.substr(0, equals), entry.substr(equals + 1));
  }
  for (const char* name : {"SLURM_NTASKS", "SLURM_JOB_NUM_NODES"})
    if (const char* value = std::getenv(name); draft.preserve_env && value != nullptr)
      set_variable(packed, std::string{preserved_prefix} + name, value);
  if (std::getenv(compat_marker.data()) != nullptr) {
    set_variable(packed, compat_marker, std::getenv(compat_marker.data()));
    for (const std::string_view name : submission_variables)
      if (const char* value = std::getenv(name.data()); value != nullptr) set_variable(packed, name, value);
  }
  // Only the submitting side knows where it stood: --chdir changes the job's directory, not this one.
  set_variable(packed, "SLURM_SUBMIT_DIR", current_directory());
  set_variable(packed, "SLURM_SUBMIT_HOST", draft.job.submit_host());
  return packed;
}

std::string test_only_text(const wire::Submitted& submitted) {
  return "Job " + std::to_string(submitted.job_id()) + " to start at " +
         format_time(submitted.test_start_at_us(), "Unknown") + " a using " + std::to_string(submitted.test_cpus()) +
         " processors on nodes " + submitted.test_nodes() + " in partition " + submitted.test_partition();
}

}  // namespace millrace
