// src/cli/scontrol_partition.cpp - scontrol create, update and delete of partitions. The keys are those of slurm.conf.
#include "base/text.h"
#include "cli/ask.h"
#include "cli/scontrol.h"
#include "config/partition_words.h"

namespace millrace {
namespace {

using Text = std::string_view;

bool names_partition(Text word) {
  const std::size_t equals = word.find('=');
  return equals != Text::npos && equals >= 3 && equals <= Text{"PartitionName"}.size() &&
         equals_ignoring_case(Text{"PartitionName"}.substr(0, equals), word.substr(0, equals));
}

// "... is wrong, UP or DOWN would be right": in the words of Slurm, what is acceptable.
std::string acceptable(Text key, const std::string& story) {
  constexpr Text before = " is wrong, ", after = " would be right";
  const std::size_t from = story.find(before), to = story.rfind(after);
  if (from == std::string::npos || to == std::string::npos) return story;
  std::string values = story.substr(from + before.size(), to - from - before.size());
  if (values.starts_with("a ") || values.starts_with("seconds")) return story;
  if (const std::size_t last = values.rfind(" or "); last != std::string::npos) values.replace(last, 4, " and ");
  return "Acceptable " + std::string{key} + " values are " + values;
}

int refuse_word(Scontrol& self, Text word, const Error& error) {
  if (error.code == Errc::refused) return scontrol_refuse(self, error.story + "= of a partition");
  if (error.code == Errc::not_found) {
    say_plain("Update of this parameter is not supported: " + std::string{word});
    say_plain("Request aborted");
    return 1;
  }
  say_error(self.command, "Invalid input: " + std::string{word});
  say_error(self.command, acceptable(word.substr(0, word.find('=')), error.story));
  return 1;
}

}  // namespace

int scontrol_set_partition(Scontrol& self, const Words& words, bool create) {
  wire::Request request;
  wire::UpdatePartition& ask = *request.mutable_update_partition();
  ask.set_create(create);
  for (const Text word : words) {
    if (create && equals_ignoring_case(word, "partition")) continue;
    if (names_partition(word)) {
      ask.set_name(std::string{word.substr(word.find('=') + 1)});
      continue;
    }
    const auto setting = read_partition_word(word);
    if (!setting) return refuse_word(self, word, setting.error());
    ask.add_settings(setting->key + (setting->op == '=' ? std::string{} : std::string{setting->op}) + "=" +
                     setting->value);
  }
  if (ask.name().empty()) return say_plain("PartitionName must be given."), 1;
  if (equals_ignoring_case(ask.name(), "DEFAULT")) return say_plain("PartitionName cannot be \"DEFAULT\"."), 1;
  if (ask.settings().empty()) return say_plain(create ? "No parameters specified" : "No changes specified"), 1;
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain((create ? "Error creating the partition: " : "slurm_update error: ") + reply.error().story);
  return 1;
}

int scontrol_delete_partition(Scontrol& self, Text word, Text name) {
  wire::Request request;
  request.mutable_delete_partition()->set_name(std::string{name});
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("delete_partition " + std::string{word} + ": " + reply.error().story);
  return 1;
}

int scontrol_set_damping(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:fsdampeningfactor"), 1;
  if (words.size() > 1) return say_plain("too many arguments for keyword:fsdampeningfactor"), 1;
  const auto factor = parse_integer(words[0]);
  if (!factor || *factor < 1 || *factor > UINT16_MAX)
    return say_plain("invalid dampening factor: " + std::string{words[0]}), 1;
  wire::Request request;
  request.mutable_set_damping()->set_factor(static_cast<std::uint32_t>(*factor));
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("slurm_set_fs_dampeningfactor error: " + reply.error().story);
  return 1;
}

}  // namespace millrace
