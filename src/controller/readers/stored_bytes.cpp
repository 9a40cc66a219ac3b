// src/controller/readers/stored_bytes.cpp - see stored_bytes.h.
#include "controller/readers/stored_bytes.h"

#include <array>

#include "core/model/owned_bytes.h"

namespace millrace {

namespace {

struct Part {
  const void* where;
  std::size_t bytes;
};
// The owner is the same for all jobs of a user.
std::array<Part, 4> parts_of(const JobSpec& spec) {
  const std::size_t texts = spec.name.size() + spec.account.size() + spec.work_dir.size() + spec.std_out.size() +
                            spec.command.size() + spec.submit_line.size();
  return {{{&spec, texts},
           {spec.rare.get(), owned_bytes(spec.rare)},
           {spec.resources.get(), owned_bytes(spec.resources)},
           {spec.extras.get(), owned_bytes(spec.extras)}}};
}

}  // namespace

std::size_t StoredBytes::beyond_ordinary(const JobSpec& spec) {
  std::size_t sum = 0;
  for (const Part& part : parts_of(spec)) sum += beyond_ordinary(part.bytes);
  return sum;
}

void StoredBytes::recovered(const State& state) {
  for (const auto& [key, job] : state.jobs) hold(*job->spec);
}

void StoredBytes::advanced(const Advance& step) {
  for (const JobKey key : step.changes.jobs) {
    const Job* before = step.before.find_job(key);
    const Job* now = step.now.find_job(key);
    if (before && now && before->spec.get() == now->spec.get()) continue;
    if (now) hold(*now->spec);  // first: what both name is not let go of in between
    if (before) release(*before->spec);
  }
}

void StoredBytes::hold(const JobSpec& spec) {
  for (const Part& part : parts_of(spec)) {
    const std::size_t bytes = beyond_ordinary(part.bytes);
    if (bytes == 0) continue;
    Stored& stored = large_[part.where];
    if (++stored.holders > 1) continue;
    stored.user = spec.owner->uid;
    stored.bytes = bytes;
    of_user_[stored.user] += bytes;
    all_ += bytes;
  }
}

void StoredBytes::release(const JobSpec& spec) {
  for (const Part& part : parts_of(spec)) {
    const auto known = large_.find(part.where);
    if (beyond_ordinary(part.bytes) == 0 || known == large_.end() || --known->second.holders > 0) continue;
    const auto user = of_user_.find(known->second.user);
    user->second -= known->second.bytes;
    if (user->second == 0) of_user_.erase(user);
    all_ -= known->second.bytes;
    large_.erase(known);
  }
}

std::optional<std::string> StoredBytes::refusal(UserId user, std::size_t more) const {
  if (more == 0) return std::nullopt;
  const auto own = of_user_.find(user);
  const auto in_mib = [](std::size_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; };
  if ((own == of_user_.end() ? 0 : own->second) + more > of_user_max)
    return "the arguments and lists of your jobs would take more than " + in_mib(of_user_max) +
           " of the controller's memory; jobs that ended count until they are forgotten (MinJobAge)";
  if (all_ + more > of_all_max)
    return "the arguments and lists of all jobs would take more than " + in_mib(of_all_max) +
           " of the controller's memory; try again later";
  return std::nullopt;
}

}  // namespace millrace
