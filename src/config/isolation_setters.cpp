// src/config/isolation_setters.cpp - the keys of slurm.conf that say how tasks are bound and kept apart (see
// key_setters.h).
#include "base/text.h"
#include "config/key_setters.h"
#include "config/key_words.h"

namespace millrace::setter {

Result<void> proctrack_type(Configuration& c, std::string_view value) {
  for (const std::string_view known : {"proctrack/cgroup", "proctrack/linuxproc", "proctrack/pgid"})
    if (equals_ignoring_case(value, known)) {
      c.isolation.track_by_cgroup = known == "proctrack/cgroup";
      return {};
    }
  return fail(Errc::invalid,
              "'" + std::string{value} + "' is not proctrack/cgroup, proctrack/linuxproc or proctrack/pgid");
}

Result<void> task_plugin(Configuration& c, std::string_view value) {
  bool cgroup = false, affinity = false;
  for (const std::string_view part : split(value, ',')) {
    const std::string word = lower(trim(part));
    if (word == "task/cgroup" || word == "cgroup")
      cgroup = true;
    else if (word == "task/affinity" || word == "affinity")
      affinity = true;
    else if (word != "task/none" && word != "none")
      return fail(Errc::invalid, "'" + word + "' is not task/affinity, task/cgroup or task/none");
  }
  c.isolation.task_cgroup = cgroup;
  c.isolation.task_affinity = affinity;
  return {};
}

// What binds when srun says nothing; the words are those of --cpu-bind.
Result<void> task_plugin_param(Configuration& c, std::string_view value) {
  std::string type, verbose;
  for (const std::string_view part : split(value, ',')) {
    const std::string word = lower(trim(part));
    if (word == "verbose")
      verbose = "verbose";
    else if (word == "none" || word == "cores" || word == "sockets" || word == "threads")
      type = word;
    else if (word.starts_with("autobind=") && (word.ends_with("=none") || word.ends_with("=cores") ||
                                               word.ends_with("=sockets") || word.ends_with("=threads"))) {
      if (type.empty()) type = word.substr(9);
    } else if (effect_of_word(*find_key_words("TaskPluginParam"), word) != WordEffect::not_built) {
      return fail(Errc::invalid, "'" + word + "' is not none, cores, sockets, threads, verbose or autobind=TYPE");
    }
  }
  c.isolation.default_bind = verbose.empty() ? type : type.empty() ? verbose : verbose + "," + type;
  return {};
}

Result<void> namespace_type(Configuration& c, std::string_view value) {
  const std::string word = lower(value);
  if (word == "job_container/tmpfs" || word == "namespace/tmpfs")
    c.isolation.private_folders = true;
  else if (word == "namespace/linux" || word == "job_container/cncu")
    c.not_built.push_back({"NamespaceType=" + word, "", 0, "not built yet"});
  else if (word == "job_container/none" || word == "none" || word == "namespace/none")
    c.isolation.private_folders = false;
  else
    return fail(Errc::invalid, "'" + std::string{value} + "' is not job_container/tmpfs or namespace/tmpfs");
  return {};
}

// Where the numbers come from is the same for both: /proc.
Result<void> measure_type(Configuration& c, std::string_view value) {
  for (const std::string_view known : {"jobacct_gather/none", "jobacct_gather/linux", "jobacct_gather/cgroup"})
    if (equals_ignoring_case(value, known)) {
      c.measure_tasks = known != "jobacct_gather/none";
      return {};
    }
  return fail(Errc::invalid,
              "'" + std::string{value} + "' is not jobacct_gather/none, jobacct_gather/linux or jobacct_gather/cgroup");
}

Result<void> measure_frequency(Configuration& c, std::string_view value) {
  for (std::string_view part : split(value, ',')) {
    part = trim(part);
    const std::size_t equals = part.find('=');
    const std::string what = lower(part.substr(0, equals == std::string_view::npos ? 0 : equals));
    const auto number = parse_integer(equals == std::string_view::npos ? part : part.substr(equals + 1));
    if (!number || *number < 0 || *number > 86'400)
      return fail(Errc::invalid, "'" + std::string{part} + "' is not a number of seconds, as in 30 or task=30");
    if (what == "energy" || what == "network" || what == "filesystem") {
      if (*number != 0)
        c.not_built.push_back({"JobAcctGatherFrequency=" + std::string{part}, "", 0, what + " is not measured yet"});
      continue;
    }
    if (!what.empty() && what != "task")
      return fail(Errc::invalid, "'" + what + "' is not task, energy, network or filesystem");
    c.measure_every_seconds = static_cast<std::uint32_t>(*number);
  }
  return {};
}

}  // namespace millrace::setter
