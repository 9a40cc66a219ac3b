// src/step/launch/receive_file.h - sbcast's file arriving on a node, in a process that is already the user's.
#pragma once

#include "job.pb.h"

namespace millrace {

// Reads the file from standard input and puts it into its place whole or not at all; exit code. Problems go to standard
// error.
int receive_file(const wire::ReceivedFile& file, const std::string& node);

}  // namespace millrace
