// src/core/admission/create_node.h - nodes that are made and deleted while the controller runs.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

Decision decide_create_node(const State& state, const NodeDef& def, const Actor& actor, Time now);
Decision decide_delete_node(const State& state, NodeIndex node, const Actor& actor, Time now);

}  // namespace millrace
