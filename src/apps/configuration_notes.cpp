// src/apps/configuration_notes.cpp - see configuration_notes.h.
#include "apps/configuration_notes.h"

#include "base/log_level.h"

namespace millrace {
namespace {

std::string place_of(const ConfigurationNote& note) { return note.file + ":" + std::to_string(note.line) + ": "; }

void add_unknown(const Configuration& configuration, std::vector<std::string>& out) {
  for (const auto& note : configuration.unknown) out.push_back(place_of(note) + note.key + " is ignored: " + note.text);
}
void add_adjusted(const Configuration& configuration, std::vector<std::string>& out) {
  for (const auto& note : configuration.adjusted) out.push_back(place_of(note) + note.text);
}

}  // namespace

std::vector<std::string> controller_notes(const Configuration& configuration) {
  std::vector<std::string> out;
  add_unknown(configuration, out);
  for (const auto& note : configuration.without_effect) out.push_back(place_of(note) + note.key + " " + note.text);
  for (const auto& note : configuration.not_built)
    out.push_back(place_of(note) + note.key +
                  (note.text == "not built yet" ? " is not built yet and has no effect" : ": " + note.text));
  if (const std::string idle = flags_without_lines(configuration.log.flags); !idle.empty())
    out.push_back("DebugFlags: " + idle + " have nothing to say here");
  add_adjusted(configuration, out);
  return out;
}

std::vector<std::string> agent_notes(const Configuration& configuration) {
  std::vector<std::string> out;
  add_unknown(configuration, out);
  add_adjusted(configuration, out);
  return out;
}

}  // namespace millrace
