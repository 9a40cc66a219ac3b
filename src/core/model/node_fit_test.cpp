// src/core/model/node_fit_test.cpp - which nodes are of the kind a job asks for.
#include "core/model/node_fit.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

JobSpec asking_for(const std::string& features) {
  ResourceRequest ask;
  ask.features = features;
  JobSpec spec;
  spec.resources = SharedValue(std::move(ask));
  return spec;
}

NodeDef node_with(const std::string& features, std::optional<std::string> active = {}) {
  NodeDef node;
  node.features = features;
  node.active_features = std::move(active);
  return node;
}

TEST(NodeFilter, tells_nodes_apart_by_their_features) {
  const JobSpec spec = asking_for("(a|b)&c");
  NodeFilter filter(spec);
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(filter.admits(node_with("a,c")));
    EXPECT_TRUE(filter.admits(node_with("c,b")));
    EXPECT_FALSE(filter.admits(node_with("a,b")));
    EXPECT_FALSE(filter.admits(node_with("")));
  }
}

TEST(NodeFilter, knows_what_is_active_and_what_could_be) {
  const JobSpec spec = asking_for("a");
  NodeFilter active(spec), available(spec, NodeFilter::Features::available);
  EXPECT_FALSE(active.admits(node_with("a,b", "b")));
  EXPECT_TRUE(active.admits(node_with("a,b", "a")));
  EXPECT_TRUE(available.admits(node_with("a,b", "b")));
  EXPECT_TRUE(active.admits(node_with("a,b")));
}

TEST(NodeFilter, admits_nobody_for_what_cannot_be_read) {
  const JobSpec spec = asking_for("a&&");
  NodeFilter filter(spec);
  EXPECT_FALSE(filter.admits(node_with("a")));
}

TEST(NodeFilter, looks_at_what_is_not_a_feature_too) {
  JobSpec spec = asking_for("");
  spec.resources.edit().sockets_per_node = 2;
  NodeFilter filter(spec);
  NodeDef node;
  node.sockets = 1;
  EXPECT_FALSE(filter.admits(node));
  node.sockets = 2;
  EXPECT_TRUE(filter.admits(node));
  EXPECT_TRUE(suits(JobSpec{}, NodeDef{}));
}

}  // namespace
}  // namespace millrace
