// src/config/key_setters.cpp - see key_setters.h.
#include "config/key_setters.h"

#include <algorithm>

#include "base/index_set.h"
#include "config/key_words.h"
#include "core/model/gres_text.h"
#include "core/model/mpi_type.h"
#include "core/model/schedule.h"

namespace millrace::setter {
namespace {

Result<std::uint16_t> parse_port(std::string_view value) {
  // A range, as SlurmctldPort allows, is served on its first port.
  const auto number = parse_integer(value.substr(0, value.find('-')));
  if (!number || *number < 1 || *number > 65535)
    return fail(Errc::invalid, "'" + std::string{value} + "' is not a port, 1 to 65535");
  return static_cast<std::uint16_t>(*number);
}

std::unexpected<Error> wrong(std::string_view value, std::string_view right) {
  return fail(Errc::invalid, "'" + std::string{value} + "' is not known, " + std::string{right} + " would be right");
}

struct SchedulerRow {
  std::string_view name;
  Result<void> (*set)(SchedulerParameters&, std::int64_t);
};

constexpr SchedulerRow scheduler_rows[] = {
    {"max_script_size",
     [](SchedulerParameters& s, std::int64_t n) -> Result<void> {
       constexpr std::int64_t ceiling = 14 << 20;  // a request with a larger one would not be read (wire/limits.h)
       if (n < 1 || n > ceiling) return fail(Errc::invalid, "max_script_size must be 1 to " + std::to_string(ceiling));
       s.script_size_max = static_cast<std::uint64_t>(n);
       return {};
     }},
    {"requeue_delay",
     [](SchedulerParameters& s, std::int64_t n) -> Result<void> {
       s.requeue_delay = seconds(n);
       return {};
     }},
    {"bf_max_job_test",
     [](SchedulerParameters& s, std::int64_t n) -> Result<void> {
       s.backfill_jobs_max = static_cast<std::uint32_t>(n);
       return {};
     }},
    {"bf_interval",
     [](SchedulerParameters& s, std::int64_t n) -> Result<void> {
       s.backfill_interval = seconds(n);
       return {};
     }},
};

}  // namespace

bool is_yes(std::string_view value) {
  return equals_ignoring_case(value, "yes") || equals_ignoring_case(value, "true") || value == "1" ||
         equals_ignoring_case(value, "up");
}

Result<void> port_controller(Configuration& c, std::string_view value) {
  MR_TRY(c.controller_port, parse_port(value));
  return {};
}

Result<void> port_agent(Configuration& c, std::string_view value) {
  MR_TRY(c.agent_port, parse_port(value));
  return {};
}

Result<void> controller_host(Configuration& c, std::string_view value) {
  const std::size_t open = value.find('(');
  ControllerHost host{std::string{value.substr(0, open)}, std::string{value.substr(0, open)}};
  if (open != std::string_view::npos) {
    if (value.back() != ')' || value.size() - open < 3)
      return fail(Errc::invalid, "'" + std::string{value} + "' is not a host, name or name(address) would be right");
    host.address = value.substr(open + 1, value.size() - open - 2);
  }
  c.controllers.push_back(std::move(host));
  return {};
}

Result<void> controller_address(Configuration& c, std::string_view value) {
  if (c.controllers.empty()) return fail(Errc::invalid, "SlurmctldAddr must come after SlurmctldHost");
  c.controllers.front().address = value;
  return {};
}

Result<void> cluster_name(Configuration& c, std::string_view value) {
  if (!is_cluster_name(value))
    return fail(Errc::invalid, "'" + std::string{value} +
                                   "' is not a cluster name: letters, digits, - and _ are allowed, and at most " +
                                   std::to_string(cluster_name_max) + " of them");
  c.cluster_name = lower(value);
  return {};
}

Result<void> job_defaults(std::string_view value, std::uint32_t& cpus_per_gpu, Mebibytes& memory_per_gpu) {
  for (const std::string_view word : split(value, ',')) {
    const std::size_t equals = word.find('=');
    const std::string_view name = trim(word.substr(0, equals)), amount = equals == std::string_view::npos
                                                                             ? std::string_view{}
                                                                             : trim(word.substr(equals + 1));
    const auto number = parse_integer(amount);
    const auto memory = parse_memory(amount);
    if (equals_ignoring_case(name, "DefCpuPerGPU") && number && *number > 0 && *number < UINT32_MAX)
      cpus_per_gpu = static_cast<std::uint32_t>(*number);
    else if (equals_ignoring_case(name, "DefMemPerGPU") && memory)
      memory_per_gpu = *memory;
    else
      return fail(Errc::invalid,
                  "'" + std::string{word} + "' is wrong, DefCpuPerGPU=4 or DefMemPerGPU=8000 would be right");
  }
  return {};
}

Result<void> job_defaults_of_all(Configuration& c, std::string_view value) {
  return job_defaults(value, c.default_cpus_per_gpu, c.default_memory_per_gpu);
}

Result<void> default_memory_per_gpu(Configuration& c, std::string_view value) {
  return job_defaults("DefMemPerGPU=" + std::string{value}, c.default_cpus_per_gpu, c.default_memory_per_gpu);
}

Result<void> dependency_parameters(Configuration& c, std::string_view value) {
  for (const std::string_view word : split(value, ','))
    if (equals_ignoring_case(trim(word), "kill_invalid_depend")) c.kill_invalid_dependency = true;
  return {};
}

static Result<std::vector<std::uint32_t>> exit_codes(std::string_view value) {
  const auto codes = parse_index_set(value, 255);
  if (!codes || codes->empty())
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, exit codes like 1,3-5 would be right");
  std::vector<std::uint32_t> out;
  codes->for_each([&](std::uint32_t code) { out.push_back(code); });
  return out;
}

Result<void> requeue_exit(Configuration& c, std::string_view value) {
  MR_TRY(c.requeue_exit, exit_codes(value));
  return {};
}

Result<void> requeue_exit_hold(Configuration& c, std::string_view value) {
  MR_TRY(c.requeue_exit_hold, exit_codes(value));
  return {};
}

// Read by its text; here only the words are checked.
Result<void> enforce_part_limits(Configuration&, std::string_view value) {
  for (const std::string_view word : {"NO", "ANY", "ALL", "YES"})
    if (equals_ignoring_case(word, value)) return {};
  return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, NO, ANY or ALL would be right");
}

bool is_munge_socket(std::string_view path) { return path.find("/munge") != std::string_view::npos; }

Result<void> auth_type(Configuration& c, std::string_view value) {
  if (effect_of_word(*find_key_words("AuthType"), value) == WordEffect::unknown)
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, auth/munge or auth/slurm would be right");
  c.munge = equals_ignoring_case(value, "auth/munge");
  return {};
}

Result<void> auth_info(Configuration& c, std::string_view value) {
  for (const std::string_view word : split(value, ',')) {
    if (!word.starts_with("socket=")) continue;
    const std::string_view path = word.substr(7);
    // sockaddr_un holds 108 bytes, and ".relay" and a NUL must fit behind it.
    if (path.empty() || path[0] != '/' || path.size() > 100)
      return fail(Errc::invalid,
                  "socket= must be an absolute path of at most 100 bytes, not '" + std::string{path} + "'");
    (is_munge_socket(path) ? c.munge_socket : c.socket_path) = path;
  }
  return {};
}

Result<PreemptWords> read_preempt_mode(std::string_view value) {
  PreemptWords out;
  bool mode_given = false;
  for (const std::string_view part : split(value, ',')) {
    const std::string word = lower(trim(part));
    if (word == "gang") {
      out.gang = true;
      continue;
    }
    if (word == "within" || word == "priority") {
      (word == "within" ? out.within : out.priority) = true;
      continue;
    }
    constexpr std::pair<std::string_view, PreemptMode> words[] = {{"off", PreemptMode::off},
                                                                  {"cancel", PreemptMode::cancel},
                                                                  {"requeue", PreemptMode::requeue},
                                                                  {"suspend", PreemptMode::suspend}};
    const auto* known = std::ranges::find(words, word, &std::pair<std::string_view, PreemptMode>::first);
    if (known == std::end(words))
      return fail(Errc::invalid, "'" + std::string{value} +
                                     "' is not known, OFF, CANCEL, REQUEUE, SUSPEND,GANG or GANG would be right");
    if (mode_given)
      return fail(
          Errc::invalid,
          "'" + std::string{value} +
              "' says two things at once: one of OFF, CANCEL, REQUEUE and SUSPEND, and GANG beside it, would be right");
    out.mode = known->second;
    mode_given = true;
  }
  return out;
}

bool has_later_mode(const ConfPair& pair) {
  const auto words = equals_ignoring_case(pair.key, "PreemptMode") ? read_preempt_mode(pair.value) : PreemptWords{};
  return words && (words->within || words->priority);
}

Result<void> preempt_mode(Configuration& c, std::string_view value) {
  MR_TRY(PreemptWords words, read_preempt_mode(value));
  if (words.within)
    c.not_built.push_back({"PreemptMode=WITHIN", {}, 0, "not built yet: jobs of one QOS do not preempt each other"});
  if (words.priority) {  // without it more jobs would be preempted than the site wants
    c.not_built.push_back({"PreemptMode=PRIORITY", {}, 0, "not built yet: no job is preempted"});
    words.mode = PreemptMode::off;
  }
  c.preempt_mode = words.mode;
  c.gang = words.gang;
  if (words.mode == PreemptMode::suspend && !words.gang)
    return fail(Errc::invalid, "SUSPEND needs GANG, so that suspended jobs go on again: SUSPEND,GANG would be right");
  return {};
}

Result<std::uint32_t> over_time_minutes(std::string_view value) {
  if (equals_ignoring_case(value, "unlimited") || equals_ignoring_case(value, "infinite")) return unlimited_count;
  const auto count = parse_integer(value);
  if (!count || *count < 0 || *count > 65533)
    return fail(Errc::invalid,
                "'" + std::string{value} + "' is wrong, minutes from 0 to 65533 or UNLIMITED would be right");
  return static_cast<std::uint32_t>(*count);
}

Result<void> over_time_limit(Configuration& c, std::string_view value) {
  MR_TRY(c.over_time_minutes, over_time_minutes(value));
  return {};
}

Result<PortRange> parse_port_range(std::string_view value) {
  const std::size_t dash = value.find('-');
  const auto first = parse_integer(trim(value.substr(0, dash))),
             last = dash == std::string_view::npos ? first : parse_integer(trim(value.substr(dash + 1)));
  const bool none = first && last && *first == 0 && *last == 0;
  if (!first || !last || (!none && (*first < 1 || *last > 65535 || *last < *first)))
    return wrong(value, "ports like 60001-63000, or 0-0 for any,");
  return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

Result<void> srun_port_range(Configuration&, std::string_view value) {
  MR_TRY_VOID(parse_port_range(value));
  return {};
}

Result<void> scron_parameters(Configuration& c, std::string_view value) {
  c.crontabs = false;
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part);
    if (equals_ignoring_case(word, "enable"))
      c.crontabs = true;
    else if (!word.empty() && !equals_ignoring_case(word, "explicit_scancel"))
      return fail(Errc::invalid, "'" + std::string{word} + "' is not known; enable and explicit_scancel are");
  }
  return {};
}

Result<void> bcast_parameters(Configuration&, std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::string word = lower(trim(part));
    if (word.empty() || word == "send_libs" || word.starts_with("send_libs=") || word.starts_with("destdir=/"))
      continue;
    if (word == "compression=zlib" || word == "compression=none" || word == "compression=lz4") continue;
    return fail(Errc::invalid, "'" + std::string{trim(part)} +
                                   "' is not known; DestDir=/path, Compression=zlib or none, send_libs would be right");
  }
  return {};
}

Result<void> unkillable_program(Configuration&, std::string_view value) {
  if (!value.starts_with('/')) return fail(Errc::invalid, "'" + std::string{value} + "' is no absolute path");
  return {};
}

// Numbers of steps from 40000 on are not given out (core/model/step.h).
Result<void> max_step_count(Configuration& c, std::string_view value) {
  const auto count = parse_integer(value);
  if (!count || *count < 1 || *count > 40'000)
    return fail(Errc::invalid, "'" + std::string{value} + "': 1 to 40000 would be right");
  c.max_step_count = static_cast<std::uint32_t>(*count);
  return {};
}

Result<void> max_tasks_per_node(Configuration& c, std::string_view value) {
  const auto count = parse_integer(value);
  if (!count || *count < 1 || *count > 65'533)
    return fail(Errc::invalid, "'" + std::string{value} + "': 1 to 65533 would be right");
  c.max_tasks_per_node = static_cast<std::uint32_t>(*count);
  return {};
}

Result<void> mpi_default(Configuration& c, std::string_view value) {
  MR_TRY_VOID(parse_mpi_type(lower(value)));
  c.mpi_default = std::string{value};
  return {};
}

Result<void> mpi_params(Configuration& c, std::string_view value) {
  c.reserved_ports = {};
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || equals_ignoring_case(word, "disable_slurm_hydra_bootstrap"))
      continue;  // the second: nothing is set up for hydra in any case
    const auto range = parse_port_range(word.substr(std::min<std::size_t>(word.size(), 6)));
    if (!equals_ignoring_case(word.substr(0, 6), "ports=") || !range || range->first == 0)
      return fail(Errc::invalid, "'" + std::string{word} + "' is wrong, ports=12000-12999 would be right");
    c.reserved_ports.insert(range->first, range->last);
  }
  return {};
}

Result<void> other_authentication(Configuration& c, std::string_view value) {
  for (const std::string_view part : split(value, ','))
    if (equals_ignoring_case(trim(part), "auth/jwt") || equals_ignoring_case(trim(part), "jwt"))
      c.tokens.enabled = true;
  return {};
}

Result<void> token_parameters(Configuration& c, std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part), key = word.substr(0, word.find('=')),
                           rest = word.size() > key.size() ? word.substr(key.size() + 1) : std::string_view{};
    if (equals_ignoring_case(key, "jwt_key")) {
      if (!rest.starts_with('/')) return wrong(word, "jwt_key=/PATH");
      c.tokens.key_file = std::string{rest};
    } else if (equals_ignoring_case(key, "disable_token_creation")) {
      c.tokens.only_administrators = true;
    } else if (equals_ignoring_case(key, "max_token_lifespan")) {
      const auto count = parse_integer(rest);
      if (!count || *count < 1 || *count >= UINT32_MAX) return wrong(word, "max_token_lifespan=SECONDS");
      c.tokens.longest_seconds = static_cast<std::uint32_t>(*count);
    }
  }
  return {};
}

Result<void> reconfig_flags(Configuration& c, std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part);
    if (word.empty()) continue;
    if (equals_ignoring_case(word, "KeepPartInfo"))
      c.keep_partitions = KeepPartitions::all;
    else if (equals_ignoring_case(word, "KeepPartState"))
      c.keep_partitions = c.keep_partitions == KeepPartitions::all ? KeepPartitions::all : KeepPartitions::states;
    else if (effect_of_word(*find_key_words("ReconfigFlags"), word) == WordEffect::unknown)
      return wrong(word, "KeepPartInfo or KeepPartState");
  }
  return {};
}

Result<void> preempt_type(Configuration& c, std::string_view value) {
  if (value.empty() || value == "preempt/none" || equals_ignoring_case(value, "none"))
    c.preempt_type = PreemptType::none;
  else if (value == "preempt/partition_prio")
    c.preempt_type = PreemptType::partition;
  else if (value == "preempt/qos")
    c.preempt_type = PreemptType::qos;
  else
    return wrong(value, "preempt/none, preempt/partition_prio or preempt/qos");
  return {};
}

Result<void> scheduler_type(Configuration& c, std::string_view value) {
  if (value != "sched/backfill" && value != "sched/builtin") return wrong(value, "sched/backfill or sched/builtin");
  c.backfill = value == "sched/backfill";
  return {};
}

Result<void> scheduler_parameters(Configuration& c, std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part);
    const std::size_t equals = word.find('=');
    const std::string name = lower(trim(word.substr(0, equals)));
    if (name == "nohold_on_prolog_fail") c.node_life.hold_on_prolog_failure = false;
    if (name == "millrace_predict") c.scheduler.predict_run_times = true;
    if (name == "millrace_policy") {
      const std::string_view chosen = equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
      const auto schedule = find_schedule(chosen);
      if (!schedule)
        return fail(Errc::invalid,
                    "millrace_policy '" + std::string{chosen} + "' is not known; it is one of " + known_schedules());
      c.scheduler.schedule = *schedule;
      if (*schedule == Schedule::guarded) c.scheduler.predict_run_times = true;
    }
    for (const SchedulerRow& row : scheduler_rows) {
      if (row.name != name) continue;
      const auto number =
          equals == std::string_view::npos ? std::nullopt : parse_integer(trim(word.substr(equals + 1)));
      if (!number || *number < 0 || *number > INT32_MAX)
        return fail(Errc::invalid, "'" + std::string{word} + "' needs a number, as in " + name + "=100");
      MR_TRY_VOID(row.set(c.scheduler, *number));
    }
  }
  return {};
}

Result<void> priority_type(Configuration& c, std::string_view value) {
  if (value != "priority/multifactor" && value != "priority/basic")
    return wrong(value, "priority/multifactor or priority/basic");
  c.multifactor_priority = value == "priority/multifactor";
  return {};
}

Result<void> select_type(Configuration& c, std::string_view value) {
  if (value == "select/linear") {
    c.consumable = ConsumableUnit::whole_node;
    c.memory_is_consumable = false;
    return {};
  }
  if (value != "select/cons_tres" && value != "select/cons_res")
    return wrong(value, "select/cons_tres or select/linear");
  return {};
}

Result<void> select_type_parameters(Configuration& c, std::string_view value) {
  struct Row {
    std::string_view name;
    ConsumableUnit unit;
    bool memory;
  };
  constexpr Row rows[] = {
      {"cr_cpu", ConsumableUnit::cpu, false},       {"cr_cpu_memory", ConsumableUnit::cpu, true},
      {"cr_core", ConsumableUnit::core, false},     {"cr_core_memory", ConsumableUnit::core, true},
      {"cr_socket", ConsumableUnit::socket, false}, {"cr_socket_memory", ConsumableUnit::socket, true},
  };
  struct Flag {
    std::string_view name;
    bool Configuration::* field;
  };
  constexpr Flag flags[] = {{"cr_lln", &Configuration::least_loaded},
                            {"cr_one_task_per_core", &Configuration::one_task_per_core},
                            {"enforce_binding_gres", &Configuration::enforce_gres_binding}};
  for (const Flag& flag : flags) c.*flag.field = false;
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name == "cr_memory") c.memory_is_consumable = true;
    for (const Row& row : rows) {
      if (row.name != name) continue;
      if (c.consumable != ConsumableUnit::whole_node) c.consumable = row.unit;
      c.memory_is_consumable = row.memory;
    }
    for (const Flag& flag : flags)
      if (flag.name == name) c.*flag.field = true;
    if (!name.empty() && effect_of_word(*find_key_words("SelectTypeParameters"), name) == WordEffect::unknown)
      return wrong(word, "CR_CPU, CR_CPU_Memory, CR_Core, CR_Core_Memory, CR_Socket or CR_Socket_Memory");
  }
  return {};
}

Result<void> job_submit_plugins(Configuration& c, std::string_view value) {
  c.require_time_limit = c.all_partitions = false;
  for (const std::string_view word : split(value, ',')) {
    std::string name = lower(trim(word));
    if (name.starts_with("job_submit/")) name.erase(0, 11);
    if (name == "require_timelimit")
      c.require_time_limit = true;
    else if (name == "all_partitions")
      c.all_partitions = true;
    else if (!name.empty() && name != "none")
      c.not_built.push_back({"JobSubmitPlugins=" + std::string{trim(word)}, {}, 0, "not built yet"});
  }
  return {};
}

Result<void> gres_types(Configuration& c, std::string_view value) {
  c.gres_types.clear();
  for (const std::string_view word : split(value, ','))
    if (!trim(word).empty()) c.gres_types.emplace_back(trim(word));
  return {};
}

Result<void> licences(Configuration& c, std::string_view value) {
  MR_TRY(LicenceList list, parse_licences(value));
  if (list.any)
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, name:count with commas would be right");
  std::ranges::sort(list.asks, {}, &LicenceAsk::name);
  c.licences = std::move(list.asks);
  return {};
}

Result<void> topology_plugin(Configuration& c, std::string_view value) {
  const std::string word = lower(value);
  if (word == "topology/default" || word == "topology/none")
    c.topology_plugin = "topology/flat";
  else if (word == "topology/flat" || word == "topology/tree" || word == "topology/block")
    c.topology_plugin = word;
  else
    return wrong(value, "topology/flat, topology/tree or topology/block");
  return {};
}

Result<void> return_to_service(Configuration& c, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > 2) return wrong(value, "0, 1 or 2");
  c.return_to_service = static_cast<std::uint32_t>(*number);
  return {};
}

}  // namespace millrace::setter
