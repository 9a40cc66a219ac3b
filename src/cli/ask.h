// src/cli/ask.h - one question to the controller with its whole answer, however many messages it comes in.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client.pb.h"
#include "client/session.h"

namespace millrace {

// Parts are merged into one reply; a refusal is an error with Slurm's text (code refused), its notes go to `notes`.
Result<wire::Reply> ask_all(Session& session, wire::Request& request, std::vector<std::string>* notes = nullptr);

}  // namespace millrace
