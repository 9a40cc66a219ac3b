// src/core/ledger/sharing.h - whose jobs may stand side by side on a node.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// False: the job, or one that is there, shares nodes only with jobs of its own user (--exclusive=user), and there is
// one of another.
bool admits_owner(const State& state, const Node& node, const JobSpec& spec);

}  // namespace millrace
