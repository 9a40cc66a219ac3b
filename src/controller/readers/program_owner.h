// src/controller/readers/program_owner.h - whom a program that is run for a job is told about.
#pragma once

#include "agent.pb.h"
#include "core/model/job.h"

namespace millrace {

inline wire::Credential program_owner(const Owner& owner) {
  wire::Credential out;
  out.set_uid(owner.uid.value);
  out.set_gid(owner.gid.value);
  out.set_user_name(owner.user_name);
  return out;
}

}  // namespace millrace
