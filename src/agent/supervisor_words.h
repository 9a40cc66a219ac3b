// src/agent/supervisor_words.h - what supervisors say to their agent, out of the bytes as they come.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent.pb.h"
#include "agent/spool_directory.h"
#include "wire/frame.h"

namespace millrace {

struct SupervisorWords {
  std::optional<wire::AttemptStatus> status;  // the latest
  std::vector<wire::StepFromNode> steps;
  std::vector<wire::StepSample> samples;
  std::vector<wire::LogLine> lines;
};

// What the supervisor of `name` has said with these bytes and those before them; what it says of others is left out.
// Nothing: these are no messages, and the connection is of no use.
std::optional<SupervisorWords> hear_supervisor(FrameReader& reader, AttemptName name, std::string_view bytes);

}  // namespace millrace
