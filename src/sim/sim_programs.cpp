// src/sim/sim_programs.cpp - see sim_programs.h.
#include "sim/sim_programs.h"

#include "base/text.h"

namespace millrace {
namespace {

std::uint32_t number_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name))
      return static_cast<std::uint32_t>(parse_integer(std::string_view{entry}.substr(name.size())).value_or(0));
  return 0;
}

}  // namespace

Programs::Id SimPrograms::run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) {
  const Id id = ++last_;
  const std::size_t record = history_.size();
  history_.push_back({what.program,
                      number_in(what.environment, "SLURM_JOB_ID="),
                      number_in(what.environment, "SLURM_JOB_RESTART_COUNT="),
                      world_.now(),
                      {},
                      {}});
  const Duration takes{
      static_cast<std::int64_t>(1 + world_.random.below(world_.random.chance(1, 10) ? 5'000'000 : 300'000))};
  const bool fails = world_.random.chance(1, 25);
  running_[id] =
      process_.after(takes, [this, id, record, fails, what = std::move(what), ended = std::move(ended)]() mutable {
        running_.erase(id);
        if (!fails) did(what);
        history_[record].ended_at = world_.now();
        history_[record].fate = fails ? ProgramFate::failed : ProgramFate::well;
        ended(ProgramEnd{fails ? 1 : 0, 0, false, {}});
      });
  return id;
}

void SimPrograms::kill(Id program) {
  const auto found = running_.find(program);
  if (found == running_.end()) return;
  process_.cancel(found->second);
  running_.erase(found);
}

}  // namespace millrace
