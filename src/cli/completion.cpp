// src/cli/completion.cpp - `millrace completion bash`: the words a shell may offer, from the tables the commands are
// read with.
#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/render/acct_fields.h"
#include "cli/render/columns.h"
#include "cli/render/job_words.h"
#include "cli/render/node_columns.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

std::string words_of(const CommandRow& row) {
  std::string out;
  for (const OptionText& option : row.options()) {
    if (!option.built) continue;
    out += " --" + std::string{option.name} + (option.arg == ArgKind::required ? "=" : "");
    if (option.letter != '\0') out += std::string{" -"} + option.letter;
  }
  return out.empty() ? out : out.substr(1);
}

std::string built(const std::vector<CommandWord>& words) {
  std::string out;
  for (const CommandWord& word : words)
    if (word.built) out += (out.empty() ? "" : " ") + std::string{word.name};
  return out;
}

template <class Columns>
std::string names_of(const Columns& columns) {
  std::string out;
  for (const auto& column : columns) out += (out.empty() ? "" : " ") + std::string{column.name};
  return out;
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// The first of each row's names.
std::string field_names() {
  std::string out;
  for (const auto& field : acct_fields())
    out += (out.empty() ? "" : " ") + std::string{field.names.substr(0, field.names.find(','))};
  return out;
}

std::string keys_of(const EntityKeys& entity) {
  std::string out;
  for (const std::string_view key : entity.keys) out += (out.empty() ? "" : " ") + std::string{key} + '=';
  return out;
}

std::string mail_words() {
  std::string out = mail_types_text(UINT32_MAX);
  for (char& c : out)
    if (c == ',') c = ' ';
  return "NONE ALL " + out;
}

std::string changeable() {
  std::string out = "job";
  for (const CommandWord& word : sacctmgr_entities())
    if (!word.arguments.empty()) out += ' ' + std::string{word.name};
  return out;
}

// Where `words` comes from what there is, files are not offered beside it.
constexpr std::string_view after_the_words = R"(  esac
  case $command in sbatch|srun|salloc|sbcast|sgather|qsub|bsub|scrontab|strigger|millrace) [[ $here != -* ]] && files=yes ;; esac
  case $command,$before in
    *,--partition|s*,-p|q*,-q|b*,-q|scontrol,PartitionName|scontrol,Partition|scontrol,partition|scontrol,partitions) kind=partitions ;;
    *,-w|*,--nodelist|*,-x|*,--exclude|sinfo,-n|sinfo,--nodes|b*,-m|scontrol,NodeName|scontrol,node|scontrol,nodes) kind=nodes ;;
    *,-j|*,--jobs|*,--jobid|*,--job|scontrol,JobId) kind=jobs ;;
    scontrol,hold|scontrol,uhold|scontrol,release|scontrol,requeue|scontrol,requeuehold|scontrol,suspend|scontrol,resume|scontrol,top|scontrol,notify|scontrol,job|scontrol,jobid) kind=jobs ;;
    *,-u|*,--user|*,--users|*,--uid) kind=users ;;
    squeue,-t|scancel,-t|*,--states|*,--state) words=$states files='' ;;
    sinfo,-O|sinfo,--Format) words=$node_columns files='' ;;
    *,-O|*,--Format) words=$job_columns files='' ;;
    sacct,-o|sacct,--format) words=$account_columns files='' ;;
    *,--mail-type) words=$mail files='' ;;
    *,--mpi) words=$(srun --mpi=list 2>/dev/null | sed -n 's/^\t//p') files='' ;;
    *,-o|*,--output|*,-e|*,--error|*,-i|*,--input|*,-D|*,--chdir|sacctmgr,load|sacctmgr,file) words='' files=yes ;;
    scontrol,show) words=$entities ;;
    sacctmgr,show|sacctmgr,list) words=$account_entities ;;
    sacctmgr,add|sacctmgr,create|sacctmgr,modify|sacctmgr,update|sacctmgr,delete|sacctmgr,remove) words=$account_changes ;;
    *)
      if [[ $value ]]; then words=''
      elif [[ $command == scontrol && " ${COMP_WORDS[*]:0:COMP_CWORD} " == *' '@(update|create)' '* ]]; then
        words='JobId= NodeName= PartitionName= ReservationName='
        for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
          case $word in JobId|JobName) words=$job_keys ;; NodeName) words=$node_keys ;; PartitionName) words=$partition_keys ;; ReservationName) words=$reservation_keys ;; esac
        done
      elif [[ $here != -* && $before != -* ]]; then
        case $command in
          scancel|qdel|qhold|qrls|qalter|qrerun|qstat|bkill|bjobs) kind=jobs ;;
          pbsnodes) kind=nodes ;;
        esac
      fi ;;
  esac
  case $kind in
    partitions) words=$(sinfo -h -o %R 2>/dev/null | sort -u) files='' ;;
    nodes) words=$(sinfo -h -N -o %N 2>/dev/null | sort -u) files='' ;;
    jobs) [[ $command == s[cqta]* && $command != scancel ]] && mine='' || mine=--me; words=$(squeue -h $mine -o %A 2>/dev/null | sort -u) files='' ;;
    users) words=$(compgen -u) files='' ;;
  esac
  # of a list, the last one
  [[ $here == *,* ]] && list=${here%,*},
  COMPREPLY=($(compgen -P "$list" -W "$words" -- "${here##*,}"))
  if [[ $files && ${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$here")); compopt -o filenames 2>/dev/null; fi
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
)";

}  // namespace

std::string bash_completion() {
  std::string out =
      "# bash completion for the commands of Millrace; made by `millrace completion bash`\n"
      "_millrace() {\n"
      "  local command=${COMP_WORDS[0]##*/} here=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words='' "
      "files='' kind='' list='' mine='' value='' word\n"
      "  # --partition=x comes as three words\n"
      "  if [[ $here == = ]]; then here='' value=yes; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]} "
      "value=yes; fi\n"
      "  if [[ $command == millrace ]]; then\n"
      "    if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W '";
  std::string names, all;
  for (const CommandRow* row : all_command_rows()) all += (all.empty() ? "" : " ") + std::string{row->name};
  out += all + "' -- \"$here\")); return 0; fi\n    command=${COMP_WORDS[1]}\n  fi\n";
  const auto add = [&](const char* name, const std::string& words) {
    out += "  local " + std::string{name} + "='" + words + "'\n";
  };
  add("states", on_one_line(state_list()));
  add("job_columns", names_of(job_columns()));
  add("node_columns", names_of(node_columns()));
  add("account_columns", field_names());
  add("mail", mail_words());
  add("entities", built(scontrol_entities()));
  add("account_entities", built(sacctmgr_entities()));
  add("account_changes", changeable());
  const std::vector<EntityKeys> keys = scontrol_update_keys();
  constexpr const char* key_lists[] = {"job_keys", "node_keys", "partition_keys", "reservation_keys"};
  for (std::size_t i = 0; i < keys.size(); ++i) add(key_lists[i], keys_of(keys[i]));
  out += "  case $command in\n";
  for (const CommandRow* row : all_command_rows()) {
    if (row->options == nullptr && row->offered == nullptr) continue;
    if (row->own_name) names += ' ' + std::string{row->name};
    const std::string verbs = row->name == "scontrol"   ? ' ' + built(scontrol_words())
                              : row->name == "sacctmgr" ? ' ' + built(sacctmgr_words())
                                                        : "";
    out += "    " + std::string{row->name} + ") words='" + (row->offered != nullptr ? row->offered() : words_of(*row)) +
           verbs + "' ;;\n";
  }
  return out + std::string{after_the_words} + "complete -F _millrace millrace" + names + "\n";
}

int run_completion(Command& command) {
  if (command.words.size() == 1 && command.words[0] == "bash") return print(bash_completion());
  say_error(command, "name the shell: bash");
  return 1;
}

}  // namespace millrace
