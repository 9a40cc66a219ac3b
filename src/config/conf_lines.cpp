// src/config/conf_lines.cpp - see conf_lines.h.
#include "config/conf_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace millrace {
namespace {

constexpr int include_depth_max = 16;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// One written line without its comment; true when it goes on in the next one.
bool take_line(std::string_view raw, std::string& out) {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '#') return false;
    if (raw[i] == '\\' && i + 1 < raw.size() && raw[i + 1] == '#') {
      out += '#';
      ++i;
      continue;
    }
    if (raw[i] == '\\' && trim(raw.substr(i + 1)).empty()) return true;
    out += raw[i];
  }
  return false;
}

void split_pairs(std::string_view text, ConfLine& line) {
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && is_blank(text[at])) ++at;
  };
  for (skip(); at < text.size(); skip()) {
    const std::size_t begin = at;
    while (at < text.size() && is_key_char(text[at])) ++at;
    std::string key{text.substr(begin, at - begin)};
    skip();
    if (key.empty() || at >= text.size() || text[at] != '=') {
      line.problem = "expected Key=Value, found '" + std::string{trim(text.substr(begin))} + "'";
      return;
    }
    ++at;
    skip();
    std::string value;
    if (at < text.size() && text[at] == '"') {
      const std::size_t close = text.find('"', at + 1);
      if (close == std::string_view::npos) {
        line.problem = "the value of " + key + " begins with a quote that is never closed";
        return;
      }
      value = text.substr(at + 1, close - at - 1);
      at = close + 1;
    } else {
      const std::size_t first = at;
      while (at < text.size() && !is_blank(text[at])) ++at;
      value = text.substr(first, at - first);
    }
    line.pairs.push_back({std::move(key), std::move(value)});
  }
}

// %c is the name of the cluster, as far as the lines above have said it.
std::string with_cluster_name(std::string text, const std::vector<ConfLine>& above) {
  std::string name;
  for (const ConfLine& line : above)
    for (const ConfPair& pair : line.pairs)
      if (equals_ignoring_case(pair.key, "ClusterName")) name = lower(pair.value);
  for (std::size_t at = 0; !name.empty() && (at = text.find("%c", at)) != std::string::npos; at += name.size())
    text.replace(at, 2, name);
  return text;
}

Result<void> read_into(const std::string& path, int depth, std::vector<ConfLine>& out) {
  if (depth > include_depth_max) return fail(Errc::invalid, path + ": files include each other without end");
  MR_TRY(const std::string text, read_conf_file(path));
  for (ConfLine& line : split_conf_text(text, path)) {
    if (line.pairs.size() != 1 || line.pairs[0].key != "Include") {
      out.push_back(std::move(line));
      continue;
    }
    std::string target = with_cluster_name(line.pairs[0].value, out);
    if (const std::size_t slash = path.rfind('/'); target[0] != '/' && slash != std::string::npos)
      target.insert(0, path, 0, slash + 1);
    MR_TRY_VOID(in_context(read_into(target, depth + 1, out), path + ":" + std::to_string(line.line)));
  }
  return {};
}

}  // namespace

std::vector<ConfLine> split_conf_text(std::string_view text, const std::string& file) {
  std::vector<ConfLine> out;
  std::string logical;
  int number = 0, first = 1;
  bool goes_on = false;
  while (!text.empty() || goes_on) {
    const std::size_t end = text.find('\n');
    const std::string_view raw = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (!goes_on) first = number;
    goes_on = take_line(raw, logical) && !text.empty();
    if (goes_on) continue;
    const std::string_view whole = trim(logical);
    if (!whole.empty()) {
      ConfLine line{file, first, {}, {}};
      const std::size_t gap = whole.find_first_of(" \t");
      if (gap != std::string_view::npos && equals_ignoring_case(whole.substr(0, gap), "include"))
        line.pairs.push_back({"Include", std::string{trim(whole.substr(gap))}});
      else
        split_pairs(whole, line);
      out.push_back(std::move(line));
    }
    logical.clear();
  }
  return out;
}

Result<std::string> read_conf_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errno == ENOENT ? Errc::not_found : Errc::io, path + ": " + std::strerror(errno));
  std::string out;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) out.append(buffer, static_cast<std::size_t>(got));
  const int problem = got < 0 ? errno : 0;
  close(fd);
  if (problem != 0) return fail(Errc::io, path + ": " + std::strerror(problem));
  return out;
}

Result<std::vector<ConfLine>> read_conf_lines(const std::string& path) {
  std::vector<ConfLine> out;
  MR_TRY_VOID(read_into(path, 0, out));
  return out;
}

}  // namespace millrace
