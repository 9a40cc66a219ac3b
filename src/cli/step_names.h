// src/cli/step_names.h - steps as people write and read them: 12.3, 12_3.0, 12.batch.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "client.pb.h"

namespace millrace {

// Also "12" alone, which means every step of the job; a SLUID for the number of the job. What is said of one that is
// none: told(), in cli/console.
Result<wire::StepName> parse_step_name(std::string_view text);
std::string step_number_text(std::uint32_t step);   // 3, batch
std::string step_text(const wire::StepName& name);  // as it was written
std::string step_text(const wire::StepView& step);  // 12_3.0

}  // namespace millrace
