// src/core/model/features.h - node features as a job asks for them: a&b, a|b, (a|b)&c, [rack1|rack2], [a*2&b*4].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"

namespace millrace {

// A plain condition on one node, in postfix order. Without steps it holds for every node.
class FeatureTerm {
 public:
  enum class Op : std::uint8_t { name, both, either };
  struct Step {
    Op op{};
    std::string name;
    bool operator==(const Step&) const = default;
  };

  FeatureTerm() = default;
  explicit FeatureTerm(std::string name) : steps_{{Op::name, std::move(name)}} {}
  static FeatureTerm joined(FeatureTerm left, FeatureTerm right, Op op);

  bool matches(std::span<const std::string> node_features) const;  // sorted, as features_of() gives them
  bool always() const { return steps_.empty(); }
  const std::vector<Step>& steps() const { return steps_; }
  bool operator==(const FeatureTerm&) const = default;

 private:
  std::vector<Step> steps_;
};

struct CountedFeature {
  FeatureTerm term;
  std::uint32_t nodes = 1;  // so many of the job's nodes must have it
  bool operator==(const CountedFeature&) const = default;
};

struct FeatureExpression {
  // All nodes of the job satisfy the same one of these: several for [a|b], otherwise exactly one.
  std::vector<FeatureTerm> alternatives;
  std::vector<CountedFeature> counted;
  bool operator==(const FeatureExpression&) const = default;

  // Whether the node could be of use at all: it satisfies one of the alternatives.
  bool admits(std::span<const std::string> node_features) const;
};

// Empty text: every node. '&' and ',' are and, '|' is or, read from left to right as Slurm does. Errors point at the
// place.
Result<FeatureExpression> parse_features(std::string_view text);

// --batch: a plain condition on the node of the script, made of features that the constraint names too.
Result<FeatureTerm> parse_batch_features(std::string_view batch, std::string_view constraint);
// The constraint; one of the nodes has what the script needs besides, where it needs something.
Result<FeatureExpression> features_wanted(std::string_view constraint, std::string_view batch);

// The names in it, each once, sorted.
std::vector<std::string> names_in(const FeatureExpression& expression);

// Names with commas between them, each once, sorted.
std::vector<std::string> feature_names(std::string_view list);
// Those that are active: what a job can have there now.
std::vector<std::string> features_of(const NodeDef& node);
// All of them, also those that are not active now.
std::vector<std::string> available_features_of(const NodeDef& node);

}  // namespace millrace
