// src/wire/log_words.h - the values of enumerations in events, as words of a line of `millrace log dump`.
#pragma once

#include <string_view>

#include "core/ledger/event.h"

namespace millrace {

// The name of the value in its enumeration; "?" where it has none.
std::string_view log_word(Availability value);
std::string_view log_word(CpuSharing value);
std::string_view log_word(KeepPartitions value);
std::string_view log_word(CpuUnit value);
std::string_view log_word(DependencyKind value);
std::string_view log_word(DependencyState value);
std::string_view log_word(JobProgram value);
std::string_view log_word(SuspendWhy value);
std::string_view log_word(Hold value);
std::string_view log_word(Outcome value);
std::string_view log_word(PreemptType value);
std::string_view log_word(PreemptMode value);
std::string_view log_word(QosPreemptMode value);
std::string_view log_word(AdminLevel value);
std::string_view log_word(ResetPeriod value);
std::string_view log_word(NodeKind value);
std::string_view log_word(AfterReboot value);
std::string_view log_word(GresScope value);
std::string_view log_word(TriggerEvent value);
std::string_view log_word(AttemptEnd value);
std::string_view log_word(NodeOrder value);
std::string_view log_word(PowerChange value);
std::string_view log_word(Reason value);
std::string_view log_word(Schedule value);

}  // namespace millrace
