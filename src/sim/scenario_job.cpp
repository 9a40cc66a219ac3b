// src/sim/scenario_job.cpp - see scenario_job.h.
#include "sim/scenario_job.h"

#include "base/text.h"
#include "sim/scenario_requests.h"

namespace millrace {

void read_job(const std::string& name, std::span<const std::string> words, ScenarioUsers& users, ScenarioJob& out,
              std::vector<std::string>& problems) {
  SubmitJob& ask = out.ask;
  PlannedRun& planned = out.planned;
  Owner& owner = out.owner;
  std::optional<std::int64_t> limit, run;
  RareRequest rare;
  JobExtras extras;
  ask.spec.work_dir = "/";
  ask.spec.min_nodes = ask.spec.tasks = ask.spec.cpus_per_task = 0;
  ask.spec.name = name;
  ask.script_bytes = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    const std::int64_t number = parse_integer(value).value_or(0);
    const auto count = static_cast<std::uint32_t>(number);
    if (key == "cpus")
      ask.spec.cpus_per_task = count;
    else if (key == "tasks")
      ask.spec.tasks = count;
    else if (key == "nodes" && value.find_first_of(",:") != std::string::npos)
      ask.wishes.node_counts = value;
    else if (key == "nodes") {
      const auto parts = split(value, '-');
      ask.spec.min_nodes = static_cast<std::uint32_t>(parse_integer(parts.front()).value_or(1));
      ask.spec.max_nodes = static_cast<std::uint32_t>(parse_integer(parts.back()).value_or(1));
    } else if (key == "per_node")
      ask.spec.tasks_per_node = count;
    else if (key == "mem")
      ask.spec.memory_per_node = Mebibytes{number};
    else if (key == "mem_cpu")
      ask.spec.memory_per_cpu = Mebibytes{number};
    else if (key == "limit")
      limit = number;
    else if (key == "run")
      run = number;
    else if (key == "exit")
      planned.exit_code = count;
    else if (key == "oom")
      planned.out_of_memory = true;
    else if (read_program_key(key, number, planned.programs))
      continue;
    else if (key == "partition")
      ask.partition = value;
    else if (key == "begin")
      ask.begin_at = at_second(number);
    else if (key == "dep")
      ask.dependency = value;
    else if (key == "array")
      ask.array = value;
    else if (key == "hold")
      ask.hold = true;
    else if (key == "oversubscribe")
      ask.spec.oversubscribe = true;
    else if (key == "exclusive")
      ask.spec.exclusive = true;
    else if (key == "overcommit")
      extras.overcommit = true;
    else if (key == "no_kill")
      extras.no_kill = true;
    else if (key == "batch")
      extras.batch_features = value;
    else if (key == "srun")
      ask.spec.interactive = true;
    else if (key == "user") {
      owner.uid = UserId{parse_integer(value) ? count : users.uid_of(value)};
      owner.user_name = parse_integer(value) ? "u" + value : value;
    } else if (key == "account")
      ask.spec.account = value;
    else if (key == "qos")
      rare.qos = value;
    else if (key == "on")
      ask.required_nodes = value;
    else if (key == "not_on")
      ask.excluded_nodes = value;
    else if (key == "nice")
      ask.spec.nice = static_cast<std::int32_t>(number);
    else if (key == "name")
      ask.spec.name = value;
    else if (key == "no_requeue")
      ask.requeue = false;
    else if (key == "kill_invalid")
      ask.spec.kill_on_invalid_dependency = true;
    else if (!read_wish(key, value, ask.wishes))
      problems.push_back("unknown job key '" + key + "'");
  }
  ask.spec.owner = SharedValue(owner);
  if (!(rare == RareRequest{})) ask.spec.rare = SharedValue(rare);
  if (!(extras == JobExtras{})) ask.spec.extras = SharedValue(extras);
  if (limit) ask.time_limit_minutes = static_cast<std::uint32_t>((*limit + 59) / 60);
  planned.run = run.value_or(limit.value_or(1'000'000));
}

}  // namespace millrace
