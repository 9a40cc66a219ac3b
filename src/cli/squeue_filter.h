// src/cli/squeue_filter.h - which jobs squeue shows: what its options say about states, people, places and times.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/render/job_words.h"
#include "client.pb.h"

namespace millrace {

// As they were given; empty: not asked about.
struct JobFilterWords {
  std::optional<std::string> users{}, states{}, partitions{}, names{}, nodes{}, accounts{}, qos{}, licences{},
      reservations{};
  std::optional<std::int64_t> running_over_seconds{}, running_under_seconds{};
  bool me = false, not_me = false, waiting_only = false;
};

using NameSet = std::set<std::string, std::less<>>;

// What a job must be to be shown.
struct JobFilter {
  std::vector<StateFilter> states;
  bool all_states = false;
  std::set<std::uint32_t> users;
  std::vector<std::string> unknown_users;  // asked for too; said, and no reason to fail
  std::optional<std::uint32_t> not_user;
  NameSet partitions, names, nodes, accounts, qos, licences, reservations;
  std::optional<std::int64_t> running_over_seconds, running_under_seconds;

  bool operator()(const wire::JobView& job, std::int64_t now_us) const;
  // Whether it asks about anything that a brief answer does not have.
  bool needs_details() const { return !accounts.empty() || !qos.empty() || !licences.empty() || !reservations.empty(); }

 private:
  bool state_matches(const wire::JobView& job) const;
  bool node_matches(const wire::JobView& job) const;
  bool partition_matches(const wire::JobView& job) const;
};

Result<JobFilter> make_job_filter(const JobFilterWords& words);

}  // namespace millrace
