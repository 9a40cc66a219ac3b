// src/cli/scontrol_update.cpp - scontrol update: which kind of thing is meant, and steps; see scontrol_update.h.
#include "cli/scontrol_update.h"

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_values.h"
#include "cli/step_names.h"
#include "config/entity_lines.h"

namespace millrace {

using Text = std::string_view;

bool is_update_key(Text word, Text key, std::size_t letters) {
  return word.size() >= std::min(letters, key.size()) && word.size() <= key.size() &&
         equals_ignoring_case(key.substr(0, word.size()), word);
}

std::unexpected<Error> bad_update_value(Text key, Text value) {
  return fail(Errc::invalid, "Invalid " + std::string{key} + " value: " + std::string{value});
}

Result<std::uint32_t> update_number(Text key, Text value) {
  const auto parsed = parse_integer(value);
  if (!parsed || *parsed < 0 || *parsed >= UINT32_MAX) return bad_update_value(key, value);
  return static_cast<std::uint32_t>(*parsed);
}

int refuse_update_word(Text word) {
  say_plain("Invalid input: " + std::string{word} + "  Request aborted");
  return 1;
}

int refuse_update_key(Text key, Text value) {
  say_plain("Update of this parameter is not supported: " + std::string{key} + "=" + std::string{value});
  say_plain("Request aborted");
  return 1;
}

int send_update(Scontrol& self, wire::Request& request) {
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("slurm_update error: " + reply.error().story);
  return 1;
}

namespace {

// TimeLimit+=10 is TimeLimit=+10. `apart`: a value may also be the next word, "job 12"; only Nice and ResetAccrueTime
// stand alone.
std::vector<UpdatePair> pairs_of(const Words& words, bool apart) {
  std::vector<UpdatePair> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Text word = words[i];
    const std::size_t equals = word.find('=');
    UpdatePair pair{std::string{word.substr(0, equals)},
                    equals == Text::npos ? std::string{} : std::string{word.substr(equals + 1)}, equals != Text::npos};
    if (!pair.has_value && apart && i + 1 < words.size() && !is_update_key(word, "Nice", 2) &&
        !is_update_key(word, "ResetAccrueTime", 5))
      pair.value = words[++i], pair.has_value = true;
    if (!pair.key.empty() && (pair.key.back() == '+' || pair.key.back() == '-')) {
      pair.op = pair.key.back();
      pair.key.pop_back();
    }
    out.push_back(std::move(pair));
  }
  return out;
}

// TimeLimit is all that can be changed of a step.
int update_step(Scontrol& self, const std::vector<UpdatePair>& pairs, Text id) {
  const auto name = parse_step_name(id);
  if (!name)
    return say_plain(told(name.error(), "Invalid job step id: " + std::string{id} + "; it is JOB.STEP, as in 12.0")), 1;
  if (!name->has_step())
    return say_plain("Invalid job step id: " + std::string{id} + "; it is JOB.STEP, as in 12.0"), 1;
  wire::Request request;
  wire::UpdateStep* update = request.mutable_update_step();
  *update->mutable_step() = *name;
  bool said = false;
  for (const UpdatePair& pair : pairs) {
    if (is_update_key(pair.key, "StepId", 4)) continue;
    if (!equals_ignoring_case(pair.key, "TimeLimit")) {
      say_plain("Update of this parameter is not supported: " + pair.key + "=" + pair.value +
                "; of a step TimeLimit can be changed");
      return 1;
    }
    const auto minutes = parse_limit_minutes(pair.value);
    if (!minutes) return say_plain("Invalid TimeLimit value"), 1;
    update->set_time_limit_minutes(*minutes == UINT32_MAX ? 0 : *minutes);
    said = true;
  }
  if (!said) return say_plain("No changes specified"), 1;
  return send_update(self, request);
}

}  // namespace

int scontrol_update(Scontrol& self, const Words& words) {
  const auto apart = pairs_of(words, true);
  for (const UpdatePair& pair : apart)  // may name a reservation and a partition too
    if (is_update_key(pair.key, "JobId")) return update_job(self, apart, pair.value);
  const auto pairs = pairs_of(words, false);
  for (const UpdatePair& pair : pairs)  // may name a partition too
    if (is_update_key(pair.key, "ReservationName")) return scontrol_reserve(self, words, true);
  for (const UpdatePair& pair : pairs) {
    if (is_update_key(pair.key, "NodeName")) return update_node(self, pairs, pair.value);
    if (equals_ignoring_case(pair.key, "PartitionName")) return scontrol_set_partition(self, words, false);
    if (is_update_key(pair.key, "StepId", 4)) return update_step(self, pairs, pair.value);
    if (equals_ignoring_case(pair.key, "SlurmctldDebug")) return scontrol_set_log_level(self, {pair.value});
    for (const Text other : {"HetJobId", "SuspendExcNodes", "SuspendExcParts"})
      if (equals_ignoring_case(other, pair.key)) return scontrol_refuse(self, "update " + std::string{other} + "=");
  }
  for (const UpdatePair& pair : apart)
    if (is_update_key(pair.key, "JobName", 4) || equals_ignoring_case(pair.key, "Name"))
      return update_jobs_of_name(self, apart);
  for (const UpdatePair& pair : pairs)  // "partition=" says where a job shall be, and otherwise of whom it speaks
    if (pair.key.size() >= 3 && equals_ignoring_case(Text{"PartitionName"}.substr(0, pair.key.size()), pair.key))
      return scontrol_set_partition(self, words, false);
  if (words.empty()) return say_plain("too few arguments for update keyword"), 1;
  say_plain("No valid entity in update command");
  say_plain(
      "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"");
  return 1;
}

std::vector<EntityKeys> scontrol_update_keys() {
  std::vector<EntityKeys> out{{"JobId", job_update_keys()},
                              {"NodeName", node_update_keys()},
                              {"PartitionName", {}},
                              {"ReservationName", scontrol_reservation_keys()}};
  for (const PartitionKeyRow& key : partition_keys())
    if (key.built && !equals_ignoring_case(key.name, "PartitionName")) out[2].keys.push_back(key.name);
  return out;
}

}  // namespace millrace
