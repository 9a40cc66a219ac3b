// src/wire/limits.h - how large the parts of a job or step may be, and that what is accepted fits every frame it
// travels in later: one table.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "job.pb.h"
#include "wire/frame.h"

namespace millrace {

// What a user may send. It is checked where a request is accepted, by check_sizes(), and nowhere later: who has a job's
// number has a job that can be launched, signalled and ended.
//
//   part of a request                         at most
//   environment and arguments, together       6 MiB     execve() takes no more on any Linux
//   script                                    14 MiB    max_script_size is 4 MiB unless the site says otherwise
//   everything else in the description        5 MiB     a file of srun --multi-prog has 4 MiB
constexpr std::size_t launch_text_max = 6u << 20;
constexpr std::size_t script_size_ceiling = 14u << 20;
constexpr std::size_t description_size_max = 5u << 20;

// What is added on its way to a node: the names of all nodes, CPUs and ranks by node, groups of the user, devices,
// isolation, the envelopes.
constexpr std::size_t launch_overhead_max = 24u << 20;

//   connection                                largest frame
//   client to controller or relay             request_size_max
//   controller to client                      reply_size_max
//   controller and agent, both ways           agent_frame_max       relayed requests and replies, launches of steps
//   agent and supervisor, both ways           supervisor_frame_max  launches, requests for steps
//   supervisor and srun, both ways            request_size_max      pieces of streams and of MPI exchanges
constexpr std::size_t agent_frame_max = reply_size_max;
constexpr std::size_t supervisor_frame_max = reply_size_max;

constexpr std::size_t envelope_max = 64u << 10;  // around a message that is passed on
static_assert(launch_text_max + description_size_max + envelope_max <= request_size_max, "a step fits its request");
static_assert(script_size_ceiling + envelope_max <= request_size_max, "the largest script fits a request");
static_assert(request_size_max + envelope_max <= agent_frame_max, "a relay passes on any request");
static_assert(request_size_max + launch_overhead_max <= agent_frame_max, "a launch of any request fits");
static_assert(request_size_max + launch_overhead_max <= supervisor_frame_max, "... also to its supervisor and back");
static_assert(reply_size_max <= agent_frame_max, "a relay passes on any reply");

// Of standard input in a frame of srun's: its node has it in memory until the tasks take it.
constexpr std::size_t input_piece_max = 1u << 20;

// Launches of a step to many nodes leave their supervisor in bursts of this: with what else is on its way it stays far
// below what a link keeps for a slow reader.
constexpr std::size_t launch_burst_max = 32u << 20;
static_assert(launch_burst_max < 2 * reply_size_max);

// What waits for one step manager, at each place where it may have to: requests for steps come as fast as
// their user likes. What is beyond is to come again.
constexpr std::size_t step_manager_backlog_max = 64u << 20;
constexpr std::size_t step_manager_backlog_count_max = 4096;
static_assert(2 * request_size_max <= step_manager_backlog_max, "two requests of any size may wait");

// What is too large, in words for its user.
Result<void> check_sizes(const wire::JobDescription& job, std::string_view environment, std::string_view script);

}  // namespace millrace
