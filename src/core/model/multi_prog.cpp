// src/core/model/multi_prog.cpp - see multi_prog.h.
#include "core/model/multi_prog.h"

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::uint32_t task_max = 10'000'000;

struct Words {
  std::vector<std::string> words;
  bool open_quote = false;
};

Words split_words(std::string_view line) {
  Words out;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else if (c == '\\' && quote == '"' && i + 1 < line.size() && (line[i + 1] == '"' || line[i + 1] == '\\'))
        word += line[++i];
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      begun = true;
    } else if (c == ' ' || c == '\t') {
      if (begun) out.words.push_back(std::exchange(word, {}));
      begun = false;
    } else if (c == '#' && !begun) {
      break;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) out.words.push_back(word);
  out.open_quote = quote != 0;
  return out;
}

std::string replaced(std::string_view word, std::uint32_t task, std::size_t offset) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : '\0';
    if (next == 't')
      out += std::to_string(task);
    else if (next == 'o')
      out += std::to_string(offset);
    else if (next == '%')
      out += '%';
    else {
      out += word[i];
      continue;
    }
    ++i;
  }
  return out;
}

}  // namespace

Result<MultiProg> MultiProg::parse(std::string_view text) {
  MultiProg out;
  IndexSet named;
  std::size_t number = 0;
  std::string whole;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with('\\') && !text.empty()) {
      whole += std::string{line.substr(0, line.size() - 1)} + ' ';
      continue;
    }
    whole += line;
    Words words = split_words(std::exchange(whole, {}));
    const auto wrong = [&](const std::string& what) {
      return fail(Errc::invalid, "line " + std::to_string(number) + ": " + what);
    };
    if (words.open_quote) return wrong("a quote is not closed");
    if (words.words.empty()) continue;
    Line added;
    const std::string tasks = words.words.front();
    words.words.erase(words.words.begin());
    added.everybody = tasks == "*";
    if (!added.everybody) {
      auto set = parse_index_set(tasks, task_max);
      if (!set) return wrong("'" + tasks + "' names no tasks; 0-3,7 or * would");
      std::optional<std::uint32_t> twice;
      set->for_each([&](std::uint32_t task) {
        if (!twice && named.contains(task)) twice = task;
        named.insert(task);
      });
      if (twice) return wrong("Duplicate record for task " + std::to_string(*twice));
      added.tasks = *std::move(set);
    }
    if (words.words.empty()) return wrong("no program for the tasks " + tasks);
    added.words = std::move(words.words);
    out.lines_.push_back(std::move(added));
  }
  if (out.lines_.empty()) return fail(Errc::invalid, "it names no program");
  return out;
}

const MultiProg::Line* MultiProg::line_of(std::uint32_t task) const {
  for (const Line& line : lines_)
    if (line.everybody || line.tasks.contains(task)) return &line;
  return nullptr;
}

Result<std::vector<std::string>> MultiProg::command_of(std::uint32_t task) const {
  const Line* line = line_of(task);
  if (line == nullptr) return fail(Errc::invalid, "no program for task " + std::to_string(task));
  std::size_t offset = line->everybody ? task : 0;
  if (!line->everybody)
    for (const auto& range : line->tasks.ranges()) {
      if (range.first > task) break;
      offset += std::min(task, range.last + 1) - range.first;
    }
  std::vector<std::string> out;
  for (const std::string& word : line->words) out.push_back(replaced(word, task, offset));
  return out;
}

Result<void> MultiProg::check(std::uint32_t tasks) const {
  for (std::uint32_t task = 0; task < tasks; ++task)
    if (line_of(task) == nullptr) return fail(Errc::invalid, "no program for task " + std::to_string(task));
  return {};
}

}  // namespace millrace
