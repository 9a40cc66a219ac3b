// src/cli/render/job_words.cpp - see job_words.h.
#include "cli/render/job_words.h"

#include <cstdlib>

#include "base/text.h"
#include "cli/render/text_forms.h"
#include "core/model/sluid.h"

namespace millrace {
namespace {

struct StateRow {
  std::string_view word, compact;
  std::uint8_t code;
};

constexpr StateRow states[] = {
    {"PENDING", "PD", wire::PENDING},
    {"RUNNING", "R", wire::RUNNING},
    {"SUSPENDED", "S", wire::SUSPENDED},
    {"COMPLETED", "CD", wire::COMPLETED},
    {"CANCELLED", "CA", wire::CANCELLED},
    {"FAILED", "F", wire::FAILED},
    {"TIMEOUT", "TO", wire::TIMEOUT},
    {"NODE_FAIL", "NF", wire::NODE_FAIL},
    {"PREEMPTED", "PR", wire::PREEMPTED},
    {"BOOT_FAIL", "BF", wire::BOOT_FAIL},
    {"DEADLINE", "DL", wire::DEADLINE},
    {"OUT_OF_MEMORY", "OOM", wire::OUT_OF_MEMORY},
    {"COMPLETING", "CG", completing_code},
    {"REQUEUE_HOLD", "RH", requeue_hold_code},
    {"CONFIGURING", "CF", configuring_code},
    {"SPECIAL_EXIT", "SE", special_exit_code},
    // States of Slurm no job of ours is ever in; asking for them is no mistake.
    {"RESIZING", "RS", never_code},
    {"REQUEUED", "RQ", never_code},
    {"REQUEUE_FED", "RF", never_code},
    {"STOPPED", "ST", never_code},
    {"REVOKED", "RV", never_code},
    {"RESV_DEL_HOLD", "RD", never_code},
    {"SIGNALING", "SI", never_code},
    {"STAGE_OUT", "SO", never_code},
};

const StateRow& row_of(const wire::JobView& job) {
  std::uint8_t code = static_cast<std::uint8_t>(job.state());
  if (job.completing())
    code = completing_code;
  else if (job.requeue_held())
    code = requeue_hold_code;
  else if (job.special_exit())
    code = special_exit_code;
  else if (job.configuring())
    code = configuring_code;
  for (const StateRow& row : states)
    if (row.code == code) return row;
  return states[0];
}

}  // namespace

std::string_view state_word(const wire::JobView& job) { return row_of(job).word; }
std::string_view state_compact(const wire::JobView& job) { return row_of(job).compact; }

std::optional<StateFilter> parse_state(std::string_view word) {
  for (const StateRow& row : states)
    if (equals_ignoring_case(row.word, word) || equals_ignoring_case(row.compact, word)) return StateFilter{row.code};
  return std::nullopt;
}

bool matches(StateFilter filter, const wire::JobView& job) {
  if (filter.code == completing_code) return job.completing();
  if (filter.code == requeue_hold_code) return job.requeue_held();
  if (filter.code == special_exit_code) return job.special_exit();
  if (filter.code == configuring_code) return job.configuring();
  return filter.code == static_cast<std::uint8_t>(job.state()) && !job.completing();
}

bool is_of_placed(StateFilter filter) {
  return filter.code == wire::RUNNING || filter.code == wire::SUSPENDED || filter.code == completing_code ||
         filter.code == configuring_code || filter.code == never_code;
}

bool is_of_live(StateFilter filter) {
  return is_of_placed(filter) || filter.code == wire::PENDING || filter.code == requeue_hold_code;
}

std::string known_states() {
  std::string out;
  for (const StateRow& row : states) out += (out.empty() ? "" : ",") + std::string{row.word};
  return out;
}

std::string state_list() {
  std::string out;
  for (const StateRow& row : states) out += std::string{row.word} + '\n';
  return out;
}

std::string array_tasks_text(const wire::JobView& job) {
  const std::string& tasks = job.array_tasks();
  std::size_t most = 64;
  if (const char* given = std::getenv("SLURM_BITSTR_LEN")) {
    const auto number = parse_integer(given);
    most = number && *number > 0 ? static_cast<std::size_t>(*number) : tasks.size() + 1;
  }
  const std::size_t percent = tasks.find('%');
  const std::size_t length = percent == std::string::npos ? tasks.size() : percent;
  if (length <= most) return tasks;
  return tasks.substr(0, most > 4 ? most - 4 : 0) + "..." + (percent == std::string::npos ? "" : tasks.substr(percent));
}

std::string job_name_text(const wire::JobView& job, std::optional<std::uint32_t> task) {
  if (job.het_job_id() != 0) return std::to_string(job.het_job_id()) + '+' + std::to_string(job.het_job_offset());
  if (job.array_job_id() == 0) return std::to_string(job.job_id());
  const std::string array = std::to_string(job.array_job_id());
  if (task) return array + '_' + std::to_string(*task);
  if (job.has_array_task()) return array + '_' + std::to_string(job.array_task());
  return array + "_[" + array_tasks_text(job) + ']';
}

std::string het_job_ids_text(const wire::JobView& job) {
  return std::to_string(job.het_job_id()) + '-' + std::to_string(job.het_job_id() + job.het_job_size() - 1);
}

bool is_pending(const wire::JobView& job) { return job.state() == wire::PENDING; }

bool is_ended(const wire::JobView& job) {
  return job.state() != wire::PENDING && job.state() != wire::RUNNING && job.state() != wire::SUSPENDED;
}

std::int64_t run_seconds(const wire::JobView& job, std::int64_t now_us) {
  if (is_pending(job) || job.start_at_us() == 0) return 0;
  // What it ran before it was suspended, and since it runs again.
  if (job.state() == wire::SUSPENDED) return job.ran_before_us() / 1'000'000;
  // One that is about to go back to the queue has stopped, and has come to nothing yet.
  const std::int64_t until = is_ended(job) || job.completing() ? job.end_at_us() : now_us;
  if (job.suspend_at_us() != 0) return (until - job.suspend_at_us() + job.ran_before_us()) / 1'000'000;
  return until / 1'000'000 - job.start_at_us() / 1'000'000;
}

std::string sluid_text(const wire::JobView& job) { return sluid_text(std::uint64_t{job.job_key_low()}); }

std::string tres_text(std::uint64_t cpus, std::uint64_t mem_mib, std::uint64_t nodes, const std::string& gres) {
  std::string out = "cpu=" + std::to_string(cpus);
  if (mem_mib != 0) out += ",mem=" + format_mib(mem_mib);
  return out + ",node=" + std::to_string(nodes) + ",billing=" + std::to_string(cpus) + (gres.empty() ? "" : "," + gres);
}

std::string tres_per_task_text(const wire::JobView& job) {
  std::string out = job.cpus_per_task_asked() ? "cpu=" + std::to_string(job.cpus_per_task()) : "";
  if (!job.resources().tres_per_task().empty()) out += (out.empty() ? "" : ",") + job.resources().tres_per_task();
  return out;
}

}  // namespace millrace
