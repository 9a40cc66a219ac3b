// src/core/model/gres_text_test.cpp - generic resources and licences as people write them.
#include "core/model/gres_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string asks(std::string_view text, GresScope scope = GresScope::node) {
  const auto parsed = parse_gres_asks(text, scope);
  return parsed ? format_asks(*parsed, scope) : parsed.error().story;
}

std::string kinds(std::string_view text) {
  NodeDef node;
  auto parsed = parse_node_gres(text);
  if (!parsed) return parsed.error().story;
  node.kinds = *parsed;
  if (const auto settled = settle_kinds(node.kinds); !settled) return settled.error().story;
  return format_kinds(node);
}

TEST(GresText, Asks_of_a_job) {
  EXPECT_EQ(asks("gpu:a100:2,nic"), "gres/gpu:a100:2,gres/nic:1");
  EXPECT_EQ(asks("gpu"), "gres/gpu:1");
  EXPECT_EQ(asks("gpu:4"), "gres/gpu:4");
  EXPECT_EQ(asks("gpu:a100"), "gres/gpu:a100:1");
  EXPECT_EQ(asks("gres/gpu=2,gres:nic:1"), "gres/gpu:2,gres/nic:1");
  EXPECT_EQ(asks("none"), "");
  EXPECT_EQ(asks("gpu:0"), "");
  EXPECT_EQ(asks("gpu:a100:x"), "'gpu:a100:x': after the type comes a count");
  EXPECT_EQ(asks("gpu:1,gpu:2"), "'gpu:2': named twice");
  EXPECT_EQ(asks("gpu:a:b:1"), "'gpu:a:b:1': at most name:type:count");
  EXPECT_EQ(asks("g$u"), "'g$u': a name of letters and digits is expected");
}

TEST(GresText, Gpus_need_no_name) {
  EXPECT_EQ(format_asks(*parse_gpu_asks("2", GresScope::job), GresScope::job), "gres/gpu:2");
  EXPECT_EQ(format_asks(*parse_gpu_asks("a100:2,h100:1", GresScope::job), GresScope::job),
            "gres/gpu:a100:2,gres/gpu:h100:1");
  EXPECT_FALSE(parse_gpu_asks("", GresScope::job));
}

TEST(GresText, Kinds_of_a_node) {
  EXPECT_EQ(kinds("gpu:a100:4,nic:2(S:0-1)"), "gpu:a100:4,nic:2(S:0-1)");
  EXPECT_EQ(kinds("gpu:2(S:0,2-3)"), "gpu:2(S:0,2-3)");
  EXPECT_EQ(kinds("bandwidth:4G"), "bandwidth:4294967296");
  EXPECT_EQ(kinds("shard:8"), "shard is a part of a gpu, but the node has none");
  EXPECT_EQ(kinds("a:1,b:1,c:1,d:1,e:1,f:1,g:1"), "7 kinds of generic resources; a node can have 6");
  EXPECT_EQ(kinds("gpu:65"), "65 gpus; a node can have 64");
  EXPECT_EQ(kinds("x:no_consume:3"), "'x:no_consume:3': no_consume is not built yet in Millrace");
}

TEST(GresText, Parts_are_spread_over_the_gpus) {
  auto parsed = parse_node_gres("gpu:a:2,gpu:b:1,mps:400,shard:7");
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(settle_kinds(*parsed));
  EXPECT_EQ((*parsed)[2].parts, (std::vector<std::int64_t>{134, 133, 133}));
  EXPECT_EQ((*parsed)[3].parts, (std::vector<std::int64_t>{3, 2, 2}));
}

TEST(GresText, Licences) {
  const auto all = parse_licences("foo:2,bar"), any = parse_licences("a|b:3");
  ASSERT_TRUE(all && any);
  EXPECT_EQ(format_licences(all->asks), "foo:2,bar:1");
  EXPECT_TRUE(any->any);
  EXPECT_EQ(format_licences(any->asks, true), "a:1|b:3");
  EXPECT_FALSE(parse_licences("a|b,c"));
  EXPECT_FALSE(parse_licences("a:x"));
  EXPECT_FALSE(parse_licences("a,a:2"));
  EXPECT_EQ(parse_licences("matlab@server:2")->asks[0].name, "matlab@server");
}

}  // namespace
}  // namespace millrace
