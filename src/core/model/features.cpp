// src/core/model/features.cpp - see features.h.
#include "core/model/features.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::size_t names_max = 60;  // the answers of a term are kept in one word while it is evaluated
constexpr int depth_max = 16;

// What a piece of the text came to: a plain term, or what only the outermost level may hold.
struct Piece {
  FeatureTerm term;
  std::vector<FeatureTerm> alternatives;  // of a [a|b]
  std::vector<CountedFeature> counted;
  std::size_t at = 0;

  bool plain() const { return alternatives.empty() && counted.empty(); }
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<FeatureExpression> read() {
    FeatureExpression out;
    skip();
    if (at_ == text_.size()) {
      out.alternatives.emplace_back();
      return out;
    }
    MR_TRY(Piece whole, list(0, false));
    if (at_ < text_.size()) return wrong("unexpected '" + std::string{text_[at_]} + "'");
    out.alternatives = std::move(whole.alternatives);
    if (out.alternatives.empty()) out.alternatives.emplace_back();
    if (!whole.term.always())
      for (FeatureTerm& each : out.alternatives)
        each = FeatureTerm::joined(std::move(each), whole.term, FeatureTerm::Op::both);
    out.counted = std::move(whole.counted);
    return out;
  }

 private:
  std::unexpected<Error> wrong(const std::string& why) const {
    return fail(Errc::invalid,
                "features '" + std::string{text_} + "': " + why + " at position " + std::to_string(at_ + 1));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  char next() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  // Items joined by & and |, until the end or a closing bracket.
  Result<Piece> list(int depth, bool bracket) {
    MR_TRY(Piece left, item(depth));
    bool matching = false;
    for (char c = next(); c == '&' || c == ',' || c == '|'; c = next()) {
      const bool either = c == '|';
      ++at_;
      MR_TRY(Piece right, item(depth));
      if (either && bracket && right.plain() && (matching || left.plain())) {
        if (!matching) left = Piece{{}, {std::move(left.term)}, {}, left.at};
        left.alternatives.push_back(std::move(right.term));
        matching = true;
        continue;
      }
      MR_TRY_VOID(join(left, std::move(right), either, matching));
    }
    return left;
  }

  Result<void> join(Piece& left, Piece right, bool either, bool inside_matching) {
    if (either && (!left.plain() || !right.plain())) {
      at_ = right.plain() ? left.at : right.at;
      return wrong("counts and [a|b] cannot be alternatives of '|'");
    }
    if (inside_matching) return wrong("inside [a|b] only '|' may join; parentheses group what belongs together");
    if (!left.alternatives.empty() && !right.alternatives.empty()) {
      at_ = right.at;
      return wrong("a second [a|b]");
    }
    if (left.alternatives.empty()) left.alternatives = std::move(right.alternatives);
    for (CountedFeature& each : right.counted) left.counted.push_back(std::move(each));
    if (left.term.always())
      left.term = std::move(right.term);
    else if (!right.term.always())
      left.term = FeatureTerm::joined(std::move(left.term), std::move(right.term),
                                      either ? FeatureTerm::Op::either : FeatureTerm::Op::both);
    return {};
  }

  Result<Piece> item(int depth) {
    Piece out;
    const char c = next();
    const std::size_t begin = at_;
    out.at = begin;
    if (c == '(' || c == '[') {
      if (depth >= depth_max) return wrong("too many parentheses");
      if (c == '[' && depth > 0) return wrong("[ inside parentheses or another [");
      ++at_;
      MR_TRY(out, list(depth + 1, c == '['));
      out.at = begin;
      if (next() != (c == '[' ? ']' : ')')) return wrong(c == '[' ? "']' expected" : "')' expected");
      ++at_;
    } else {
      const std::size_t first = at_;
      while (at_ < text_.size() && std::string_view{"&|,*[]() \t"}.find(text_[at_]) == std::string_view::npos) ++at_;
      if (at_ == first) return wrong("a feature expected");
      if (++names_ > names_max) return wrong("more than " + std::to_string(names_max) + " features");
      out.term = FeatureTerm(std::string{text_.substr(first, at_ - first)});
    }
    if (next() != '*') return out;
    return count(std::move(out));
  }

  Result<Piece> count(Piece of) {
    if (!of.plain()) return wrong("a count of something that has counts or alternatives itself");
    ++at_;
    skip();
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const auto number = at_ - first > 9 ? std::nullopt : parse_integer(text_.substr(first, at_ - first));
    if (!number || *number < 1) {
      at_ = first;
      return wrong("after '*' comes a number of nodes, at least 1");
    }
    return Piece{{}, {}, {{std::move(of.term), static_cast<std::uint32_t>(*number)}}, of.at};
  }

  std::string_view text_;
  std::size_t at_ = 0, names_ = 0;
};

}  // namespace

FeatureTerm FeatureTerm::joined(FeatureTerm left, FeatureTerm right, Op op) {
  if (left.always()) return right;
  if (right.always()) return left;
  for (Step& step : right.steps_) left.steps_.push_back(std::move(step));
  left.steps_.push_back({op, {}});
  return left;
}

bool FeatureTerm::matches(std::span<const std::string> node_features) const {
  if (steps_.empty()) return true;
  std::uint64_t stack = 0;  // the answers so far, the last one lowest
  for (const Step& step : steps_) {
    if (step.op == Op::name) {
      stack = stack << 1 | (std::ranges::binary_search(node_features, step.name) ? 1u : 0u);
      continue;
    }
    const std::uint64_t right = stack & 1, left = stack >> 1 & 1;
    stack = (stack >> 2) << 1 | (step.op == Op::both ? left & right : left | right);
  }
  return (stack & 1) != 0;
}

bool FeatureExpression::admits(std::span<const std::string> node_features) const {
  return std::ranges::any_of(alternatives, [&](const FeatureTerm& term) { return term.matches(node_features); });
}

Result<FeatureExpression> parse_features(std::string_view text) { return Reader(text).read(); }

std::vector<std::string> names_in(const FeatureExpression& expression) {
  std::vector<std::string> out;
  const auto add = [&](const FeatureTerm& term) {
    for (const FeatureTerm::Step& step : term.steps())
      if (step.op == FeatureTerm::Op::name) out.push_back(step.name);
  };
  for (const FeatureTerm& term : expression.alternatives) add(term);
  for (const CountedFeature& each : expression.counted) add(each.term);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

std::vector<std::string> features_of(const NodeDef& node) {
  return feature_names(node.active_features.value_or(node.features));
}

std::vector<std::string> available_features_of(const NodeDef& node) { return feature_names(node.features); }

std::vector<std::string> feature_names(std::string_view list) {
  std::vector<std::string> out;
  for (const std::string_view word : split(list, ','))
    if (!trim(word).empty()) out.emplace_back(trim(word));
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Result<FeatureTerm> parse_batch_features(std::string_view batch, std::string_view constraint) {
  MR_TRY(const FeatureExpression wanted, parse_features(batch));
  if (wanted.alternatives.size() != 1 || !wanted.counted.empty() || wanted.alternatives.front().always())
    return fail(Errc::invalid, "--batch=" + std::string{batch} +
                                   ": names with & or | between them are expected, neither [] nor counts");
  MR_TRY(const FeatureExpression all, parse_features(constraint));
  const std::vector<std::string> known = names_in(all);
  for (const std::string& name : names_in(wanted))
    if (!std::ranges::binary_search(known, name))
      return fail(Errc::invalid, "--batch=" + std::string{batch} + ": --constraint=" + std::string{constraint} +
                                     " does not name " + name);
  return wanted.alternatives.front();
}

Result<FeatureExpression> features_wanted(std::string_view constraint, std::string_view batch) {
  MR_TRY(FeatureExpression wanted, parse_features(constraint));
  if (batch.empty()) return wanted;
  MR_TRY(FeatureTerm term, parse_batch_features(batch, constraint));
  wanted.counted.push_back({std::move(term), 1});
  return wanted;
}

}  // namespace millrace
