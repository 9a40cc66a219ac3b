// tests/fuzz/fuzz_slurm_conf.cpp - slurm.conf as daemons, commands and scontrol read it.
#include "config/slurm_conf.h"

#include "base/text.h"
#include "config/client_settings.h"
#include "controller/config_facts.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(slurm_conf) {
  const ConfigurationReport report = parse_configuration_text(input, "/fuzz/slurm.conf");
  // Left out: files that it includes, which would be read from the machine that fuzzes.
  if (lower(input).find("include") == std::string::npos)
    fuzz::use(parse_client_settings(std::string{input}, "/fuzz/slurm.conf"));
  if (report.errors.empty()) fuzz::use(to_facts(report.configuration, [](const std::string&) { return std::nullopt; }));
}
