// src/cli/sacct_options.cpp - see sacct_options.h.
#include "cli/sacct_options.h"

#include "base/text.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> add(SacctDraft& d, Text v) {  // given twice, both count
  d.*field += (((d.*field).empty()) ? "" : ",") + std::string{v};
  return {};
}
template <auto field>
Result<void> keep(SacctDraft& d, Text v) {
  d.*field = std::string{v};
  return {};
}
template <auto field>
Result<void> on(SacctDraft& d, Text) {
  d.*field = true;
  return {};
}
Result<void> accept(SacctDraft&, Text) { return {}; }

template <DataForm form>
Result<void> set_data(SacctDraft& d, Text v) {
  MR_TRY(d.data, parse_data_wish(form, v));
  return {};
}

Result<void> set_unit(SacctDraft& d, Text v) {
  const std::string word = upper_case(v);
  if (word.size() != 1 || Text{"KMGTP"}.find(word[0]) == Text::npos)
    return fail(Errc::refused, "Invalid unit type '" + std::string{v} + "'. Possible options are 'KMGTP'");
  d.unit = word[0];
  return {};
}

Result<void> set_whole_het(SacctDraft& d, Text v) {
  if (!v.empty() && !equals_ignoring_case(v, "yes") && !equals_ignoring_case(v, "no"))
    return fail(Errc::refused, "Invalid --whole-hetjob value \"" + std::string{v} + "\". Valid values: [yes|no].");
  d.whole_het = !equals_ignoring_case(v, "no");
  return {};
}

// clang-format off
constexpr Option<SacctDraft> sacct_options_rows[] = {
    {"accounts", 'A', required, "<names>", any_tool, "", "", "jobs of these accounts", add<&SacctDraft::accounts>},
    {"allocations", 'X', none, "", any_tool, "", "", "jobs only, no steps", on<&SacctDraft::only_jobs>},
    {"allusers", 'a', none, "", any_tool, "", "", "jobs of all users", on<&SacctDraft::all_users>},
    {"allclusters", 'L', none, "", any_tool, "", "", "jobs of all users; there is one cluster", on<&SacctDraft::all_users>},
    {"array", '\0', none, "", any_tool, "", "", "accepted", accept, Effect::no_effect, "tasks of arrays have rows of their own"},
    {"associations", 'x', required, "<ids>", any_tool, "", "", "jobs of these associations, by number", add<&SacctDraft::associations>},
    {"batch-script", 'B', none, "", any_tool, "", "", "print the scripts of the jobs instead; of hidden ones where AccountingStoreFlags=job_script keeps them", on<&SacctDraft::scripts>},
    {"brief", 'b', none, "", any_tool, "", "", "id, state and exit code", on<&SacctDraft::brief>},
    {"cluster", '\0', required, "<names>", any_tool, "", "", "the same as --clusters", add<&SacctDraft::clusters>},
    {"clusters", 'M', required, "<names>", any_tool, "", "", "jobs of these clusters; all, or this one", add<&SacctDraft::clusters>},
    {"completion", 'c', none, "", any_tool, "", "", "from the file of completed jobs (JobCompType=jobcomp/filetxt) instead", on<&SacctDraft::completion>},
    {"constraints", 'C', required, "<list>", any_tool, "", "", "jobs that asked for these features", add<&SacctDraft::constraints>},
    {"delimiter", '\0', required, "<text>", any_tool, "", "", "between fields with -p or -P", keep<&SacctDraft::delimiter>},
    {"duplicates", 'D', none, "", any_tool, "", "", "also runs after which a job was requeued, and older jobs of the same number", on<&SacctDraft::every_run>},
    {"endtime", 'E', required, "<time>", any_tool, "", "", "jobs that existed before this", keep<&SacctDraft::end>},
    {"env-vars", '\0', none, "", any_tool, "", "", "print the environments of the jobs instead; of hidden ones where AccountingStoreFlags=job_env keeps them", on<&SacctDraft::environments>},
    {"expand-patterns", '\0', none, "", any_tool, "", "", "accepted", accept, Effect::no_effect, "names of files are shown with their patterns filled in"},
    {"federation", '\0', none, "", any_tool, "SACCT_FEDERATION", "", "accepted", accept, Effect::no_effect, "there is one cluster"},
    {"file", 'f', required, "<file>", any_tool, "", "", "this file of completed jobs, with -c; otherwise that of JobCompLoc", keep<&SacctDraft::file>},
    {"flags", 'F', required, "<list>", any_tool, "", "", "jobs started in these ways: SchedMain, SchedBackfill", add<&SacctDraft::flags>},
    {"format", 'o', required, "<fields>", any_tool, "SACCT_FORMAT", "", "these fields, as in JobID,State%20", keep<&SacctDraft::format>},
    {"gid", 'g', required, "<groups>", any_tool, "", "", "jobs of these groups", add<&SacctDraft::groups>},
    {"group", '\0', required, "<groups>", any_tool, "", "", "the same as --gid", add<&SacctDraft::groups>},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SacctDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"helpformat", 'e', none, "", any_tool, "", "", "list the fields", on<&SacctDraft::help_format>},
    {"helpreason", '\0', none, "", any_tool, "", "", "list the reasons", on<&SacctDraft::help_reason>},
    {"helpstate", '\0', none, "", any_tool, "", "", "list the states", on<&SacctDraft::help_state>},
    {"jobs", 'j', required, "<ids>", any_tool, "", "", "these jobs or steps: 12, 12.0, 12_3, 12+1", add<&SacctDraft::jobs>},
    {"json", '\0', optional, "version", any_tool, "", "", "as JSON", set_data<DataForm::json>},
    {"local", '\0', none, "", any_tool, "SACCT_LOCAL", "", "accepted", accept, Effect::no_effect, "there is one cluster"},
    {"long", 'l', none, "", any_tool, "", "", "many fields", on<&SacctDraft::long_form>},
    {"name", '\0', required, "<names>", any_tool, "", "", "jobs with these names", add<&SacctDraft::names>},
    {"ncpus", 'I', required, "<n[-m]>", any_tool, "", "", "jobs with so many CPUs", keep<&SacctDraft::cpu_range>},
    {"nnodes", 'i', required, "<n[-m]>", any_tool, "", "", "jobs with so many nodes", keep<&SacctDraft::node_range>},
    {"nodelist", 'N', required, "<nodes>", any_tool, "", "", "jobs that were on any of these nodes", add<&SacctDraft::nodes>},
    {"noconvert", '\0', none, "", any_tool, "", "", "sizes in bytes", on<&SacctDraft::exact>},
    {"noheader", 'n', none, "", any_tool, "", "", "no header", [](SacctDraft& d, Text) -> Result<void> { d.style.header = false; return {}; }},
    {"parsable", 'p', none, "", any_tool, "", "", "fields end with |", [](SacctDraft& d, Text) -> Result<void> { d.style.parsable = Parsable::with_end; return {}; }},
    {"parsable2", 'P', none, "", any_tool, "", "", "| between fields", [](SacctDraft& d, Text) -> Result<void> { d.style.parsable = Parsable::without_end; return {}; }},
    {"partition", 'r', required, "<names>", any_tool, "", "", "jobs in these partitions", add<&SacctDraft::partitions>},
    {"qos", 'q', required, "<names>", any_tool, "", "", "jobs with these QOS", add<&SacctDraft::qos>},
    {"reason", 'R', required, "<reasons>", any_tool, "", "", "jobs with these reasons", add<&SacctDraft::reasons>},
    {"starttime", 'S', required, "<time>", any_tool, "", "", "jobs that existed after this", keep<&SacctDraft::start>},
    {"state", 's', required, "<states>", any_tool, "", "", "jobs in these states", add<&SacctDraft::states>},
    {"timelimit-max", 'K', required, "<time>", any_tool, "", "", "jobs with at most this time limit", keep<&SacctDraft::limit_most>},
    {"timelimit-min", 'k', required, "<time>", any_tool, "", "", "jobs with this time limit, or from it", keep<&SacctDraft::limit_least>},
    {"truncate", 'T', none, "", any_tool, "", "", "times outside -S and -E are shown as those", on<&SacctDraft::truncate>},
    {"uid", 'u', required, "<users>", any_tool, "", "", "jobs of these users", add<&SacctDraft::users>},
    {"units", '\0', required, "<K|M|G|T|P>", any_tool, "", "", "sizes in this unit", set_unit},
    {"usage", 'U', none, "", any_tool, "", "", "show a short summary", [](SacctDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"use-local-uid", '\0', none, "", any_tool, "", "", "accepted", accept, Effect::no_effect, "names are those of this host where the controller has none"},
    {"user", '\0', required, "<users>", any_tool, "", "", "the same as --uid", add<&SacctDraft::users>},
    {"verbose", 'v', none, "", any_tool, "", "", "say more", accept},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SacctDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"wckeys", 'W', required, "<keys>", any_tool, "", "", "jobs with these workload keys", add<&SacctDraft::wckeys>},
    {"whole-hetjob", '\0', optional, "yes|no", any_tool, "", "", "whether the number of one component means all of them (no)", set_whole_het},
    {"yaml", '\0', optional, "version", any_tool, "", "", "as YAML", set_data<DataForm::yaml>},
};
// clang-format on

}  // namespace

std::span<const Option<SacctDraft>> sacct_options() { return sacct_options_rows; }

}  // namespace millrace
