// src/cli/ask.h - one question to the controller with its whole answer, however many messages it comes in.
#pragma once

#include "base/result.h"
#include "client/session.h"
#include "millrace.pb.h"

namespace millrace {

// Parts are merged into one reply; a refusal is an error with Slurm's text (code refused).
Result<wire::Reply> ask_all(Session& session, wire::Request& request);

}  // namespace millrace
