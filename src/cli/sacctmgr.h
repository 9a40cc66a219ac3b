// src/cli/sacctmgr.h - what the parts of sacctmgr share.
#pragma once

#include "cli/commands.h"
#include "cli/render/field_table.h"

namespace millrace {

struct SacctmgrOptions {
  Asked asked;
  TableStyle style;
  bool immediate = false, quiet = false, readonly = false, associations = false;
};

struct Sacctmgr {
  const Command& command;
  const SacctmgrOptions& options;
  Session& session;
};

// show account|user|association|qos|tres|configuration [where] [key=value] [format=...] [withassoc]
int sacctmgr_show(Sacctmgr& self, std::span<const std::string_view> words);

}  // namespace millrace
