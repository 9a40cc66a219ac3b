// src/wire/step_types.cpp - steps in events and snapshots; see log_types.h.
#include "wire/log_types.h"

namespace millrace {

void put(const StepUsage& from, log::StepUsage& to) {
  to.set_user_us(from.user_us);
  to.set_system_us(from.system_us);
  to.set_max_rss_bytes(from.max_rss_bytes);
  to.set_max_vm_bytes(from.max_vm_bytes);
  to.set_read_bytes(from.read_bytes);
  to.set_write_bytes(from.written_bytes);
  to.set_gpu_busy_max(from.gpu_busy_max);
  to.set_gpu_busy_sum(from.gpu_busy_sum);
  to.set_gpu_looks(from.gpu_looks);
  to.set_gpu_memory_max_bytes(from.gpu_memory_max_bytes);
}

StepUsage get(const log::StepUsage& from) {
  return {from.user_us(),    from.system_us(),           from.max_rss_bytes(), from.max_vm_bytes(),
          from.read_bytes(), from.write_bytes(),         from.gpu_busy_max(),  from.gpu_busy_sum(),
          from.gpu_looks(),  from.gpu_memory_max_bytes()};
}

static void put(const StepWishes& from, log::StepWishes& to) {
  to.set_gres(from.gres);
  to.set_tres_per_step(from.tres_per_step);
  to.set_tres_per_node(from.tres_per_node);
  to.set_tres_per_socket(from.tres_per_socket);
  to.set_tres_per_task(from.tres_per_task);
  to.set_cpus_per_tres(from.cpus_per_tres);
  to.set_mem_per_tres(from.mem_per_tres);
}

static StepWishes get(const log::StepWishes& from) {
  return {from.gres(),          from.tres_per_step(), from.tres_per_node(), from.tres_per_socket(),
          from.tres_per_task(), from.cpus_per_tres(), from.mem_per_tres()};
}

void put(const StepStart& from, log::StepStart& to) {
  to.set_id(from.id);
  to.set_name(from.name);
  to.mutable_nodes()->Add(from.nodes->begin(), from.nodes->end());
  to.set_tasks(from.tasks);
  to.set_cpus(from.cpus.value);
  to.set_memory_mib(from.memory.value);
  to.set_at(from.at.value);
  to.set_srun_host(from.srun_host);
  to.set_srun_pid(from.srun_pid);
  to.set_distribution(from.distribution);
  to.set_time_limit_minutes(from.time_limit_minutes);
  if (from.wishes) put(*from.wishes, *to.mutable_wishes());
  to.set_ports(from.ports);
}

StepStart get(const log::StepStart& from) {
  StepStart to;
  to.id = from.id();
  to.name = from.name();
  to.nodes = StepNodes{std::vector<std::uint32_t>(from.nodes().begin(), from.nodes().end())};
  to.tasks = from.tasks();
  to.cpus = Cpus{from.cpus()};
  to.memory = Mebibytes{from.memory_mib()};
  to.at = Time{from.at()};
  to.srun_host = from.srun_host();
  to.srun_pid = from.srun_pid();
  to.distribution = from.distribution();
  to.time_limit_minutes = from.time_limit_minutes();
  if (from.has_wishes()) to.wishes = SharedValue(get(from.wishes()));
  to.ports = from.ports();
  return to;
}

void put(const StepEnd& from, log::StepEnd& to) {
  to.set_id(from.id);
  to.set_outcome(static_cast<std::uint32_t>(from.outcome));
  to.set_exit_code(from.exit_code);
  to.set_exit_signal(from.exit_signal);
  to.set_cancelled_by(from.cancelled_by.value);
  if (from.usage != StepUsage{}) put(from.usage, *to.mutable_usage());
  to.set_at(from.at.value);
}

StepEnd get(const log::StepEnd& from) {
  return {from.id(),          static_cast<Outcome>(from.outcome()), from.exit_code(),
          from.exit_signal(), UserId{from.cancelled_by()},          get(from.usage()),
          Time{from.at()}};
}

void append_steps(const State& state, std::string& bytes) {
  constexpr int jobs_of_piece = 256;
  log::State piece;
  for (const auto& [key, tally] : state.step_tallies) {
    if (piece.steps_size() == jobs_of_piece) {
      piece.AppendToString(&bytes);
      piece.Clear();
    }
    auto* job = piece.add_steps();
    job->set_key(key.value);
    job->set_attempt(tally.attempt.value);
    job->set_next_id(tally.next_id);
    for (auto it = state.steps.lower_bound({key, {}, 0}); it != state.steps.end() && (*it).first.job == key; ++it) {
      auto* step = job->add_steps();
      step->set_attempt((*it).first.attempt.value);
      put((*it).second->start, *step->mutable_start());
      if (!(*it).second->is_running()) put((*it).second->end, *step->mutable_end());
    }
  }
  piece.AppendToString(&bytes);
}

Result<void> get_steps(const log::State& from, State& state) {
  std::vector<std::pair<StepKey, SharedValue<Step>>> steps;
  std::vector<std::pair<StepKey, Nothing>> running;
  for (const auto& job : from.steps()) {
    StepTally tally{Attempt{job.attempt()}, job.next_id(), 0, {}};
    for (const auto& known : job.steps()) {
      Step step{get(known.start()), get(known.end())};
      step.end.id = step.start.id;
      if (tally.nodes && *tally.nodes == *step.start.nodes) step.start.nodes = tally.nodes;
      tally.nodes = step.start.nodes;
      const StepKey key{JobKey{job.key()}, Attempt{known.attempt()}, step.start.id};
      if (!steps.empty() && key <= steps.back().first) return fail(Errc::corrupt, "snapshot: steps out of order");
      if (step.is_running())
        running.emplace_back(key, Nothing{});
      else
        ++tally.ended;
      steps.emplace_back(key, SharedValue(std::move(step)));
    }
    state.step_tallies.set(JobKey{job.key()}, tally);
  }
  state.steps = SharedMap<StepKey, SharedValue<Step>>::from_sorted(std::move(steps));
  state.running_steps = SharedMap<StepKey, Nothing>::from_sorted(std::move(running));
  return {};
}

}  // namespace millrace
