// src/smap/pages_test.cpp - letters on the map are those of the list, and what waits, rests or is broken has none.
#include "smap/pages.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

SmapData cluster() {
  SmapData data;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5", "n6"}) {
    wire::NodeView& node = *data.nodes.add_nodes();
    node.set_name(name);
    node.set_base(wire::NodeView::IDLE);
  }
  data.nodes.mutable_nodes(3)->set_drain(true);
  data.nodes.mutable_nodes(4)->set_not_responding(true);
  const auto job = [&](std::uint32_t id, const char* nodes, wire::JobStateName state) {
    wire::JobView& view = *data.jobs.add_jobs();
    view.set_job_id(id);
    view.set_name("work");
    view.set_partition("main");
    view.set_state(state);
    view.set_nodes(nodes);
    view.set_node_count(2);
    view.set_reason(state == wire::PENDING ? "Resources" : "None");
  };
  job(9, "", wire::PENDING);
  job(7, "n[1-2]", wire::RUNNING);
  job(8, "n6", wire::RUNNING);
  job(5, "n3", wire::COMPLETED);
  for (const char* name : {"n[1-3]", "n[4-6]"}) {
    wire::TopologyView::Switch& leaf = *data.topology.add_switches();
    leaf.set_name(name[2] == '1' ? "s1" : "s2");
    leaf.set_nodes(name);
  }
  wire::TopologyView::Switch& top = *data.topology.add_switches();
  top.set_name("top");
  top.set_level(1);
  top.set_switches("s[1-2]");
  top.set_nodes("n[1-6]");
  return data;
}

TEST(Smap, Jobs_have_letters_and_their_nodes_the_same) {
  const std::string text = plain_text(make_page(cluster(), {}));
  EXPECT_TRUE(text.starts_with("AA.#?B\n\nID        JOBID PARTITION ")) << text;
  EXPECT_NE(text.find("\nA             7 main"), std::string::npos) << text;
  EXPECT_NE(text.find("\nB             8 main"), std::string::npos) << text;
  EXPECT_NE(text.find("\n              9 main"), std::string::npos) << text;
  EXPECT_NE(text.find("(Resources)"), std::string::npos) << text;
  EXPECT_EQ(text.find(" 5 main"), std::string::npos) << text;
}

TEST(Smap, The_network_is_a_page_of_switches) {
  SmapOptions options;
  options.view = SmapView::network;
  const std::string text = plain_text(make_page(cluster(), options));
  EXPECT_TRUE(text.starts_with("AAA#?B\n\nID SWITCH ")) << text;
  EXPECT_NE(text.find("top"), std::string::npos);
  EXPECT_NE(text.find("s[1-2]"), std::string::npos);
}

TEST(Smap, Only_the_nodes_asked_for_and_long_maps_in_lines) {
  SmapOptions options;
  options.nodes = "n[1-2,6]";
  options.header = false;
  EXPECT_TRUE(plain_text(make_page(cluster(), options)).starts_with("AAB\n\nA "));
  SmapData many;
  for (int i = 0; i < 25; ++i) many.nodes.add_nodes()->set_name("m" + std::to_string(i));
  options.nodes.clear();
  options.width = 10;
  EXPECT_EQ(plain_text(make_page(many, options)), "..........\n..........\n.....\n\n");
}

}  // namespace
}  // namespace millrace
