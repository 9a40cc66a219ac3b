// src/core/model/features_test.cpp - which nodes satisfy which request for features, and where a wrong one is wrong.
#include "core/model/features.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace {
namespace {

bool holds(std::string_view text, std::vector<std::string> features) {
  std::ranges::sort(features);
  const auto parsed = parse_features(text);
  EXPECT_TRUE(parsed) << parsed.error().story;
  return parsed && parsed->alternatives.size() == 1 && parsed->alternatives[0].matches(features);
}

std::string problem(std::string_view text) {
  const auto parsed = parse_features(text);
  return parsed ? "accepted" : parsed.error().story;
}

TEST(Features, And_or_and_parentheses) {
  EXPECT_TRUE(holds("", {}));
  EXPECT_TRUE(holds("intel", {"intel"}));
  EXPECT_FALSE(holds("intel", {"amd"}));
  EXPECT_TRUE(holds("intel&ib", {"ib", "intel"}));
  EXPECT_TRUE(holds("intel,ib", {"ib", "intel"})) << "a comma is an and";
  EXPECT_FALSE(holds("intel&ib", {"intel"}));
  EXPECT_TRUE(holds("intel|amd", {"amd"}));
  EXPECT_TRUE(holds("(intel|amd)&ib", {"amd", "ib"}));
  EXPECT_FALSE(holds("(intel|amd)&ib", {"amd"}));
  EXPECT_TRUE(holds(" ( a & b ) | c ", {"c"}));
}

TEST(Features, Are_read_from_left_to_right) {
  EXPECT_FALSE(holds("a|b&c", {"a"})) << "(a|b)&c";
  EXPECT_TRUE(holds("a&b|c", {"c"}));
}

TEST(Features, Matching_or_gives_one_alternative_each) {
  const auto parsed = parse_features("fast&[rack1|rack2|(rack3&new)]");
  ASSERT_TRUE(parsed) << parsed.error().story;
  ASSERT_EQ(parsed->alternatives.size(), 3u);
  const std::vector<std::string> first{"fast", "rack1"}, slow{"rack1"}, third{"fast", "new", "rack3"};
  EXPECT_TRUE(parsed->alternatives[0].matches(first));
  EXPECT_FALSE(parsed->alternatives[1].matches(first));
  EXPECT_FALSE(parsed->alternatives[0].matches(slow)) << "what stands outside holds for each";
  EXPECT_TRUE(parsed->alternatives[2].matches(third));
  EXPECT_TRUE(parsed->admits(first));
  EXPECT_FALSE(parsed->admits(slow));
}

TEST(Features, Counts_ask_for_some_nodes_of_each) {
  const auto parsed = parse_features("[rack1*2&(rack2|rack3)*4]&ib");
  ASSERT_TRUE(parsed) << parsed.error().story;
  ASSERT_EQ(parsed->alternatives.size(), 1u);
  ASSERT_EQ(parsed->counted.size(), 2u);
  EXPECT_EQ(parsed->counted[1].nodes, 4u);
  const std::vector<std::string> node{"ib", "rack3"};
  EXPECT_TRUE(parsed->alternatives[0].matches(node));
  EXPECT_FALSE(parsed->counted[0].term.matches(node));
  EXPECT_TRUE(parsed->counted[1].term.matches(node));
  const auto alone = parse_features("graphics*4");
  ASSERT_TRUE(alone);
  EXPECT_TRUE(alone->alternatives[0].always()) << "the other nodes may be any";
}

TEST(Features, Errors_point_at_the_place) {
  EXPECT_EQ(problem("a&"), "features 'a&': a feature expected at position 3");
  EXPECT_EQ(problem("(a|b"), "features '(a|b': ')' expected at position 5");
  EXPECT_EQ(problem("a*0"), "features 'a*0': after '*' comes a number of nodes, at least 1 at position 3");
  EXPECT_EQ(problem("a)b"), "features 'a)b': unexpected ')' at position 2");
  EXPECT_EQ(problem("[a|b]&[c|d]"), "features '[a|b]&[c|d]': a second [a|b] at position 7");
  EXPECT_EQ(problem("a*2|b"), "features 'a*2|b': counts and [a|b] cannot be alternatives of '|' at position 1");
  EXPECT_EQ(problem("a b"), "features 'a b': unexpected 'b' at position 3");
  EXPECT_NE(problem(std::string(200, '(')), "accepted");
}

TEST(Features, Of_a_node_are_sorted_and_single) {
  NodeDef node;
  node.features = "ib, intel,ib,,amd";
  EXPECT_EQ(features_of(node), (std::vector<std::string>{"amd", "ib", "intel"}));
  const auto parsed = parse_features("[b*2&a*1]&(c|a)");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(names_in(*parsed), (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace millrace
