// src/cli/completion.cpp - `millrace completion bash`: the words a shell may offer, from the tables the commands are read with.
#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/render/columns.h"
#include "cli/render/job_words.h"
#include "cli/render/node_columns.h"

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

constexpr std::string_view after_the_words = R"(  esac
  case $before in
    -p|--partition) words=$(sinfo -h -o %R 2>/dev/null | sort -u) ;;
    -w|--nodelist|-x|--exclude|--nodes-file) words=$(sinfo -h -N -o %N 2>/dev/null | sort -u) ;;
    -j|--jobs|--jobid|--job) words=$(squeue -h -o %A 2>/dev/null | sort -u) ;;
    -u|--user|--users|--uid) words=$(compgen -u) ;;
    -t|--states|--state) [[ $command == squeue || $command == scancel ]] && words=$states || words='' ;;
    -O|--Format) [[ $command == sinfo ]] && words=$node_columns || words=$job_columns ;;
    -o|--output|-e|--error|-i|--input|-D|--chdir) words='' ;;
    show) [[ $command == scontrol ]] && words=$entities ;;
    hold|uhold|release|requeue|requeuehold|suspend|resume|top|notify|job|jobid) [[ $command == scontrol ]] && words=$(squeue -h -o %A 2>/dev/null | sort -u) ;;
    node|nodes) [[ $command == scontrol ]] && words=$(sinfo -h -N -o %N 2>/dev/null | sort -u) ;;
    partition|partitions) [[ $command == scontrol ]] && words=$(sinfo -h -o %R 2>/dev/null | sort -u) ;;
  esac
  if [[ $command == scancel && $here != -* && $before != -* ]]; then words=$(squeue -h --me -o %A 2>/dev/null | sort -u); fi
  COMPREPLY=($(compgen -W "$words" -- "$here"))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$here")); compopt -o filenames 2>/dev/null; fi
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
)";

}  // namespace

std::string bash_completion() {
  std::string out =
      "# bash completion for the commands of Millrace; made by `millrace completion bash`\n"
      "_millrace() {\n"
      "  local command=${COMP_WORDS[0]##*/} here=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
      "  # --partition=x comes as three words\n"
      "  if [[ $here == = ]]; then here=''; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [[ $command == millrace ]]; then\n"
      "    if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W '";
  std::string names, all;
  for (const CommandRow& row : command_rows()) all += (all.empty() ? "" : " ") + std::string{row.name};
  out += all + "' -- \"$here\")); return 0; fi\n    command=${COMP_WORDS[1]}\n  fi\n";
  out += "  local states='" + on_one_line(state_list()) + "'\n";
  out += "  local job_columns='" + names_of(job_columns()) + "'\n";
  out += "  local node_columns='" + names_of(node_columns()) + "'\n";
  out += "  local entities='" + built(scontrol_entities()) + "'\n  case $command in\n";
  for (const CommandRow& row : command_rows()) {
    if (row.options == nullptr) continue;
    if (row.own_name) names += ' ' + std::string{row.name};
    const std::string verbs = row.name == "scontrol" ? ' ' + built(scontrol_words()) : "";
    out += "    " + std::string{row.name} + ") words='" + words_of(row) + verbs + "' ;;\n";
  }
  return out + std::string{after_the_words} + "complete -F _millrace millrace" + names + "\n";
}

int run_completion(Command& command) {
  if (command.words.size() == 1 && command.words[0] == "bash") return print(bash_completion());
  say_error(command, "name the shell: bash");
  return 1;
}

}  // namespace millrace
