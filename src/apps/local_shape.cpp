// src/apps/local_shape.cpp - see local_shape.h.
#include "apps/local_shape.h"

#include <string_view>

#include "base/text.h"

namespace millrace {

std::string words_of(const LocalShape& shape) {
  std::string out;
  const auto add = [&](const char* name, const std::optional<std::uint32_t>& value) {
    if (value) out += (out.empty() ? "" : " ") + std::string{name} + "=" + std::to_string(*value);
  };
  add("nodes", shape.nodes);
  add("cpus", shape.cpus);
  add("memory", shape.memory_mib);
  return out;
}

std::optional<LocalShape> shape_of(const std::string& conf_text) {
  if (!conf_text.starts_with(shape_words)) return std::nullopt;
  const std::string_view line =
      std::string_view{conf_text}.substr(shape_words.size(), conf_text.find('\n') - shape_words.size());
  LocalShape shape;
  for (const std::string_view word : split(line, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const auto number = parse_integer(word.substr(equals + 1));
    if (!number || *number < 1 || *number > UINT32_MAX) continue;
    const std::string_view name = word.substr(0, equals);
    if (name == "nodes") shape.nodes = static_cast<std::uint32_t>(*number);
    if (name == "cpus") shape.cpus = static_cast<std::uint32_t>(*number);
    if (name == "memory") shape.memory_mib = static_cast<std::uint32_t>(*number);
  }
  return shape;
}

std::optional<std::string> difference(const LocalShape& asked, const LocalShape& there) {
  const auto differs = [](const auto& a, const auto& b) { return a && a != b; };
  if (!differs(asked.nodes, there.nodes) && !differs(asked.cpus, there.cpus) &&
      !differs(asked.memory_mib, there.memory_mib))
    return std::nullopt;
  return "it was made with " + words_of(there) + ", and now " + words_of(asked) +
         " is asked for; leave the numbers out to start it as it is, name another --dir, or remove it with `millrace "
         "down --forget`";
}

}  // namespace millrace
