// src/cli/options/script.cpp - see script.h.
#include "cli/options/script.h"

#include "base/text.h"
#include "cli/options/foreign_directives.h"

#include <algorithm>

namespace millrace {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The first command ends the directives; comments, indented ones too, and empty lines do not.
bool is_command(std::string_view line) {
  const std::string_view text = trim(line);
  return !text.empty() && text[0] != '#';
}

// Words of one directive: quotes, backslash, and a comment that begins after a blank. A backslash at the end continues
// nothing.
Result<void> split_words(std::string_view line, std::string_view prefix, std::vector<std::string>& out) {
  std::string word;
  bool inside = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else if (c == '\\' && quote == '"' && i + 1 < line.size() && (line[i + 1] == '"' || line[i + 1] == '\\'))
        word += line[++i];
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == '\\') {
      if (++i == line.size()) break;
      word += line[i];
      inside = true;
    } else if (c == '#' && !inside) {
      break;
    } else if (is_blank(c)) {
      if (inside) out.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != '\0')
    return fail(Errc::refused,
                "There is an unmatched quote in line: " + std::string{prefix} + " " + std::string{trim(line)});
  if (inside) out.push_back(std::move(word));
  return {};
}

constexpr std::string_view own_prefixes[] = {"#SBATCH", "#SLURM"};

struct Foreign {
  std::string_view prefix;
  Result<ForeignLine> (*translate)(std::span<const std::string>);
  bool begins(std::string_view line) const {
    return line.starts_with(prefix) && line.size() > prefix.size() && is_blank(line[prefix.size()]);
  }
  Result<ForeignLine> read(std::string_view line) const {
    std::vector<std::string> own;
    MR_TRY_VOID(split_words(line.substr(prefix.size()), prefix, own));
    return translate(own);
  }
};
constexpr Foreign foreign_systems[] = {{"#PBS", read_pbs_directive}, {"#BSUB", read_lsf_directive}};

}  // namespace

std::vector<std::string> script_warnings(std::string_view script, bool ignore_pbs) {
  std::vector<std::string> out;
  bool warned = false;
  while (!script.empty()) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script = end == std::string_view::npos ? std::string_view{} : script.substr(end + 1);
    if (line.starts_with("#SLURM") && !warned)
      out.emplace_back("Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch"),
          warned = true;
    for (const Foreign& system : foreign_systems) {
      if (ignore_pbs || !system.begins(line)) continue;
      if (const auto foreign = system.read(line))
        for (const std::string& note : foreign->notes)
          out.push_back("Warning: " + std::string{system.prefix} + ' ' + note);
    }
    if (is_command(line)) break;
  }
  return out;
}

std::vector<std::string> script_problems(std::string_view script, std::uint64_t size_max) {
  if (script.empty()) return {"Batch script is empty!"};
  if (script.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos)
    return {"Batch script contains only whitespace!"};
  if (!script.starts_with("#!"))
    return {"This does not look like a batch script.  The first",
            "line must start with #! followed by the path to an interpreter.", "For instance: #!/bin/sh"};
  if (script.find('\0') != std::string_view::npos) return {"The batch script contains a NULL character '\\0'."};
  if (script.find("\r\n") != std::string_view::npos)
    return {"Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n)."};
  if (script.size() > size_max)
    return {"Batch script has " + std::to_string(script.size()) + " bytes, max_script_size allows " +
                std::to_string(size_max),
            "Batch job submission failed: Pathname of a file, directory or other parameter too long"};
  return {};
}

Result<std::vector<std::vector<std::string>>> script_words(std::string_view script, bool ignore_pbs) {
  std::vector<std::vector<std::string>> components(1);
  std::vector<std::string> foreign;  // weaker than #SBATCH, wherever they stand
  while (!script.empty()) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script = end == std::string_view::npos ? std::string_view{} : script.substr(end + 1);
    if (const auto own =
            std::ranges::find_if(own_prefixes, [&](std::string_view prefix) { return line.starts_with(prefix); });
        own != std::end(own_prefixes)) {
      const std::string_view rest = trim(line.substr(own->size()));
      if (rest == "hetjob" || rest == "packjob") {
        if (components.back().empty())
          return fail(Errc::refused, "#SBATCH " + std::string{rest} +
                                         " stands before the options of a component, with no others before it");
        components.emplace_back();
        continue;
      }
      std::vector<std::string>& out = components.back();
      const std::size_t before = out.size();
      MR_TRY_VOID(split_words(line.substr(own->size()), *own, out));
      if (out.size() > before && out[before].size() > 0 && out[before][0] != '-')
        return fail(Errc::refused, "Invalid directive found in batch script: " + out[before]);
      continue;
    }
    for (const Foreign& system : foreign_systems) {
      if (ignore_pbs || !system.begins(line)) continue;
      MR_TRY(const ForeignLine own, system.read(line));
      foreign.insert(foreign.end(), own.words.begin(), own.words.end());
    }
    if (is_command(line)) break;  // what follows is the job's own business
  }
  components.front().insert(components.front().begin(), foreign.begin(), foreign.end());
  if (components.size() > 1 && components.back().empty())
    return fail(Errc::refused, "after the last #SBATCH hetjob come the options of one more component");
  return components;
}

std::string wrap_script(std::string_view command) {
  return "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + std::string{command} + "\n";
}

}  // namespace millrace
