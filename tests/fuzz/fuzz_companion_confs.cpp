// tests/fuzz/fuzz_companion_confs.cpp - the files beside slurm.conf: gres, topology, cgroup, job_container, plugstack.
#include "base/text.h"
#include "config/plugstack_conf.h"
#include "config/slurm_conf.h"
#include "target.h"

using namespace millrace;

namespace {

constexpr const char* site =
    "ClusterName=c\nSlurmctldHost=h\nGresTypes=gpu,nic,shard,mps\nTopologyPlugin=topology/tree\n"
    "NodeName=n[1-4] CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=1000 Gres=gpu:a100:4,nic:2,shard:8\n"
    "NodeName=m[1-4] CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n";

void with_site(const CompanionLines& companions, std::string text = site) {
  fuzz::use(parse_configuration(split_conf_text(text, "/fuzz/slurm.conf"), "/fuzz/slurm.conf", companions));
}

}  // namespace

FUZZ_TEXT(gres_conf) { with_site({.gres = split_conf_text(input, "/fuzz/gres.conf"), .topology = {}}); }

FUZZ_TEXT(topology_conf) {
  const auto lines = split_conf_text(input, "/fuzz/topology.conf");
  with_site({.gres = {}, .topology = lines});
  std::string blocks = site;
  blocks.replace(blocks.find("topology/tree"), 13, "topology/block");
  with_site({.gres = {}, .topology = lines}, blocks);
}

FUZZ_TEXT(cgroup_conf) {
  with_site({.gres = {}, .topology = {}, .cgroup = split_conf_text(input, "/fuzz/cgroup.conf")});
}

FUZZ_TEXT(job_container_conf) {
  with_site({.gres = {}, .topology = {}, .container = split_conf_text(input, "/fuzz/job_container.conf")});
}

FUZZ_TEXT(plugstack_conf) {
  // Left out: files that it includes, which would be read from the machine that fuzzes.
  if (lower(input).find("include") != std::string::npos) return;
  with_site({.gres = {}, .topology = {}, .plugins = parse_plugstack(input, "/fuzz/plugstack.conf")});
}
