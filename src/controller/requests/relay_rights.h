// src/controller/requests/relay_rights.h - what is taken from a relay: for whom a machine may speak, by the key it has.
#pragma once

#include <optional>
#include <string>

#include "client.pb.h"
#include "core/ledger/state.h"
#include "wire/node_keys.h"

namespace millrace {

// The kernel of the relay's machine said who asks, and only that machine's key vouches for it: whoever has the key says
// what he likes. So the key of a compute node speaks
// - for users who have a job there, as they could be become there anyway, but with no rights of an operator,
//   administrator or coordinator, and not for tokens, which would outlive the job;
// - for everybody else, and for root, in questions that everybody may ask;
// - for root also about the node itself (UpdateNode) and about single jobs that are there.
// A login machine's key speaks for every user, and for root and SlurmUser only where the key says so.
struct RelayedAsker {
  const KeyName& relay;
  UserId uid;
  bool privileged = false;  // root or SlurmUser
};

// Whether those it speaks for are what sacctmgr made them; else they are plain users.
bool lends_offices(KeyRole role);

// Why a request is not taken; nothing: it is.
std::optional<std::string> relay_refusal(const State& state, const RelayedAsker& asker, const wire::Request& request);

}  // namespace millrace
