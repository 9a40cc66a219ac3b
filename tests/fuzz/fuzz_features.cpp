// tests/fuzz/fuzz_features.cpp - constraints: a&b, [rack1|rack2], [a*2&b*4].
#include "core/model/features.h"

#include "target.h"

using namespace millrace;

FUZZ_TEXT(features) {
  const std::vector<std::string> node{"a", "b", "rack1"};
  if (const auto wanted = parse_features(input)) {
    fuzz::use(wanted->admits(node));
    for (const FeatureTerm& term : wanted->alternatives) fuzz::use(term.matches(node));
    fuzz::use(names_in(*wanted));
  }
  fuzz::Pieces pieces(input);
  const std::string_view batch = pieces.until('\n');
  fuzz::use(parse_batch_features(batch, pieces.rest()));
  fuzz::use(features_wanted(batch, pieces.rest()));
  fuzz::use(feature_names(input));
}
