// src/config/plugstack_conf.cpp - see plugstack_conf.h.
#include "config/plugstack_conf.h"

#include <glob.h>
#include <unistd.h>

#include "base/text.h"

namespace millrace {
namespace {

constexpr int include_depth_max = 16;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
}

class Reader {
 public:
  void take_text(std::string_view text, const std::string& path, int depth) {
    int number = 0;
    for (const std::string_view raw : split(text, '\n')) {
      ++number;
      const std::vector<std::string> words = words_of(raw.substr(0, raw.find('#')));
      if (!words.empty()) take_line(words, path, number, depth);
    }
  }
  void take_file(const std::string& path, int depth) {
    if (depth > include_depth_max)
      return stack.problems.push_back({"PlugStackConfig", path, 0, "files include each other without end"});
    const auto text = read_conf_file(path);
    if (!text) return stack.problems.push_back({"PlugStackConfig", path, 0, text.error().story});
    take_text(*text, path, depth);
  }

  PlugStack stack;

 private:
  static std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> out;
    std::size_t at = 0;
    while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      out.emplace_back(line.substr(at, end - at));
      at = end;
    }
    return out;
  }

  void take_line(const std::vector<std::string>& words, const std::string& path, int number, int depth) {
    const auto wrong = [&](const std::string& what) {
      stack.problems.push_back({"PlugStackConfig", path, number, what});
    };
    const bool required = equals_ignoring_case(words[0], "required");
    if (equals_ignoring_case(words[0], "include")) {
      if (words.size() != 2) return wrong("include takes one name, which may have * and ?");
      return include(words[1], path, depth);
    }
    if (!required && !equals_ignoring_case(words[0], "optional"))
      return wrong("'" + words[0] + "' is wrong, required, optional or include would be right");
    if (words.size() < 2) return wrong(words[0] + " takes the path of a plugin and its arguments");
    stack.lines.push_back({path, number, required, words[1], {words.begin() + 2, words.end()}});
  }

  // Names that are not there are none: a folder of files that packages bring may be empty.
  void include(const std::string& pattern, const std::string& path, int depth) {
    const std::string whole = pattern.starts_with('/') ? pattern : folder_of(path) + pattern;
    glob_t found{};
    if (glob(whole.c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = 0; i < found.gl_pathc; ++i) take_file(found.gl_pathv[i], depth + 1);
    globfree(&found);
  }
};

}  // namespace

PlugStack parse_plugstack(std::string_view text, const std::string& path) {
  Reader reader;
  reader.take_text(text, path, 0);
  return std::move(reader.stack);
}

PlugStack read_plugstack(const std::vector<ConfLine>& slurm_conf, const std::string& slurm_conf_path) {
  std::string path = folder_of(slurm_conf_path) + "plugstack.conf";
  bool named = false;
  for (const ConfLine& line : slurm_conf)
    for (const ConfPair& pair : line.pairs)
      if (equals_ignoring_case(pair.key, "PlugStackConfig") && !pair.value.empty()) {
        path = pair.value.starts_with('/') ? pair.value : folder_of(slurm_conf_path) + pair.value;
        named = true;
      }
  Reader reader;
  if (named || access(path.c_str(), F_OK) == 0) reader.take_file(path, 0);
  return std::move(reader.stack);
}

void take_plugstack(const PlugStack& stack, Configuration& configuration) {
  configuration.adjusted.insert(configuration.adjusted.end(), stack.problems.begin(), stack.problems.end());
  for (const PlugStackLine& line : stack.lines)
    configuration.not_built.push_back({(line.required ? "required plugin " : "optional plugin ") + line.plugin,
                                       line.file, line.line, "SPANK plugins are not loaded yet"});
}

}  // namespace millrace
