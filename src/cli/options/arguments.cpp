// src/cli/options/arguments.cpp - see arguments.h.
#include "cli/options/arguments.h"

namespace millrace {
namespace {

struct Found {
  std::size_t shape = 0;
  std::string problem;
};

Found find_long(std::span<const OptionShape> shapes, std::string_view name) {
  std::size_t match = shapes.size();
  std::string possibilities;
  bool ambiguous = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].name.starts_with(name)) continue;
    if (shapes[i].name == name) return {i, {}};
    ambiguous = ambiguous || match != shapes.size();
    match = i;
    possibilities += " '--" + std::string{shapes[i].name} + "'";
  }
  if (ambiguous) return {0, "option '--" + std::string{name} + "' is ambiguous; possibilities:" + possibilities};
  if (match == shapes.size()) return {0, "unrecognized option '--" + std::string{name} + "'"};
  return {match, {}};
}

class Reader {
 public:
  Reader(std::span<const OptionShape> shapes, std::span<const std::string_view> words)
      : shapes_(shapes), words_(words) {}

  Result<void> take_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const Found found = find_long(shapes_, word.substr(0, equals));
    if (!found.problem.empty()) return fail(Errc::invalid, found.problem);
    const OptionShape& shape = shapes_[found.shape];
    const std::string quoted = "option '--" + std::string{shape.name} + "'";
    if (equals != std::string_view::npos) {
      if (shape.arg == ArgKind::none) return fail(Errc::invalid, quoted + " doesn't allow an argument");
      out.options.push_back({found.shape, true, word.substr(equals + 1)});
      return {};
    }
    if (shape.arg == ArgKind::required && at >= words_.size())
      return fail(Errc::invalid, quoted + " requires an argument");
    const bool takes = shape.arg == ArgKind::required;
    out.options.push_back({found.shape, takes, takes ? words_[at++] : std::string_view{}});
    return {};
  }

  Result<void> take_letters(std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t index = 0;
      while (index < shapes_.size() && shapes_[index].letter != word[i]) ++index;
      if (index == shapes_.size()) return fail(Errc::invalid, "invalid option -- '" + std::string{word[i]} + "'");
      const OptionShape& shape = shapes_[index];
      const std::string_view rest = word.substr(i + 1);
      if (shape.arg == ArgKind::none) {
        out.options.push_back({index, false, {}});
        continue;
      }
      if (!rest.empty()) {
        out.options.push_back({index, true, rest});
      } else if (shape.arg == ArgKind::optional) {
        out.options.push_back({index, false, {}});
      } else {
        if (at >= words_.size())
          return fail(Errc::invalid, "option requires an argument -- '" + std::string{word[i]} + "'");
        out.options.push_back({index, true, words_[at++]});
      }
      return {};
    }
    return {};
  }

  Arguments out;
  std::size_t at = 0;

 private:
  std::span<const OptionShape> shapes_;
  std::span<const std::string_view> words_;
};

}  // namespace

Result<Arguments> parse_arguments(std::span<const OptionShape> shapes, std::span<const std::string_view> words,
                                  Operands operands) {
  Reader reader(shapes, words);
  while (reader.at < words.size()) {
    const std::string_view word = words[reader.at++];
    if (word == "--") break;
    if (word.size() > 2 && word.starts_with("--")) {
      MR_TRY_VOID(reader.take_long(word.substr(2)));
    } else if (word.size() > 1 && word[0] == '-') {
      MR_TRY_VOID(reader.take_letters(word.substr(1)));
    } else {
      reader.out.operands.push_back(word);
      if (operands == Operands::end_options) break;
    }
  }
  for (; reader.at < words.size(); ++reader.at) reader.out.operands.push_back(words[reader.at]);
  return std::move(reader.out);
}

}  // namespace millrace
