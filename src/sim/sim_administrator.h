// src/sim/sim_administrator.h - an administrator of a simulated cluster: makes and removes reservations and partitions,
// changes accounts, and remembers what was acknowledged.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/prng.h"
#include "client.pb.h"
#include "core/ledger/state.h"

namespace millrace {

class SimAdministrator {
 public:
  static constexpr std::uint64_t client = 1'000'000;

  // The next thing to ask for; nothing where there is nothing to do. `number` names the request from then on.
  std::optional<wire::Request> next_wish(Prng& random, std::uint64_t number, std::uint32_t nodes, Time now);
  // Takes the answer to one of its requests; words when it contradicts what is durable.
  std::optional<std::string> hear(const wire::Reply& answer, const State& durable);
  bool asked(std::uint64_t number) const { return asked_.contains(number); }
  void answers_are_lost();
  // Words when something that was acknowledged is not there.
  std::optional<std::string> missing_in(const State& durable, Time now) const;

 private:
  struct Kept {
    Time end;
    std::uint32_t node = 0;
    bool sure = false;     // acknowledged, and no removal is under way
    bool leaving = false;  // its removal was asked for, perhaps before its making was acknowledged
  };
  struct KeptPartition {
    std::uint32_t tier = 0;
    bool sure = false;  // acknowledged, and nothing else about it is under way
    bool leaving = false;
    std::uint32_t under_way = 0;
  };
  wire::Request change_partition(Prng& random, std::string& about);
  std::optional<std::string> hear_partition(const std::string& about, const wire::Reply& answer, const State& durable);
  wire::Request reserve(Prng& random, std::uint32_t nodes, Time now);

  std::map<std::string, Kept> reservations_;
  std::map<std::string, KeptPartition> partitions_;
  std::map<std::uint64_t, std::string>
      asked_;  // request to the reservation or partition it is about ("-": its deletion); empty: about accounts
  std::uint64_t names_ = 0;
  bool has_account_ = false, has_user_ = false;
};

}  // namespace millrace
