// src/controller/loop/node_life.h - what a launch is good for: the boot of its node and, where the node said it, the
// spool.
#pragma once

#include <string>

#include "core/model/node.h"

namespace millrace {

// As the credential of a launch names it. It is what the ledger knows: a node that has booted or lost its spool since
// then does not obey.
inline std::string life_of(const Node& node) {
  return node.spool_id.empty() ? node.boot_id : node.boot_id + "/" + node.spool_id;
}

}  // namespace millrace
