// src/cli/step_names.h - steps as people write and read them: 12.3, 12_3.0, 12.batch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace.pb.h"

namespace millrace {

// Also "12" alone, which means every step of the job. Empty: it is no such name.
std::optional<wire::StepName> parse_step_name(std::string_view text);
std::string step_number_text(std::uint32_t step);            // 3, batch
std::string step_text(const wire::StepName& name);           // as it was written
std::string step_text(const wire::StepView& step);           // 12_3.0

}  // namespace millrace
