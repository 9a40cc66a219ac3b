// src/cli/options/foreign_directives.h - options of PBS's qsub and LSF's bsub as options of sbatch: one row each, for
// #PBS and #BSUB lines and for the commands of those systems.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

// What help and man pages say of an option of theirs.
struct ForeignText {
  std::string_view name, value, help, refused;
};
std::vector<ForeignText> pbs_option_texts();
std::vector<ForeignText> lsf_option_texts();

// Options of qsub or bsub, as words for sbatch, and on a command line what is to be run. What has no meaning here and
// harms nobody comes to nothing; an unknown option is an error.
struct ForeignLine {
  std::vector<std::string> words;     // for sbatch
  std::vector<std::string> operands;  // script and arguments, or a command
  std::vector<std::string> flags;     // options as given that sbatch has no word for and the front end has: -I, -z
  std::vector<std::string> notes;     // what was read and changes nothing, for the user to know
};
Result<ForeignLine> read_pbs_directive(std::span<const std::string> words);  // of a line of the script
Result<ForeignLine> read_lsf_directive(std::span<const std::string> words);
Result<ForeignLine> read_pbs_line(std::span<const std::string> words);
Result<ForeignLine> read_lsf_line(std::span<const std::string> words);

}  // namespace millrace
