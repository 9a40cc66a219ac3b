// tests/fuzz/fuzz_slurm_conf.cpp - slurm.conf as daemons, commands and scontrol read it.
#include "config/slurm_conf.h"

#include "base/text.h"
#include "config/client_settings.h"
#include "config/keys.h"
#include "controller/loop/config_facts.h"
#include "target.h"

using namespace millrace;

// Every key once, with what it is where nothing is said: ten to an input, behind a cluster that can be read.
FUZZ_SEEDS(slurm_conf) {
  const std::string site = "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL\n";
  std::vector<std::string> out{site};
  std::size_t keys = 0;
  for (const ConfigKey& key : config_keys()) {
    if (++keys % 10 == 0) out.push_back(site);
    out.back() += std::string{key.name} + "=" + (key.fallback.empty() ? "1" : std::string{key.fallback}) + "\n";
  }
  return out;
}

FUZZ_TEXT(slurm_conf) {
  const ConfigurationReport report = parse_configuration_text(input, "/fuzz/slurm.conf");
  // Left out: files that it includes, which would be read from the machine that fuzzes.
  if (lower(input).find("include") == std::string::npos)
    fuzz::use(parse_client_settings(std::string{input}, "/fuzz/slurm.conf"));
  if (report.errors.empty()) fuzz::use(to_facts(report.configuration, [](const std::string&) { return std::nullopt; }));
}
