// src/sim/sim_crontab.h - a user of a simulated cluster with a crontab: changes it now and then, and remembers what was
// acknowledged and when its jobs came again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/prng.h"
#include "client.pb.h"
#include "core/ledger/state.h"

namespace millrace {

class SimCrontab {
 public:
  static constexpr std::uint64_t client = 2'000'000;
  static constexpr UserId user{3000};

  bool waits_for_answer() const { return !asked_.empty(); }
  bool asked(std::uint64_t number) const { return asked_.contains(number); }
  // Another crontab; an empty one takes it away for good.
  wire::Request next(Prng& random, std::uint64_t number, bool take_away);
  // Words when the answer contradicts what is durable.
  std::optional<std::string> hear(const wire::Reply& answer, const State& durable);
  void answers_are_lost() { asked_.clear(); }
  bool is_gone() const { return gone_; }
  std::uint64_t returns() const { return returns_; }  // so many times a job that had ended came again

  // At every durable version: a crontab that was acknowledged, or one asked for since, with a job for each entry, each
  // of which waits for a later time than its end.
  std::optional<std::string> wrong_in(const State& durable);
  // When all is well: no job was forgotten.
  std::optional<std::string> lost_in(const State& durable, Time now) const;

 private:
  struct Last {
    Attempt attempt;
    Time ended_at;  // set: it was seen ended
  };
  std::map<std::string, std::size_t> possible_{
      {"", 0}};                                 // texts that may be the present one, with their numbers of entries
  std::map<std::uint64_t, std::string> asked_;  // requests under way
  std::map<JobKey, Last> last_;
  std::uint64_t texts_ = 0, returns_ = 0;
  bool gone_ = false;
};

}  // namespace millrace
