// src/cli/render/diagnostics_text.h - what sdiag prints; exporters look for its labels letter by letter.
#pragma once

#include <string>

#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

enum class CallOrder : std::uint8_t { count, number, total_time, average_time };

std::string diagnostics_text(const wire::Diagnostics& from, CallOrder order, Names& names);

// As sacctmgr show stats has it: nothing is rolled up, and requests are those of the controller.
std::string accounting_statistics(const wire::Diagnostics& from, Names& names);

// As the controller calls him, or this host.
inline std::string user_of(const wire::Diagnostics::Calls& calls, Names& names) {
  return calls.name().empty() ? names.user(calls.number()) : calls.name();
}

}  // namespace millrace
