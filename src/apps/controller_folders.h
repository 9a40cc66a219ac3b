// src/apps/controller_folders.h - what the controller finds and makes on its machine before it serves: folders of the
// state and of the socket, the cluster's key.
#pragma once

#include <string>

#include "base/result.h"
#include "config/configuration.h"
#include "core/ledger/state.h"
#include "platform/daemon.h"
#include "wire/credential.h"

namespace millrace {

// It belongs to the user the controller is going to be.
Result<void> make_state_folder(const Configuration& configuration);
// As that user. Whose state it is, is written there at the first start. That of another cluster is not taken over.
Result<void> open_state_folder(const Configuration& configuration);
Result<void> move_aside(const std::string& directory);

// As root, for the user the controller is going to be.
Result<void> give_socket_folder(const Configuration& configuration, const LocalUser& user);
// Only root makes folders below /run: what another user lacks there is said at once, with what would be right.
Result<void> check_socket_folder(const Configuration& configuration);

// Made where there is none. A log that is there is of a cluster that had one: then only the administrator makes
// another.
Result<KeyFile> find_cluster_key(const Configuration& configuration, const State& recovered);

}  // namespace millrace
