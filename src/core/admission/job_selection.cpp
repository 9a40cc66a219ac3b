// src/core/admission/job_selection.cpp - see job_selection.h.
#include "core/admission/job_selection.h"

#include <algorithm>

#include "base/text.h"

namespace millrace {

std::string shown_name(const State& state, const Job& job) {
  if (job.het) return std::to_string(job.id.value - job.het->offset) + "+" + std::to_string(job.het->offset);
  if (job.array.value == 0) return std::to_string(job.id.value);
  const ArrayState* array = state.find_array(job.array);
  const std::string id = std::to_string(array ? array->id.value : job.id.value);
  if (job.array_task) return id + "_" + std::to_string(*job.array_task);
  return id + "_[" + (array ? format_index_set(array->rest) : "") + "]";
}

std::string shown_name(const JobName& name) {
  return std::to_string(name.id.value) +
         (name.tasks.empty() || name.tasks.starts_with('+') ? name.tasks : "_" + name.tasks);
}

// The leader's number means all of them, another component's own number that one alone.
static std::expected<std::vector<SelectedJob>, Refusal> select_components(const Job& job, const JobName& name) {
  std::vector<SelectedJob> out;
  if (name.tasks.empty()) {
    if (job.is_component()) return std::vector{SelectedJob{job.key, {}, true}};
    for (const JobKey key : whole_of(job)) out.push_back({key, {}, false});
    return out;
  }
  const auto offset =
      name.tasks.starts_with('+') ? parse_integer(std::string_view{name.tasks}.substr(1)) : std::nullopt;
  if (!offset || !job.is_het_leader() || *offset < 0 || *offset >= static_cast<std::int64_t>(job.het->size))
    return refuse(RefusalCode::invalid_job_id);
  out.push_back({JobKey{job.key.value + static_cast<std::uint64_t>(*offset)}, {}, true});
  return out;
}

namespace {

using Selected = std::expected<std::vector<SelectedJob>, Refusal>;

Selected select_tasks(const State& state, const JobName& name, const Job& job, const ArrayState& array,
                      std::uint64_t& looked_at) {
  std::string_view list = name.tasks;
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  // What no array can have is no list: 0-4294967290:2 must not be taken apart for each name of a long request.
  const std::uint32_t highest =
      std::max(state.policy->max_array_size, array.spec.tasks.empty() ? 1 : array.spec.tasks.back() + 1) - 1;
  const auto tasks = parse_index_set(list, highest);
  if (!tasks) return refuse(RefusalCode::invalid_job_id, "not a list of array tasks: " + name.tasks);
  looked_at += tasks->ranges().size();
  std::vector<SelectedJob> out;
  std::uint64_t of_rest = 0;
  for (const auto& range : tasks->ranges()) {
    for (std::uint64_t task = range.first; task <= range.last; ++task) {
      ++looked_at;
      const auto number = static_cast<std::uint32_t>(task);
      if (const JobKey* split = state.tasks.find({job.array, number}))
        out.push_back({*split, {}});
      else if (array.rest.contains(number))
        out.push_back({job.array, number}), ++of_rest;
      else
        return refuse(RefusalCode::invalid_job_id,
                      "job " + std::to_string(name.id.value) + " has no task " + std::to_string(task));
    }
  }
  // All that is left of the rest is the rest itself: it stays one record.
  if (of_rest > 0 && of_rest == array.rest.size()) {
    std::erase_if(out, [](const SelectedJob& one) { return one.task.has_value(); });
    out.insert(out.begin(), {job.array, {}});
  }
  return out;
}

}  // namespace

Selected select_jobs(const State& state, const JobName& name, std::uint64_t& looked_at) {
  looked_at += 1 + name.tasks.size() / 64;
  const Job* job = state.find_job(name.id);
  if (!job) return refuse(RefusalCode::invalid_job_id);
  if (job->het || name.tasks.starts_with('+')) {
    auto out = select_components(*job, name);
    if (out) looked_at += out->size();
    return out;
  }
  const ArrayState* array = state.find_array(job->array);
  const bool names_array = array && array->id == name.id;
  if (!name.tasks.empty()) {
    if (!names_array) return refuse(RefusalCode::invalid_job_id);
    return select_tasks(state, name, *job, *array, looked_at);
  }
  if (!names_array) return std::vector{SelectedJob{job->key, {}}};
  std::vector<SelectedJob> out;
  for (auto it = state.tasks.lower_bound({job->array, 0}); it != state.tasks.end() && (*it).first.array == job->array;
       ++it)
    out.push_back({(*it).second, {}});
  if (!array->rest.empty()) out.push_back({job->array, {}});
  looked_at += out.size();
  return out;
}

Selected select_jobs(const State& state, const JobName& name) {
  std::uint64_t looked_at = 0;
  return select_jobs(state, name, looked_at);
}

Selected JobSelector::select(const State& state, const JobName& name) {
  if (is_exhausted()) return std::unexpected(refusal());
  auto out = select_jobs(state, name, looked_at_);
  if (out) std::erase_if(*out, [&](const SelectedJob& one) { return !given_.insert(one).second; });
  return out;
}

std::optional<JobId> number_of(const State& state, JobKey key) {
  if (const Job* job = state.find_job(key)) return job->id;
  for (const auto& [number, kept] : state.kept)
    if (kept->job->key == key) return kept->job->id;
  return std::nullopt;
}

JobKey split_if_needed(const State& state, const SelectedJob& selected, Time now, std::vector<Event>& events) {
  if (!selected.task) return selected.key;
  const ArrayState& array = *state.arrays.at(selected.key);
  const bool last = array.rest.size() == 1;
  const ArrayTaskSplit split{selected.key, *selected.task, last ? selected.key : state.next_key,
                             last ? array.id : next_job_id(state, state.last_id), now};
  events.emplace_back(split);
  return split.key;
}

bool may_change(const Job& job, const Actor& actor) {
  return actor.is_admin || job.spec->owner->uid == actor.uid ||
         std::ranges::binary_search(actor.accounts, job.spec->account);
}

bool may_act_as_owner(const Job& job, const Actor& actor) {
  return actor.is_super || job.spec->owner->uid == actor.uid;
}

}  // namespace millrace
