// src/base/hostlist.cpp - see hostlist.h.
#include "base/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::size_t bytes_max = 16u << 20;  // of all names together
constexpr std::size_t brackets_max = 64;      // of one name

struct Numbered {
  std::string prefix;
  std::size_t width = 0;  // digits written, zeros included
  std::int64_t number = -1;
  auto operator<=>(const Numbered&) const = default;
};

Numbered take_apart(const std::string& name) {
  std::size_t digits = 0;
  while (digits < name.size() && digits < 15 && name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9')
    ++digits;
  if (digits == 0) return {name, 0, -1};
  return {name.substr(0, name.size() - digits), digits,
          *parse_integer(std::string_view{name}.substr(name.size() - digits))};
}

std::string pad(std::int64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

// A list may come from anybody: what it is quoted as stays short, what it stands for stays bounded.
std::unexpected<Error> bad_list(std::string_view list, std::string_view why) {
  constexpr std::size_t shown_max = 80;
  const std::string shown{list.substr(0, shown_max)};
  return fail(Errc::invalid, "not a node list: '" + shown + (list.size() > shown_max ? "..." : "") + "' (" +
                                 std::string{why} + "; expected names like n[1-3,5],login)");
}

// What is taken apart, and how many names it may stand for.
struct Whole {
  std::string_view list;
  std::size_t names_max;
};

std::unexpected<Error> too_many(const Whole& whole) {
  return bad_list(whole.list, "more than " + std::to_string(whole.names_max) + " names or " +
                                  std::to_string(bytes_max >> 20) + " MiB of them");
}

// A word between its brackets: text, then the numbers of the bracket behind it.
struct Piece {
  std::string_view text;
  std::vector<std::string> numbers;  // empty: the word ends here
};

Result<std::vector<std::string>> expand_brackets(std::string_view inside, const Whole& whole) {
  std::vector<std::string> out;
  for (const std::string_view part : split(inside, ',')) {
    const std::size_t dash = part.find('-');
    const std::string_view first = part.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    const auto plain = [](std::string_view t) {
      return !t.empty() && t.size() <= 15 && t.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (!plain(first) || !plain(last)) return bad_list(whole.list, "brackets hold numbers and ranges of them");
    const std::int64_t low = *parse_integer(first), high = *parse_integer(last);
    if (high < low) return bad_list(whole.list, "a range ends before it begins");
    if (high - low >= static_cast<std::int64_t>(whole.names_max - out.size())) return too_many(whole);
    for (std::int64_t i = low; i <= high; ++i) out.push_back(pad(i, first.size()));
  }
  return out;
}

Result<std::vector<Piece>> take_apart_word(std::string_view word, const Whole& whole) {
  std::vector<Piece> out;
  for (std::size_t count = 1;;) {
    const std::size_t open = word.find('[');
    const std::string_view text = word.substr(0, open);
    if (text.find(']') != std::string_view::npos)
      return bad_list(whole.list, "a bracket is closed that was not opened");
    out.push_back({text, {}});
    if (open == std::string_view::npos) return out;
    const std::size_t close = word.find(']', open);
    if (close == std::string_view::npos) return bad_list(whole.list, "a bracket is not closed");
    if (out.size() > brackets_max)
      return bad_list(whole.list, "a name has more than " + std::to_string(brackets_max) + " brackets");
    MR_TRY(out.back().numbers, expand_brackets(word.substr(open + 1, close - open - 1), whole));
    count *= out.back().numbers.size();
    if (count > whole.names_max) return too_many(whole);
    word.remove_prefix(close + 1);
  }
}

// The names of one word, the last bracket changing fastest. Everything is counted before anything is made.
Result<void> expand_word(std::string_view word, const Whole& whole, std::vector<std::string>& out, std::size_t& bytes) {
  MR_TRY(const std::vector<Piece> pieces, take_apart_word(word, whole));
  std::size_t count = 1, length = 0;
  for (const Piece& piece : pieces) {
    length += piece.text.size();
    if (piece.numbers.empty()) continue;
    count *= piece.numbers.size();
    length += std::ranges::max(piece.numbers, {}, &std::string::size).size();
  }
  bytes += count * length;
  if (out.size() + count > whole.names_max || bytes > bytes_max) return too_many(whole);
  std::vector<std::size_t> at(pieces.size(), 0);
  for (std::size_t made = 0; made < count; ++made) {
    std::string& name = out.emplace_back();
    name.reserve(length);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      name += pieces[i].text;
      if (!pieces[i].numbers.empty()) name += pieces[i].numbers[at[i]];
    }
    for (std::size_t i = pieces.size(); i-- > 0;) {
      if (pieces[i].numbers.empty()) continue;
      if (++at[i] < pieces[i].numbers.size()) break;
      at[i] = 0;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t names_max) {
  std::vector<std::string> out;
  std::size_t begin = 0, bytes = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || (depth != 0 && i < list.size())) continue;
    const std::string_view word = trim(list.substr(begin, i - begin));
    if (!word.empty()) {
      MR_TRY_VOID(expand_word(word, {list, names_max}, out, bytes));
    }
    begin = i + 1;
  }
  return out;
}

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string out;
  std::vector<Numbered> group;  // same prefix, same width, in order
  const auto flush = [&] {
    if (group.empty()) return;
    if (!out.empty()) out += ',';
    out += group.front().prefix;
    if (group.front().number < 0) {
      group.clear();
      return;
    }
    std::string ranges;
    for (std::size_t i = 0; i < group.size();) {
      std::size_t j = i;
      while (j + 1 < group.size() && group[j + 1].number == group[j].number + 1) ++j;
      if (!ranges.empty()) ranges += ',';
      ranges += pad(group[i].number, group[i].width);
      if (j > i) ranges += '-' + pad(group[j].number, group[j].width);
      i = j + 1;
    }
    out += group.size() > 1 ? '[' + ranges + ']' : ranges;
    group.clear();
  };
  const auto compatible = [](const Numbered& a, const Numbered& b) {
    if (a.number < 0 || b.number < 0 || a.prefix != b.prefix) return false;
    // "9" and "10" share a group (no padding); "09" and "010" do not.
    const bool a_padded = std::to_string(a.number).size() != a.width,
               b_padded = std::to_string(b.number).size() != b.width;
    return a.width == b.width || (!a_padded && !b_padded);
  };
  for (const std::string& name : names) {
    Numbered parts = take_apart(name);
    if (!group.empty() && !compatible(group.back(), parts)) flush();
    group.push_back(std::move(parts));
  }
  flush();
  return out;
}

std::string compress_hostlist_sorted(std::vector<std::string> names) {
  std::vector<std::pair<Numbered, std::string>> keyed;
  for (std::string& name : names) keyed.emplace_back(take_apart(name), std::move(name));
  std::ranges::sort(keyed, [](const auto& a, const auto& b) {
    if (a.first.prefix != b.first.prefix) return a.first.prefix < b.first.prefix;
    if (a.first.number != b.first.number) return a.first.number < b.first.number;
    return a.first.width < b.first.width;
  });
  names.clear();
  for (auto& [parts, name] : keyed)
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  return compress_hostlist(names);
}

}  // namespace millrace
