// src/agent/node_devices_test.cpp - which accelerator of the machine is which gpu of the node.
#include "agent/node_devices.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

ConfiguredNode node(std::vector<NodeGres> kinds) {
  ConfiguredNode out;
  out.name = "n1";
  out.kinds = std::move(kinds);
  out.detect = "nvml";
  out.gpu_variables = 1;
  return out;
}

NodeGres gpus(const char* type, std::int64_t count, const char* files = "") {
  return {"gpu", type, count, {}, true, {}, files};
}

wire::AcceleratorReport report(
    const std::vector<std::tuple<std::string, std::string, std::string, std::string>>& list) {
  wire::AcceleratorReport out;
  for (const auto& [id, model, file, cpus] : list) {
    auto* to = out.add_accelerators();
    to->set_unique_id(id);
    to->set_model(model);
    to->add_files(file);
    to->set_cpus(cpus);
  }
  return out;
}

// Two sockets of two processors.
std::vector<CpuPlace> machine() { return {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 1, 1}, {3, 3, 1, 1}}; }

TEST(Node_devices, Links_are_told_among_the_devices_of_a_kind) {
  NodeDevices devices(node({gpus("", 1), gpus("h200", 2)}), machine());
  auto found = report({{"a", "nvidia_h200", "/dev/nvidia0", "0-3"},
                       {"b", "nvidia_t4", "/dev/nvidia1", "0-3"},
                       {"c", "nvidia_h200", "/dev/nvidia2", "0-3"}});
  for (const auto& [place, links] : {std::pair{0, std::vector<std::uint32_t>{0, 1, 18}}, {2, {18, 1, 0}}})
    found.mutable_accelerators(place)->mutable_links()->Add(links.begin(), links.end());
  devices.take(found);
  EXPECT_EQ(devices.kinds()[1].links, (std::vector<std::uint32_t>{0, 18, 18, 0}));
  EXPECT_TRUE(devices.kinds()[0].links.empty());
  wire::Inventory inventory;
  devices.add_to(inventory);
  EXPECT_EQ(inventory.devices(1).links_size(), 4);
}

TEST(Node_devices, Types_take_the_models_that_name_them_whatever_the_order) {
  NodeDevices devices(node({gpus("", 1), gpus("h200", 2)}), machine());
  ASSERT_TRUE(devices.is_looked_for());
  devices.take(report({{"a", "nvidia_h200", "/dev/nvidia0", "0-1"},
                       {"b", "nvidia_t4", "/dev/nvidia1", "0-3"},
                       {"c", "nvidia_h200", "/dev/nvidia2", "2-3"}}));
  EXPECT_EQ(devices.kinds()[0].files, "/dev/nvidia1");
  EXPECT_EQ(devices.kinds()[1].files, "/dev/nvidia0,/dev/nvidia2");
  EXPECT_EQ(devices.kinds()[1].near, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(devices.kinds()[0].near.empty()) << "near to all";
  wire::Inventory inventory;
  devices.add_to(inventory);
  ASSERT_EQ(inventory.devices_size(), 2);
  EXPECT_TRUE(devices.spare_files().empty());
  EXPECT_EQ(inventory.devices(1).count(), 2);

  // The plan counts over all types: 0 is the t4, 1 and 2 the others.
  wire::LaunchPlan plan;
  auto* grant = plan.add_devices();
  grant->set_name("gpu");
  grant->set_type("h200");
  grant->add_devices(2);
  wire::Isolation order;
  devices.add_to(plan, order);
  ASSERT_EQ(order.gpus_size(), 1);
  EXPECT_EQ(order.gpus(0).number(), 2u);
  EXPECT_EQ(order.gpus(0).near_cpus(), "2-3");
  EXPECT_EQ(order.gpu_variables(), 1u);
}

TEST(Node_devices, More_than_configured_are_nobodys) {
  NodeDevices devices(node({gpus("", 1)}), machine());
  devices.take(report({{"a", "h200", "/dev/nvidia0", ""}, {"b", "h200", "/dev/nvidia1", ""}}));
  EXPECT_EQ(devices.spare_files(), std::vector<std::string>{"/dev/nvidia1"});
}

TEST(Node_devices, Fewer_than_configured_are_reported_as_they_are) {
  NodeDevices devices(node({gpus("h200", 2)}), machine());
  devices.take(report({{"a", "nvidia_h200", "/dev/nvidia0", ""}}));
  wire::Inventory inventory;
  devices.add_to(inventory);
  EXPECT_EQ(inventory.devices(0).count(), 1);
}

TEST(Node_devices, Files_of_gres_conf_are_not_looked_for) {
  NodeDevices devices(node({gpus("h200", 2, "/dev/nvidia[4-5]")}), machine());
  EXPECT_FALSE(devices.is_looked_for());
  wire::LaunchPlan plan;
  auto* grant = plan.add_devices();
  grant->set_name("gpu");
  grant->add_devices(1);
  wire::Isolation order;
  devices.add_to(plan, order);
  EXPECT_EQ(order.gpus(0).number(), 5u) << "what the libraries call it";
}

TEST(Node_devices, One_that_is_gone_or_ill_is_told_until_it_is_well_again) {
  NodeDevices devices(node({gpus("", 2)}), machine());
  const auto both = report({{"a", "h200", "/dev/nvidia0", ""}, {"b", "h200", "/dev/nvidia1", ""}});
  devices.take(both);
  const auto troubles = [&] {
    wire::Telemetry telemetry;
    devices.add_to(telemetry);
    std::string out;
    for (const auto& device : telemetry.devices())
      if (!device.trouble().empty()) out += std::to_string(device.device()) + device.trouble() + ";";
    return out;
  };
  EXPECT_EQ(troubles(), "");
  devices.take(report({{"a", "h200", "/dev/nvidia0", ""}}));
  EXPECT_EQ(troubles(), "1not found any more;");
  auto ill = both;
  ill.mutable_accelerators(0)->set_trouble("XID 79");
  devices.take(ill);
  EXPECT_EQ(troubles(), "0XID 79;");
  devices.take(both);
  EXPECT_EQ(troubles(), "");
}

}  // namespace
}  // namespace millrace
