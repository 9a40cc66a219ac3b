// src/cli/options/foreign_directives.cpp - see foreign_directives.h.
#include "cli/options/foreign_directives.h"

#include <optional>
#include <string_view>

#include "base/text.h"

namespace millrace {
namespace {

using Text = std::string_view;
using Words = std::vector<std::string>;
using Translate = Result<void> (*)(Text value, Words& out);

struct ForeignOption {
  Text name;   // with its dash
  Text value;  // how help calls it; empty: it takes none
  Text help;
  Translate put;   // nullptr: nothing to do here
  Text refused{};  // why a job that asks for it would not get what it expects
  std::string (*note)(Text value) =
      nullptr;  // said once where a part of the value changes nothing; empty: nothing is said
};

void add(Words& out, Text option, Text value) { out.push_back(std::string{option} + "=" + std::string{value}); }

std::string dec(std::int64_t number) { return std::to_string(number); }

// "ncpus=4:mem=8gb" into pairs; the first may have no '='.
std::vector<std::pair<Text, Text>> pairs_of(Text list, char separator) {
  std::vector<std::pair<Text, Text>> out;
  for (const Text raw : split(list, separator)) {
    const Text word = trim(raw);
    const std::size_t equals = word.find('=');
    if (!word.empty())
      out.emplace_back(word.substr(0, equals), equals == Text::npos ? Text{} : word.substr(equals + 1));
  }
  return out;
}

bool is_number(Text text) { return !text.empty() && text.find_first_not_of("0123456789") == Text::npos; }

// ---- PBS ----

// nodes=2:ppn=4:gpus=1:fast+1:ppn=8, or nodes=n1+n2: how many, or which.
Result<void> put_nodes(Text value, Words& out) {
  std::int64_t nodes = 0, per_node = 0;
  std::string names, features;
  for (const Text part : split(value, '+')) {
    bool first = true;
    for (const auto& [key, given] : pairs_of(part, ':')) {
      if (first && is_number(key))
        nodes += parse_integer(key).value_or(0);
      else if (first)
        names += (names.empty() ? "" : ",") + std::string{key}, ++nodes;
      else if (key == "ppn")
        per_node = std::max(per_node, parse_integer(given).value_or(0));
      else if (key == "gpus")
        add(out, "--gpus-per-node", given);
      else if (given.empty() && !is_number(key))
        features += (features.empty() ? "" : "&") + std::string{key};
      else
        return fail(Errc::refused, "#PBS -l nodes=" + std::string{value} + ": '" + std::string{key} +
                                       "' is not known; a number, a node, ppn=, gpus= or a feature is");
      first = false;
    }
  }
  if (nodes > 0) add(out, "--nodes", dec(nodes));
  if (!names.empty()) add(out, "--nodelist", names);
  if (per_node > 0) add(out, "--ntasks-per-node", dec(per_node));
  if (!features.empty()) add(out, "--constraint", features);
  return {};
}

// select=2:ncpus=8:mpiprocs=4:ompthreads=2:mem=8gb:ngpus=1
Result<void> put_select(Text value, Words& out) {
  if (value.find('+') != Text::npos)
    return fail(Errc::refused, "#PBS -l select=" + std::string{value} +
                                   ": several chunks are a heterogeneous job; #SBATCH hetjob separates them");
  std::int64_t cpus = 0, tasks = 0;
  bool first = true;
  for (const auto& [key, given] : pairs_of(value, ':')) {
    if (first && is_number(key))
      add(out, "--nodes", key);
    else if (key == "ncpus")
      cpus = parse_integer(given).value_or(0);
    else if (key == "mpiprocs")
      tasks = parse_integer(given).value_or(0);
    else if (key == "mem")
      add(out, "--mem", given);
    else if (key == "ngpus")
      add(out, "--gpus-per-node", given);
    else if (key == "host" || key == "vnode")
      add(out, "--nodelist", given);
    else if (key == "ompthreads" || key == "arch")
      continue;
    else
      return fail(Errc::refused, "#PBS -l select=" + std::string{value} + ": '" + std::string{key} + "' is not known");
    first = false;
  }
  if (tasks > 0) add(out, "--ntasks-per-node", dec(tasks));
  if (cpus > 0 && tasks > 0 && cpus % tasks == 0)
    add(out, "--cpus-per-task", dec(cpus / tasks));
  else if (cpus > 0 && tasks == 0)
    add(out, "--ntasks-per-node", "1"), add(out, "--cpus-per-task", dec(cpus));
  else if (cpus > 0)
    add(out, "--mincpus", dec(cpus));
  return {};
}

// One resource of a list: which option of sbatch it is. Empty: nothing to do here.
struct ResourceRow {
  Text name, option;
};
constexpr ResourceRow pbs_resources[] = {
    {"walltime", "--time"},
    {"cput", "--time"},
    {"mem", "--mem"},
    {"pmem", "--mem-per-cpu"},
    {"ncpus", "--mincpus"},
    {"procs", "--ntasks"},
    {"mpiprocs", "--ntasks-per-node"},
    {"nice", "--nice"},
    {"host", "--nodelist"},
    {"file", "--tmp"},
    {"feature", "--constraint"},
    {"proc", "--constraint"},
    {"ngpus", "--gpus"},
    {"gpus", "--gpus"},
    {"software", "--licenses"},
    {"vmem", ""},
    {"pvmem", ""},
    {"pcput", ""},
    {"arch", ""},
    {"opsys", ""},
    {"other", ""},
    {"naccesspolicy", ""},
    {"qos", "--qos"},
};

// scatter:excl; free and shared are what is done anyway. Of pack and group= see resources_without_effect.
Result<void> put_place(Text value, Words& out) {
  for (const Text word : split(value, ':')) {
    if (word.starts_with("excl"))
      out.emplace_back("--exclusive");
    else if (word == "scatter" || word == "vscatter")
      out.emplace_back("--spread-job");
    else if (word != "free" && word != "shared" && word != "pack" && !word.starts_with("group="))
      return fail(Errc::refused, "#PBS -l place=" + std::string{value} + ": '" + std::string{word} +
                                     "' is not known; free, scatter, pack, excl or shared is");
  }
  return {};
}

Result<void> put_resources(Text value, Words& out) {
  // Commas separate resources; those of a list of nodes stand in one of them.
  for (const auto& [key, given] : pairs_of(value, ',')) {
    if (key == "nodes") {
      MR_TRY_VOID(put_nodes(given, out));
      continue;
    }
    if (key == "select") {
      MR_TRY_VOID(put_select(given, out));
      continue;
    }
    if (key == "place") {
      MR_TRY_VOID(put_place(given, out));
      continue;
    }
    const ResourceRow* known = nullptr;
    for (const ResourceRow& row : pbs_resources)
      if (row.name == key) known = &row;
    if (known == nullptr)
      return fail(Errc::refused,
                  "#PBS -l " + std::string{key} + ": this resource is not known; --ignore-pbs skips all #PBS lines");
    // Seconds are what PBS counts time in.
    if (known->option == "--time" && is_number(given))
      add(out, "--time", "0:" + std::string{given});
    else if (!known->option.empty())
      add(out, known->option, given);
  }
  return {};
}

// Which of them were read and come to nothing.
std::string resources_without_effect(Text value) {
  std::string names;
  for (const auto& [key, given] : pairs_of(value, ',')) {
    for (const ResourceRow& row : pbs_resources)
      if (row.name == key && row.option.empty()) names += (names.empty() ? "" : ", ") + std::string{key};
    for (const Text word : split(key == "place" ? given : Text{}, ':'))
      if (word == "pack" || word.starts_with("group="))
        names += (names.empty() ? "" : ", ") + std::string{"place="} + std::string{word};
    if (key == "select" && given.find(":ompthreads=") != Text::npos)
      names += (names.empty() ? "" : ", ") + std::string{"ompthreads (OMP_NUM_THREADS in the script does it)"};
  }
  return names.empty() ? "" : "-l " + names + ": changes nothing here";
}

Result<void> put_mail(Text value, Words& out) {
  std::string types;
  for (const char letter : value) {
    const Text word = letter == 'a'                    ? "FAIL"
                      : letter == 'b'                  ? "BEGIN"
                      : letter == 'e'                  ? "END"
                      : letter == 'n' || letter == 'p' ? "NONE"
                                                       : "";
    if (word.empty()) return fail(Errc::refused, "#PBS -m " + std::string{value} + ": a, b, e or n is right");
    types += (types.empty() ? "" : ",") + std::string{word};
  }
  add(out, "--mail-type", types);
  return {};
}

// depend=afterok:1:2,umask=022 and the like.
Result<void> put_attributes(Text value, Words& out) {
  const auto take_dependencies = [&](Text list) {
    std::string found;
    for (const Text part : split(list, ',')) {
      Text word = trim(part);
      if (word.starts_with("on:") || word.starts_with("before"))
        continue;  // of jobs that are submitted later: they name this one
      found += (found.empty() ? "" : ",") + std::string{word};
    }
    if (!found.empty()) add(out, "--dependency", found);
  };
  if (value.starts_with("depend=")) return take_dependencies(value.substr(7)), Result<void>{};
  for (const auto& [key, given] : pairs_of(value, ',')) {
    if (key == "block") {
      if (equals_ignoring_case(given, "true")) out.emplace_back("--wait");
      continue;
    }
    if (key == "stagein" || key == "stageout" || key == "group_list" || key == "umask")
      return fail(Errc::refused,
                  "#PBS -W " + std::string{key} + ": " +
                      (key.starts_with("stage") ? "files are not copied; sbcast and cp in the script do it"
                       : key == "umask"         ? "the job has the umask of its submitter"
                                                : "newgrp before qsub does it"));
    if (key == "x" || key == "sandbox") continue;
    if (key == "depend")
      take_dependencies(given);
    else
      return fail(Errc::refused, "#PBS -W " + std::string{key} + ": this attribute is not known; depend= is");
  }
  return {};
}

Result<void> put_requeue(Text value, Words& out) {
  if (value != "y" && value != "n") return fail(Errc::refused, "#PBS -r " + std::string{value} + ": y or n is right");
  out.push_back(value == "y" ? "--requeue" : "--no-requeue");
  return {};
}

// [[CC]YY]MMDDhhmm[.SS]
Result<void> put_begin(Text value, Words& out) {
  Text digits = value.substr(0, value.find('.'));
  if (!is_number(digits) || (digits.size() != 4 && digits.size() != 8 && digits.size() != 10 && digits.size() != 12)) {
    add(out, "--begin", value);  // as sbatch has it
    return {};
  }
  const Text clock = digits.substr(digits.size() - 4);
  const std::string time = std::string{clock.substr(0, 2)} + ":" + std::string{clock.substr(2)};
  digits.remove_suffix(4);
  if (digits.empty())
    add(out, "--begin", time);
  else {
    const Text month = digits.substr(digits.size() - 4, 2), day = digits.substr(digits.size() - 2);
    const std::string year{digits.substr(0, digits.size() - 4)};
    add(out, "--begin",
        year.empty()
            ? std::string{month} + "/" + std::string{day} + "T" + time
            : (year.size() == 2 ? "20" + year : year) + "-" + std::string{month} + "-" + std::string{day} + "T" + time);
  }
  return {};
}

// host:path is that path on the job's own nodes.
Text path_of(Text value) {
  const std::size_t colon = value.find(':');
  return colon == Text::npos ? value : value.substr(colon + 1);
}

// PBS counts the other way round.
Result<void> put_priority(Text value, Words& out) {
  const auto number = parse_integer(value);
  if (!number) return fail(Errc::refused, "#PBS -p " + std::string{value} + ": a number is right");
  if (*number != 0)
    add(out, "--nice", dec(-*number));  // above 0 it is an administrator's, as the controller tells others
  return {};
}

// queue, queue@server, @server
Result<void> put_destination(Text value, Words& out) {
  const Text queue = value.substr(0, value.find('@'));
  if (!queue.empty()) add(out, "--partition", queue);
  return {};
}

// clang-format off
constexpr ForeignOption pbs_options[] = {
    {"-a", "time", "not before this time, [[CC]YY]MMDDhhmm", put_begin},
    {"-A", "account", "charge this account", [](Text v, Words& out) -> Result<void> { add(out, "--account", v); return {}; }},
    {"-c", "interval", "checkpoints: there are none", nullptr},
    {"-C", "prefix", "the beginning of lines with options in the script", nullptr, "only lines that begin with #PBS are read"},
    {"-d", "folder", "work in this folder", [](Text v, Words& out) -> Result<void> { add(out, "--chdir", v); return {}; }},
    {"-e", "file", "where standard error goes", [](Text v, Words& out) -> Result<void> { add(out, "--error", path_of(v)); return {}; }},
    {"-h", "", "hold the job: it does not start until qrls releases it", [](Text, Words& out) -> Result<void> { out.emplace_back("--hold"); return {}; }},
    {"-I", "", "a shell on a node, here", nullptr},
    {"-j", "oe", "oe, eo: one file for both; n: two", nullptr},
    {"-J", "tasks", "an array with these tasks, as 1-10%2", [](Text v, Words& out) -> Result<void> { add(out, "--array", v); return {}; }},
    {"-k", "keep", "output is written where it belongs at once, so this changes nothing", nullptr},
    {"-l", "resources", "nodes=2:ppn=4, select=2:ncpus=8:mem=4gb, walltime=1:00:00, mem=, ncpus= and others", put_resources, {}, resources_without_effect},
    {"-m", "abe", "mail when it fails (a), begins (b) or ends (e)", put_mail},
    {"-M", "address", "where mail goes", [](Text v, Words& out) -> Result<void> { add(out, "--mail-user", v); return {}; }},
    {"-N", "name", "the name of the job", [](Text v, Words& out) -> Result<void> { add(out, "--job-name", v); return {}; }},
    {"-o", "file", "where standard output goes", [](Text v, Words& out) -> Result<void> { add(out, "--output", path_of(v)); return {}; }},
    {"-p", "priority", "below 0: let others go first; above 0: go first, for administrators", put_priority},
    {"-P", "project", "a workload key", [](Text v, Words& out) -> Result<void> { add(out, "--wckey", v); return {}; }},
    {"-q", "queue", "the partition", put_destination},
    {"-r", "y|n", "whether it may be run again", put_requeue},
    {"-S", "shell", "the first line of the script says what runs it, so this changes nothing", nullptr},
    {"-t", "tasks", "the same as -J", [](Text v, Words& out) -> Result<void> { add(out, "--array", v); return {}; }},
    {"-u", "user", "run as this user", nullptr, "a job is its submitter's; --uid is for root"},
    {"-v", "names", "these variables too, as A,B=2", [](Text v, Words& out) -> Result<void> { add(out, "--export", "ALL," + std::string{v}); return {}; }},
    {"-V", "", "all variables, as always", [](Text, Words& out) -> Result<void> { out.emplace_back("--export=ALL"); return {}; }},
    {"-w", "folder", "the same as -d", [](Text v, Words& out) -> Result<void> { add(out, "--chdir", v); return {}; }},
    {"-W", "attributes", "depend=afterok:12, block=true", put_attributes},
    {"-X", "", "windows of the job open here, with -I", nullptr},
    {"-z", "", "do not print the number", nullptr},
};
// clang-format on

// ---- LSF ----

// name, or name[1-10]%3
Result<void> put_lsf_name(Text value, Words& out) {
  const std::size_t open = value.find('['), close = value.find(']');
  add(out, "--job-name", value.substr(0, open));
  if (open == Text::npos) return {};
  if (close == Text::npos || close < open)
    return fail(Errc::refused, "#BSUB -J " + std::string{value} + ": a ']' is missing");
  add(out, "--array", std::string{value.substr(open + 1, close - open - 1)} + std::string{value.substr(close + 1)});
  return {};
}

// [hours:]minutes[/host]; of sbatch H:M would be minutes and seconds.
Result<void> put_lsf_time(Text value, Words& out) {
  const Text time = value.substr(0, value.find('/'));
  const std::size_t colon = time.find(':');
  add(out, "--time", colon == Text::npos ? std::string{time} : std::string{time} + ":00");
  return {};
}

Result<void> put_lsf_count(Text value, Words& out) {
  const Text least = value.substr(0, value.find(','));
  add(out, "--ntasks", least);
  return {};
}

std::unexpected<Error> not_known_requirement(Text what, Text instead) {
  return fail(Errc::refused,
              "#BSUB -R " + std::string{what} + ": this requirement is not known; " + std::string{instead});
}

// mem>4096 && type==any: of what chooses among hosts, memory is what a job would miss.
Result<std::string> memory_of_select(Text inner) {
  std::string memory;
  for (std::size_t at = 0; at <= inner.size();) {
    const std::size_t end = std::min(inner.find("&&", at), inner.size());
    const Text part = trim(inner.substr(at, end - at));
    at = end + 2;
    const Text name = part.substr(0, part.find_first_of("<>=! "));
    const Text value = trim(part.substr(std::min(part.size(), part.find_first_of("0123456789"))));
    const bool more_than = part.find('>') != Text::npos;
    if (name == "mem" && more_than && !value.empty())
      memory = value;
    else if (name != "type" || (!part.ends_with("any") && !part.ends_with("local")))
      return not_known_requirement("select[" + std::string{part} + "]",
                                   "mem>MEGABYTES and type==any are; -m names hosts");
  }
  return memory;
}

struct RequirementRow {
  Text section, key, option;
};
constexpr RequirementRow lsf_requirements[] = {
    {"span", "hosts", "--nodes"},
    {"span", "ptile", "--ntasks-per-node"},
    {"rusage", "mem", "--mem"},
    {"rusage", "ngpus_physical", "--gpus-per-node"},
};

Result<void> put_lsf_section(Text section, Text inner, Words& out) {
  if (section == "affinity") return not_known_requirement("affinity[]", "srun's --cpu-bind and -c do it");
  if (section == "cu") return not_known_requirement("cu[]", "#SBATCH --switches does it");
  if (section != "span" && section != "rusage")
    return not_known_requirement(std::string{section} + "[]", "select, rusage, span and order are");
  for (const auto& [key, given] : pairs_of(inner, section == "rusage" && inner.find(':') != Text::npos ? ':' : ',')) {
    const RequirementRow* known = nullptr;
    for (const RequirementRow& row : lsf_requirements)
      if (row.section == section && row.key == key) known = &row;
    if (known == nullptr)
      return not_known_requirement(std::string{section} + '[' + std::string{key} + ']',
                                   "span[hosts=, ptile=] and rusage[mem=, ngpus_physical=] are");
    add(out, known->option, given.substr(0, given.find_first_of(",/")));
  }
  return {};
}

// span[hosts=1] span[ptile=4] rusage[mem=4096] select[...]: what the parts ask for.
Result<void> put_lsf_requirement(Text value, Words& out) {
  std::string selected;
  const std::size_t before = out.size();
  for (Text rest = trim(value); !rest.empty(); rest = trim(rest)) {
    const std::size_t open = rest.find('['), close = rest.find(']');
    if (open == Text::npos || close == Text::npos || close < open) {  // select[] need not be written
      MR_TRY(selected, memory_of_select(rest));
      break;
    }
    const Text section = trim(rest.substr(0, open)), inner = trim(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
    if (section == "order") continue;  // lsf_order_note
    if (section == "select") {
      MR_TRY(selected, memory_of_select(inner));
      continue;
    }
    MR_TRY_VOID(put_lsf_section(section, inner, out));
  }
  bool has_memory = false;
  for (std::size_t i = before; i < out.size(); ++i) has_memory = has_memory || out[i].starts_with("--mem=");
  if (!selected.empty() && !has_memory) add(out, "--mem", selected);
  return {};
}

std::string lsf_order_note(Text value) {
  return value.find("order[") == Text::npos
             ? ""
             : "-R order[]: changes nothing here; the weights of the nodes say which are taken first";
}

// %J and %I of LSF are the number of the job, or of the array, and of the task.
std::string lsf_path(Text value) {
  std::string out{value};
  for (std::size_t i = 0; i + 1 < out.size(); ++i)
    if (out[i] == '%') out[i + 1] = out[i + 1] == 'J' ? 'A' : out[i + 1] == 'I' ? 'a' : out[i + 1];
  return out;
}

// num=2:mode=exclusive_process:j_exclusive=yes
Result<void> put_lsf_gpus(Text value, Words& out) {
  for (const auto& [key, given] : pairs_of(value, ':'))
    if (key == "num") add(out, "--gpus-per-node", given.substr(0, given.find('/')));
  return {};
}

// done(12) && ended(13): by number; names would need a look at the queue.
Result<void> put_lsf_dependency(Text value, Words& out) {
  std::string list;
  const bool any = value.find("||") != Text::npos;
  if (any && value.find("&&") != Text::npos)
    return fail(Errc::refused, "#BSUB -w " + std::string{value} + ": && and || together have no counterpart");
  for (Text rest = value; !rest.empty();) {
    const std::size_t open = rest.find('('), close = rest.find(')');
    if (open == Text::npos || close == Text::npos || close < open) break;
    std::size_t from = open;
    while (from > 0 && rest[from - 1] >= 'a' && rest[from - 1] <= 'z') --from;
    const Text word = rest.substr(from, open - from);
    const Text job = trim(rest.substr(open + 1, close - open - 1));
    const Text kind = word == "done"      ? "afterok"
                      : word == "ended"   ? "afterany"
                      : word == "exit"    ? "afternotok"
                      : word == "started" ? "after"
                                          : "";
    if (kind.empty() || !is_number(job))
      return fail(Errc::refused, "#BSUB -w " + std::string{value} +
                                     ": done(N), ended(N), exit(N) and started(N) with the number of a job are known");
    list += (list.empty() ? "" : any ? "?" : ",") + std::string{kind} + ":" + std::string{job};
    rest.remove_prefix(close + 1);
  }
  if (list.empty()) return fail(Errc::refused, "#BSUB -w " + std::string{value} + ": no condition was found");
  add(out, "--dependency", list);
  return {};
}

// The limit is in KiB unless it says otherwise.
Result<void> put_lsf_memory(Text value, Words& out) {
  add(out, "--mem", is_number(value) ? std::string{value} + "K" : std::string{value});
  return {};
}

// clang-format off
constexpr ForeignOption lsf_options[] = {
    {"-a", "profile", "an application profile", nullptr, "there are no application profiles"},
    {"-b", "time", "not before this time", [](Text v, Words& out) -> Result<void> { add(out, "--begin", v); return {}; }},
    {"-B", "", "mail when it begins", [](Text, Words& out) -> Result<void> { out.emplace_back("--mail-type=BEGIN"); return {}; }},
    {"-c", "limit", "a limit of processor time", nullptr, "processor time is not limited; -W limits the time of the clock"},
    {"-C", "limit", "the size of core files is what the submitter has, so this changes nothing", nullptr},
    {"-cwd", "folder", "work in this folder", [](Text v, Words& out) -> Result<void> { add(out, "--chdir", v); return {}; }},
    {"-e", "file", "where standard error goes", [](Text v, Words& out) -> Result<void> { add(out, "--error", lsf_path(v)); return {}; }},
    {"-eo", "file", "the same as -e", [](Text v, Words& out) -> Result<void> { add(out, "--error", lsf_path(v)); return {}; }},
    {"-E", "command", "a command before the job", nullptr, "no command is run before the job"},
    {"-env", "names", "which variables the job has: all, none, or names", [](Text v, Words& out) -> Result<void> { add(out, "--export", v == "all" ? "ALL" : v == "none" ? "NONE" : v); return {}; }},
    {"-gpu", "request", "num=2: GPUs on each node", put_lsf_gpus},
    {"-G", "group", "groups of users are accounts (-P), so this changes nothing", nullptr},
    {"-H", "", "hold the job until it is released", [](Text, Words& out) -> Result<void> { out.emplace_back("--hold"); return {}; }},
    {"-i", "file", "where standard input comes from", [](Text v, Words& out) -> Result<void> { add(out, "--input", lsf_path(v)); return {}; }},
    {"-I", "", "run it now, with its output here", nullptr},
    {"-Ip", "", "the same on a terminal", nullptr},
    {"-Is", "", "the same on a terminal", nullptr},
    {"-J", "name", "the name of the job; name[1-10]%3: an array", put_lsf_name},
    {"-K", "", "wait until the job ends", [](Text, Words& out) -> Result<void> { out.emplace_back("--wait"); return {}; }},
    {"-L", "shell", "the first line of the script says what runs it, so this changes nothing", nullptr},
    {"-m", "hosts", "on these nodes", [](Text v, Words& out) -> Result<void> { std::string list{v}; for (char& c : list) if (c == ' ') c = ','; add(out, "--nodelist", list); return {}; }},
    {"-M", "limit", "memory, in KiB or with its unit", put_lsf_memory},
    {"-n", "tasks", "how many tasks; of 4,8 the smaller number", put_lsf_count},
    {"-N", "", "mail when it ends", [](Text, Words& out) -> Result<void> { out.emplace_back("--mail-type=END"); return {}; }},
    {"-o", "file", "where standard output goes; %J is the number of the job, %I of the task", [](Text v, Words& out) -> Result<void> { add(out, "--output", lsf_path(v)); return {}; }},
    {"-oo", "file", "the same, and what is there is overwritten", [](Text v, Words& out) -> Result<void> { add(out, "--output", lsf_path(v)); add(out, "--open-mode", "truncate"); return {}; }},
    {"-P", "project", "charge this account", [](Text v, Words& out) -> Result<void> { add(out, "--account", v); return {}; }},
    {"-q", "queue", "the partition", [](Text v, Words& out) -> Result<void> { add(out, "--partition", v); return {}; }},
    {"-r", "", "it may be run again", [](Text, Words& out) -> Result<void> { out.emplace_back("--requeue"); return {}; }},
    {"-rn", "", "it is never run again", [](Text, Words& out) -> Result<void> { out.emplace_back("--no-requeue"); return {}; }},
    {"-R", "requirement", "span[hosts=1], span[ptile=4], rusage[mem=4096], select[mem>4096]", put_lsf_requirement, {}, lsf_order_note},
    {"-sp", "priority", "the order among one's own jobs; scontrol top and --nice change it, this changes nothing", nullptr},
    {"-u", "address", "where mail goes", [](Text v, Words& out) -> Result<void> { add(out, "--mail-user", v); return {}; }},
    {"-U", "reservation", "in this reservation", [](Text v, Words& out) -> Result<void> { add(out, "--reservation", v); return {}; }},
    {"-w", "condition", "done(12) && ended(13): wait for other jobs", put_lsf_dependency},
    {"-W", "time", "a limit of the time it runs, [hours:]minutes", put_lsf_time},
    {"-x", "", "no other jobs on its nodes", [](Text, Words& out) -> Result<void> { out.emplace_back("--exclusive"); return {}; }},
};
// clang-format on

// The longest name that fits is the one that is meant: -oo is not -o with the value "o".
Result<ForeignLine> translate(std::span<const ForeignOption> rows, std::span<const std::string> words, Text prefix,
                              bool glued, bool operands) {
  ForeignLine line;
  Words& out = line.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Text word = words[i];
    if (operands && (word == "--" || !word.starts_with('-'))) {
      line.operands.assign(words.begin() + static_cast<std::ptrdiff_t>(i + (word == "--" ? 1 : 0)), words.end());
      return line;
    }
    const ForeignOption* row = nullptr;
    for (const ForeignOption& each : rows)
      if (word == each.name || (glued && !each.value.empty() && word.starts_with(each.name)))
        if (row == nullptr || each.name.size() > row->name.size()) row = &each;
    if (row == nullptr)
      return fail(Errc::refused, std::string{prefix} + " " + std::string{word} + ": this option is not known" +
                                     (operands ? "" : "; --ignore-pbs skips all " + std::string{prefix} + " lines"));
    Text value = word.substr(row->name.size());
    if (!row->value.empty() && value.empty()) {
      if (i + 1 == words.size())
        return fail(Errc::refused, std::string{prefix} + " " + std::string{word} + ": a value is missing");
      value = words[++i];
    }
    if (!row->refused.empty())
      return fail(Errc::refused, std::string{prefix} + " " + std::string{row->name} + ": " + std::string{row->refused});
    if (std::string note = row->note != nullptr ? row->note(value) : ""; !note.empty())
      line.notes.push_back(std::move(note));
    if (row->put != nullptr) {
      MR_TRY_VOID(row->put(value, out));
    } else
      line.flags.emplace_back(row->name == "-j" ? "-j" + std::string{value} : std::string{row->name});
  }
  return line;
}

}  // namespace

static std::vector<ForeignText> texts_of(std::span<const ForeignOption> rows) {
  std::vector<ForeignText> out;
  for (const ForeignOption& row : rows) out.push_back({row.name, row.value, row.help, row.refused});
  return out;
}
std::vector<ForeignText> pbs_option_texts() { return texts_of(pbs_options); }
std::vector<ForeignText> lsf_option_texts() { return texts_of(lsf_options); }

Result<ForeignLine> read_pbs_directive(std::span<const std::string> words) {
  return translate(pbs_options, words, "#PBS", true, false);
}
Result<ForeignLine> read_lsf_directive(std::span<const std::string> words) {
  return translate(lsf_options, words, "#BSUB", false, false);
}

Result<ForeignLine> read_pbs_line(std::span<const std::string> words) {
  return translate(pbs_options, words, "qsub", true, true);
}
Result<ForeignLine> read_lsf_line(std::span<const std::string> words) {
  return translate(lsf_options, words, "bsub", false, true);
}

}  // namespace millrace
