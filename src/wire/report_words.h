// src/wire/report_words.h - words in the reports of nodes that the controller acts on.
#pragma once

namespace millrace {

// The problem of an attempt that was told to end and does not: the node is drained.
constexpr const char* kill_failed = "Kill task failed";

}  // namespace millrace
