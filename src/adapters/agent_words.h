// src/adapters/agent_words.h - what an agent says, as the controller reads it.
#pragma once

#include <string>
#include <vector>

#include "agent.pb.h"
#include "ports/resource_manager.h"

namespace millrace {

// Each attempt and step once.
std::vector<AttemptReport> reports_of(const google::protobuf::RepeatedPtrField<wire::AttemptStatus>& attempts);
NodeRegistration registration_of(const wire::AgentHello& hello, const std::string& node);

}  // namespace millrace
