// src/core/admission/reserve.h - keep nodes for some people during some time: made, changed and taken back by
// administrators.
#pragma once

#include <optional>
#include <string>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// What was asked, as texts of scontrol; what is not set stays as it is, or gets its default.
struct Reserve {
  std::string name;  // empty on creation: made from the asker's name
  std::string asker;
  std::optional<Time> start, end;
  std::optional<Duration> duration;
  std::optional<std::string> nodes, partition, users, accounts, groups, flags, features, comment, licences;
  std::optional<std::uint32_t> node_count;
  std::optional<std::uint32_t> max_start_delay_seconds{};
  char nodes_op = '=', users_op = '=', accounts_op = '=', groups_op = '=',
       flags_op = '=';  // '+' and '-': to what it has, or from it
  std::int32_t node_count_change = 0;
  Duration start_change{}, end_change{}, duration_change{};
  bool skip = false;  // this turn of one that comes again
};

struct Reserved {
  std::string name;
  std::vector<Event> events;
};

std::expected<Reserved, Refusal> decide_reserve(const State& state, const Reserve& ask, const Actor& actor, Time now);
std::expected<Reserved, Refusal> decide_change_reservation(const State& state, const Reserve& ask, const Actor& actor,
                                                           Time now);
Decision decide_remove_reservation(const State& state, const std::string& name, const Actor& actor, Time now);

// Its time is over, or nobody has used it for long enough, or its start has come.
std::vector<Event> decide_reservation_due(const State& state, ReservationId id, Time now);

// REPLACE_DOWN and REPLACE: other nodes for those that are out of order, or in use.
std::vector<Event> decide_replacements(const State& state, Time now);

// May a job of this owner name this reservation?
std::expected<void, Refusal> check_reservation(const State& state, const JobSpec& spec);

}  // namespace millrace
