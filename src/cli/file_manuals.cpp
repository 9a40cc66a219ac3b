// src/cli/file_manuals.cpp - see file_manuals.h.
#include "cli/file_manuals.h"

#include "cli/options/manual.h"
#include "cli/render/text_forms.h"
#include "config/keys.h"

namespace millrace {
namespace {

struct FileText {
  std::string_view name, summary, description;
};

constexpr FileText files[] = {
    {"slurm.conf", "the configuration of a cluster",
     "One key on a line, as Key=value; # begins a comment, a backslash at the end joins the next line, Include names "
     "another file. Keys are known in any case. "
     "NodeName and PartitionName lines describe nodes and partitions, with hostlists as n[1-4]; NodeName=DEFAULT and "
     "PartitionName=DEFAULT give values to the lines after them. "
     "The file is the one SLURM_CONF names, or /etc/slurm/slurm.conf. `millrace check` says what is wrong in it and "
     "what has no effect."},
    {"gres.conf", "devices of nodes: GPUs and other generic resources",
     "Beside slurm.conf. Each line describes devices of one kind; NodeName= restricts it to some nodes."},
    {"cgroup.conf", "how processes of jobs are kept apart",
     "Beside slurm.conf; read by agents. Without it, nothing is constrained."},
    {"topology.conf", "how nodes are connected",
     "Beside slurm.conf; read where TopologyPlugin is topology/tree or topology/block. Lines of switches or of blocks, "
     "not both."},
    {"job_container.conf", "directories of jobs' own",
     "Beside slurm.conf; read where JobContainerType is job_container/tmpfs."},
    {"plugstack.conf", "SPANK plugins",
     "Beside slurm.conf, or where PlugStackConfig says. A plugin on a line, with its arguments; # begins a comment. A "
     "path that does not begin with a slash is looked for in PluginDir. "
     "Plugins are named in the daemons' logs and by `millrace check`, and are not loaded yet."},
};

// clang-format off
constexpr FileKeyText keys[] = {
    {"gres.conf", "Name", "Name=gpu Count=2", "what kind of device: gpu, mps, shard or any name of GresTypes"},
    {"gres.conf", "NodeName", "NodeName=n1 Name=gpu Count=2", "the nodes the line is about; without it, all"},
    {"gres.conf", "Type", "Name=gpu Type=a100 Count=2", "the model, as jobs ask for it in gpu:a100:1"},
    {"gres.conf", "Count", "Name=gpu Count=2", "how many; K, M and G multiply"},
    {"gres.conf", "File", "Name=gpu File=/dev/nvidia[0-1]", "their device files; jobs are kept to those they were given"},
    {"gres.conf", "Cores", "Name=gpu File=/dev/nvidia0 Cores=0-3", "the cores that are near"},
    {"gres.conf", "Links", "Name=gpu File=/dev/nvidia0 Links=-1,4", "how well it is connected to the others; -1 stands for itself"},
    {"gres.conf", "Flags", "Name=gpu Count=1 Flags=CountOnly", "CountOnly, explicit, nvidia_gpu_env and their like"},
    {"gres.conf", "AutoDetect", "AutoDetect=nvml", "look for devices: nvml, nvidia, rsmi, or off"},
    {"cgroup.conf", "CgroupPlugin", "CgroupPlugin=autodetect", "cgroup/v1, cgroup/v2, autodetect or disabled"},
    {"cgroup.conf", "CgroupMountpoint", "CgroupMountpoint=/sys/fs/cgroup", "where cgroups are mounted"},
    {"cgroup.conf", "ConstrainCores", "ConstrainCores=yes", "jobs see only the cores they were given"},
    {"cgroup.conf", "ConstrainDevices", "ConstrainDevices=yes", "jobs see only the devices they were given"},
    {"cgroup.conf", "ConstrainRAMSpace", "ConstrainRAMSpace=yes", "jobs cannot use more memory than they were given"},
    {"cgroup.conf", "ConstrainSwapSpace", "ConstrainSwapSpace=yes", "nor more swap"},
    {"cgroup.conf", "AllowedRAMSpace", "AllowedRAMSpace=100", "percent of what was given that may be used"},
    {"cgroup.conf", "AllowedSwapSpace", "AllowedSwapSpace=0", "percent of it that may be swapped"},
    {"cgroup.conf", "MaxRAMPercent", "MaxRAMPercent=100", "percent of the node's memory a job may have at most"},
    {"cgroup.conf", "MaxSwapPercent", "MaxSwapPercent=100", "percent of it in swap at most"},
    {"cgroup.conf", "MinRAMSpace", "MinRAMSpace=30", "a lower end of limits, in MiB"},
    {"cgroup.conf", "MemorySwappiness", "MemorySwappiness=10", "how readily the kernel swaps, with cgroups of version 1"},
    {"cgroup.conf", "EnableControllers", "EnableControllers=yes", "turn on controllers of version 2 that are off"},
    {"cgroup.conf", "MillraceMaxProcesses", "MillraceMaxProcesses=10000", "how many processes a job may have (Millrace's own key)"},
    {"topology.conf", "SwitchName", "SwitchName=s0 Nodes=n1", "a switch"},
    {"topology.conf", "Nodes", "SwitchName=s0 Nodes=n1", "nodes at that switch, or in that block"},
    {"topology.conf", "Switches", "SwitchName=top Switches=s0", "switches below it"},
    {"topology.conf", "LinkSpeed", "SwitchName=s0 Nodes=n1 LinkSpeed=1", "shown, and used for nothing"},
    {"topology.conf", "BlockName", "BlockName=b0 Nodes=n1", "a block of nodes"},
    {"topology.conf", "BlockSizes", "BlockSizes=1", "how many nodes blocks have, and blocks of blocks"},
    {"job_container.conf", "BasePath", "BasePath=/var/lib/jobs", "where the directories of jobs are made"},
    {"job_container.conf", "AutoBasePath", "AutoBasePath=true", "make BasePath when it is not there"},
    {"job_container.conf", "Dirs", "Dirs=/tmp,/dev/shm", "what is a job's own"},
    {"job_container.conf", "Shared", "Shared=false", "whether mounts of the node go on to be seen in jobs"},
    {"plugstack.conf", "required", "required /usr/lib/slurm/spank_x.so colour=red", "a plugin without which no job starts"},
    {"plugstack.conf", "optional", "optional /usr/lib/slurm/spank_x.so", "a plugin whose failure is only said"},
    {"plugstack.conf", "include", "include plugstack.conf.d/*", "other files of this kind; * and ? stand for any letters, one letter"},
    {"job_container.conf", "InitScript", "InitScript=/etc/slurm/init.sh", "program run when a job's directories are made"},
};
// clang-format on

std::string kind_text(KeyKind kind) {
  switch (kind) {
    case KeyKind::number:
      return "a number";
    case KeyKind::seconds:
    case KeyKind::seconds_or_infinite:
      return "seconds";
    case KeyKind::minutes:
      return "minutes";
    case KeyKind::microseconds:
      return "microseconds";
    case KeyKind::percent:
      return "percent";
    case KeyKind::flag:
      return "yes or no";
    case KeyKind::switch01:
      return "0 or 1";
    case KeyKind::duration:
      return "a time as D-HH:MM:SS";
    case KeyKind::memory:
      return "a size in MiB";
    case KeyKind::user:
      return "a user";
    default:
      return "text";
  }
}

std::string slurm_conf_keys() {
  std::string works = ".SH KEYS\n", agrees, not_built;
  for (const ConfigKey& key : config_keys()) {
    if (key.kind == KeyKind::live) continue;
    if (key.effect == KeyEffect::not_built) {
      not_built += (not_built.empty() ? "" : ", ") + std::string{key.name};
      continue;
    }
    std::string text = std::string{key.help} + " (" + kind_text(key.kind) +
                       (key.fallback.empty() ? "" : ", " + std::string{key.fallback}) + ")";
    (key.effect == KeyEffect::works ? works : agrees) += manual_entry(key.name, text);
  }
  return works + ".SH KEYS THAT SAY WHAT IS DONE ANYWAY\n" + agrees +
         ".SH KEYS NOT BUILT YET\nKnown, and a value is said to be without effect: " + troff(not_built) + ".\n";
}

}  // namespace

std::vector<FileKeyText> file_keys() { return {std::begin(keys), std::end(keys)}; }

std::vector<std::string_view> file_manual_names() {
  std::vector<std::string_view> out;
  for (const FileText& file : files) out.push_back(file.name);
  return out;
}

std::string_view file_summary(std::string_view name) {
  for (const FileText& file : files)
    if (file.name == name) return file.summary;
  return {};
}

std::string file_manual(std::string_view name) {
  for (const FileText& file : files) {
    if (file.name != name) continue;
    std::string out = ".TH " + upper_case(name) + " 5 \"\" \"Millrace\" \"Millrace configuration\"\n.SH NAME\n" +
                      troff(name) + " \\- " + troff(file.summary) + "\n.SH DESCRIPTION\n" + troff(file.description) +
                      "\n";
    if (name == "slurm.conf") return out + slurm_conf_keys();
    out += ".SH KEYS\n";
    for (const FileKeyText& key : keys)
      if (key.file == name) out += manual_entry(key.key, std::string{key.help} + ", as in " + std::string{key.example});
    return out;
  }
  return {};
}

}  // namespace millrace
