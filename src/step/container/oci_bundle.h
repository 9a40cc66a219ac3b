// src/step/container/oci_bundle.h - a task in an OCI bundle: the bundle's config.json with the task's program,
// environment and identity in it, and the runtime that runs it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

struct BundleTask {
  std::string bundle;     // the folder the user named
  std::string directory;  // the task's own, the user's: its config.json and the runtime's state lie here
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=value
  std::vector<std::string> devices;      // files to be had inside too
  std::string script;    // of a batch job: a file of the host that is shown inside under the same name; empty: none
  std::string work_dir;  // used inside when the bundle names none
  unsigned uid = 0, gid = 0;
  bool root_inside = false;  // the runtime wants the user to be called root inside; outside he is himself all the same
};

// The task's config.json, made from the bundle's.
Result<std::string> task_config(const std::string& bundle_config, const BundleTask& task);

// crun or runc, in the places where systems have them; empty: neither is there. On machines with cgroups of both
// versions, where crun refuses to work, runc first.
std::string find_container_runtime();

// Runs in the task's process, as its user, and becomes the runtime; returns only to say what went wrong.
Result<void> become_container(const BundleTask& task, const std::string& runtime);

}  // namespace millrace
