// src/cli/render/job_words.h - what a job is called: its state, its id in an array, its reason, its times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client.pb.h"

namespace millrace {

std::string_view state_word(const wire::JobView& job);     // PENDING, COMPLETING, REQUEUE_HOLD ...
std::string_view state_compact(const wire::JobView& job);  // PD, CG, RH ...

// One state a user may name; `matches` decides whether a job is in it.
struct StateFilter {
  std::uint8_t code;  // of JobStateName, or one of the flags below
};
constexpr std::uint8_t completing_code = 100, requeue_hold_code = 101, never_code = 102, configuring_code = 103,
                       special_exit_code = 104;
std::optional<StateFilter> parse_state(std::string_view word);
bool matches(StateFilter filter, const wire::JobView& job);
bool is_of_placed(StateFilter filter);  // only jobs that hold nodes can be in it
bool is_of_live(StateFilter filter);    // only jobs that have not ended
std::string known_states();             // for the message about an unknown one
std::string state_list();               // one on a line, as --helpstate prints them

std::string job_name_text(const wire::JobView& job, std::optional<std::uint32_t> task);  // 12, 12_3, 12_[1-3%2], 12+0
std::string het_job_ids_text(const wire::JobView& job);                                  // 12-14, of a component
std::string array_tasks_text(const wire::JobView& job);  // cut to SLURM_BITSTR_LEN as Slurm does
bool is_pending(const wire::JobView& job);
bool is_ended(const wire::JobView& job);
std::int64_t run_seconds(const wire::JobView& job, std::int64_t now_us);
std::string sluid_text(const wire::JobView& job);
// cpu=4,mem=200M,node=2,billing=4,gres/gpu=2
std::string tres_text(std::uint64_t cpus, std::uint64_t mem_mib, std::uint64_t nodes, const std::string& gres = {});
// cpu=2,gres/gpu:1 of each task; empty: nothing was said
std::string tres_per_task_text(const wire::JobView& job);

}  // namespace millrace
