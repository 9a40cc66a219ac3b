// src/cli/compat/compat.h - commands of PBS and LSF over ours, for scripts and fingers that know no others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/options/foreign_directives.h"
#include "client.pb.h"

namespace millrace {

int run_qsub(Command& command);
int run_qstat(Command& command);
int run_qdel(Command& command);
int run_qhold(Command& command);
int run_qrls(Command& command);
int run_qalter(Command& command);
int run_qrerun(Command& command);
int run_pbsnodes(Command& command);
int run_bsub(Command& command);
int run_bjobs(Command& command);
int run_bkill(Command& command);
int run_lsid(Command& command);

// Man pages.
std::string qsub_manual();
std::string qstat_manual();
std::string qdel_manual();
std::string qhold_manual();
std::string qrls_manual();
std::string qalter_manual();
std::string qrerun_manual();
std::string pbsnodes_manual();
std::string bsub_manual();
std::string bjobs_manual();
std::string bkill_manual();
std::string lsid_manual();

// Words that completion offers.
std::string qsub_words();
std::string qstat_words();
std::string qdel_words();
std::string qhold_words();
std::string qrls_words();
std::string qalter_words();
std::string qrerun_words();
std::string pbsnodes_words();
std::string bsub_words();
std::string bjobs_words();
std::string bkill_words();
std::string lsid_words();

// What they have in common.
using CommandFunction = int (*)(Command&);
// Another command with these words; it speaks in our name.
int run_as(const Command& command, CommandFunction run, const std::vector<std::string>& words,
           std::vector<std::string> defaults = {});
// One question; what went wrong is said and the result is empty.
Result<wire::Reply> ask_controller(const Command& command, wire::Request& request);
// Numbers of the controller's refusals that the others have words of their own for.
constexpr std::uint32_t access_denied = 2002, invalid_job_id = 2017, already_done = 2021;
std::string job_number(std::string_view text);  // 12.server and 12[3].server as 12 and 12_3
// What the job is to know of the place it was submitted from; the node adds the rest (step/compat_environment).
void mark_as_pbs(bool interactive);
void mark_as_lsf(bool interactive);
// Of qsub and bsub, whose options are words for sbatch: one row each (cli/options/foreign_directives).
bool asks_help(const Command& command, const ManualHead& head, std::span<const ForeignText> options);
std::string foreign_manual(const ManualHead& head, std::span<const ForeignText> options);
// Their options have one dash, also those that are words: -a, -noheader.
std::string offered_words(std::span<const OptionText> options);
std::string offered_words(std::span<const ForeignText> options);

}  // namespace millrace
