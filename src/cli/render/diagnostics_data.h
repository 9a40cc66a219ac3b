// src/cli/render/diagnostics_data.h - what sdiag --json and --yaml print.
#pragma once

#include "cli/render/data_tree.h"
#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

Data diagnostics_data(const wire::Diagnostics& from, Names& names);

}  // namespace millrace
