// src/config/gres_conf_test.cpp - what gres.conf, topology.conf and Licenses make of a configuration, and how they may
// be wrong.
#include "config/gres_conf.h"

#include <gtest/gtest.h>

#include "config/slurm_conf.h"
#include "core/model/gres_text.h"

namespace millrace {
namespace {

constexpr std::string_view head = "ClusterName=c\nSlurmctldHost=h\nGresTypes=gpu,shard,nic,bandwidth\n";

ConfigurationReport read(std::string_view conf, std::string_view gres = "", std::string_view topology = "") {
  CompanionLines companions{split_conf_text(gres, "gres.conf"), split_conf_text(topology, "topology.conf")};
  return parse_configuration(split_conf_text(std::string{head} + std::string{conf}, "slurm.conf"), "slurm.conf",
                             companions);
}

std::string shown(const ConfigurationReport& report, std::size_t node = 0) {
  if (!report.errors.empty()) return report.errors.front();
  NodeDef def;
  def.kinds = report.configuration.nodes[node].kinds;
  return format_kinds(def);
}

constexpr std::string_view two = "NodeName=n[0-1] Sockets=2 CoresPerSocket=4 Gres=gpu:a100:2,shard:8\n";

TEST(GresConf, Cores_say_which_socket_a_device_is_near_to) {
  const auto report = read(two,
                           "NodeName=n[0-1] Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-3\n"
                           "NodeName=n[0-1] Name=gpu Type=a100 File=/dev/nvidia1 Cores=4-7\n");
  EXPECT_EQ(shown(report, 1), "gpu:a100:2(S:0-1),shard:8");
  ASSERT_TRUE(report.errors.empty());
  EXPECT_EQ(report.configuration.nodes[0].kinds[0].near, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(report.configuration.nodes[0].kinds[0].files, "/dev/nvidia0,/dev/nvidia1");
  EXPECT_EQ(report.configuration.nodes[0].kinds[1].parts, (std::vector<std::int64_t>{4, 4})) << "spread evenly";
}

TEST(GresConf, Parts_lie_on_the_gpu_whose_file_they_name) {
  const auto report = read(two,
                           "Name=gpu Type=a100 File=/dev/nvidia[0-1]\nName=shard Count=2 File=/dev/nvidia0\nName=shard "
                           "Count=6 File=/dev/nvidia1\n");
  EXPECT_EQ(shown(report), "gpu:a100:2,shard:8");
  EXPECT_EQ(report.configuration.nodes[0].kinds[1].parts, (std::vector<std::int64_t>{2, 6}));
}

TEST(GresConf, Types_may_come_from_gres_conf_alone) {
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:3\n",
                       "Name=gpu Type=a File=/dev/nvidia[0-1]\nName=gpu Type=b File=/dev/nvidia2\n")),
            "gpu:a:2,gpu:b:1");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=bandwidth:4G\n", "Name=bandwidth Count=4G Flags=CountOnly\n")),
            "bandwidth:4294967296");
}

TEST(GresConf, AutoDetect_of_some_nodes_counts_before_that_of_all) {
  const auto report =
      read("NodeName=n[0-2] Gres=gpu:2\n",
           "AutoDetect=nvml\nNodeName=n1 AutoDetect=off Name=gpu File=/dev/nvidia[0-1]\nNodeName=n2 AutoDetect=rsmi\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  const auto& nodes = report.configuration.nodes;
  EXPECT_EQ(nodes[0].detect, "nvml");
  EXPECT_EQ(nodes[0].gpu_variables, 1u) << "CUDA's names alone";
  EXPECT_EQ(nodes[1].detect, "");
  EXPECT_EQ(nodes[1].gpu_variables, 15u);
  EXPECT_EQ(nodes[2].detect, "rsmi");
  EXPECT_EQ(nodes[2].gpu_variables, 2u);
  EXPECT_EQ(read("NodeName=n0 Gres=gpu:1\n", "Name=gpu File=/dev/x Flags=amd_gpu_env,opencl_env\n")
                .configuration.nodes[0]
                .gpu_variables,
            10u);
  EXPECT_EQ(
      read("NodeName=n0 Gres=gpu:1\n", "Name=gpu File=/dev/x Flags=no_gpu_env\n").configuration.nodes[0].gpu_variables,
      0u);
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:1\n", "AutoDetect=cuda\n")),
            "gres.conf:1: AutoDetect: 'cuda' is wrong; nvml, nvidia, rsmi, oneapi, full or off would be right");
}

TEST(GresConf, Says_what_is_wrong) {
  EXPECT_EQ(
      shown(read("NodeName=n0 Gres=fpga:1\n")),
      "slurm.conf: NodeName=n0 Gres: fpga is not in GresTypes, GresTypes=gpu,shard,nic,bandwidth,fpga would be right");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:4\n", "Name=gpu File=/dev/nvidia[0-1]\n")),
            "slurm.conf: NodeName=n0 Gres: the node's line says 4 gpu, gres.conf 2");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:1\n", "NodeName=n0 Name=nic File=/dev/x\n")),
            "slurm.conf: NodeName=n0 Gres: gres.conf:1 names nic, which the node's Gres= does not");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:1\n", "File=/dev/x\n")),
            "gres.conf:1: Name is missing, Name=gpu would be right");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:1\n", "Name=gpu Count=x\n")),
            "gres.conf:1: Count: 'x' is wrong, a number, also with K, M or G, would be right");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:1 Sockets=1 CoresPerSocket=4\n", "Name=gpu File=/dev/x Cores=9\n")),
            "slurm.conf: NodeName=n0 Gres: gres.conf:1: core 9 of 4");
}

TEST(GresConf, Links_say_which_devices_talk_to_each_other) {
  const auto report =
      read("NodeName=n0 Gres=gpu:3\n",
           "Name=gpu File=/dev/a Links=-1,4,0\nName=gpu File=/dev/b Links=4,-1\nName=gpu File=/dev/c\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_EQ(report.configuration.nodes[0].kinds[0].links, (std::vector<std::uint32_t>{0, 4, 0, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:2\n", "Name=gpu File=/dev/g[0-1] Links=-1,4\n")),
            "slurm.conf: NodeName=n0 Gres: gres.conf:1: Links= says what one device is linked to, but the line has 2");
  EXPECT_EQ(shown(read("NodeName=n0 Gres=gpu:1\n", "Name=gpu File=/dev/a Links=many\n")),
            "gres.conf:1: Links: 'many' is wrong, links to each device, -1 for itself, as in 2,-1,1 would be right");
}

TEST(GresConf, Names_what_has_no_effect) {
  const auto report =
      read("NodeName=n0 Gres=gpu:1\n",
           "AutoDetect=nvml\nName=gpu File=/dev/x Links=-1 Flags=nvidia_gpu_env,one_sharing Colour=red\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  ASSERT_EQ(report.configuration.not_built.size(), 1u);
  EXPECT_EQ(report.configuration.not_built[0].key, "Flags=one_sharing");
  EXPECT_EQ(report.configuration.unknown.size(), 1u);
  EXPECT_TRUE(report.configuration.adjusted.empty());
}

TEST(Licences, Are_read_sorted) {
  const auto report = read("Licenses=foo:4,bar\n");
  ASSERT_TRUE(report.errors.empty());
  EXPECT_EQ(format_licences(report.configuration.licences), "bar:1,foo:4");
  EXPECT_FALSE(read("Licenses=a|b\n").errors.empty());
}

TEST(TopologyConf, Reads_trees_and_blocks) {
  constexpr std::string_view nodes = "NodeName=n[0-3]\nTopologyPlugin=topology/tree\n";
  const auto tree = read(
      nodes, "", "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3] LinkSpeed=100\nSwitchName=top Switches=a,b\n");
  ASSERT_TRUE(tree.errors.empty()) << tree.errors.front();
  ASSERT_EQ(tree.configuration.topology.switches.size(), 3u);
  EXPECT_EQ(tree.configuration.topology.switches[2].switches, (std::vector<std::string>{"a", "b"}));
  const auto blocks = read("NodeName=n[0-3]\nTopologyPlugin=topology/block\n", "",
                           "BlockName=b0 Nodes=n[0-1]\nBlockName=b1 Nodes=n[2-3]\nBlockSizes=2,4\n");
  ASSERT_TRUE(blocks.errors.empty()) << blocks.errors.front();
  EXPECT_EQ(blocks.configuration.topology.block_sizes, (std::vector<std::uint32_t>{2, 4}));
  EXPECT_TRUE(read("NodeName=n0\n", "", "SwitchName=a Nodes=n0\n").configuration.topology.empty())
      << "flat unless asked";
}

TEST(TopologyConf, Says_what_is_wrong) {
  const auto problem = [](std::string_view topology) {
    const auto report = read("NodeName=n[0-3]\nTopologyPlugin=topology/tree\n", "", topology);
    return report.errors.empty() ? std::string{"fine"} : report.errors.front();
  };
  EXPECT_EQ(read("NodeName=n0\nTopologyPlugin=topology/tree\n").configuration.adjusted.front().text,
            "topology/tree needs a topology.conf beside slurm.conf; taken as topology/flat");
  EXPECT_EQ(problem("SwitchName=a Nodes=n9\n"), "topology.conf:1: node n9 is not defined by any NodeName line");
  EXPECT_EQ(problem("SwitchName=a\n"), "topology.conf:1: a needs either Nodes= or Switches=");
  EXPECT_EQ(problem("SwitchName=a Nodes=n0\nSwitchName=b Nodes=n0\n"), "topology.conf: node n0 hangs on both a and b");
  EXPECT_EQ(problem("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), "topology.conf: a hangs below itself");
  EXPECT_EQ(problem("SwitchName=a Switches=x\n"), "topology.conf: a has below it x, which is not defined");
  EXPECT_EQ(problem("BlockName=a Nodes=n0\n"), "topology.conf: TopologyPlugin=topology/tree wants SwitchName lines");
}

}  // namespace
}  // namespace millrace
