// src/config/key_words.h - the words that keys of slurm.conf take, as SchedulerParameters=defer,bf_interval=60 does:
// which work, which change nothing here, which are not built yet. Any other is unknown, and said to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/configuration.h"

namespace millrace {

// Words with blanks between them; what follows a '=' is not part of a word. Case does not matter.
struct KeyWords {
  std::string_view key, works, no_effect, not_built;
};

enum class WordEffect : std::uint8_t { works, no_effect, not_built, unknown };

std::span<const KeyWords> key_words();
const KeyWords* find_key_words(std::string_view key);
WordEffect effect_of_word(const KeyWords& words, std::string_view word);

// "; did you mean bf_interval?" when one of the candidates (with blanks between them) is near, else nothing.
std::string did_you_mean(std::string_view written, std::string_view candidates);
// The same for a value that was refused: of its words the first that is unknown is meant.
std::string did_you_mean_in(const KeyWords& words, std::string_view value);

// Takes the words of a value apart and notes those that are unknown, not built or without effect. `key_is_noted`: that
// nothing of this key works is said already.
void note_words(const KeyWords& words, std::string_view value, bool key_is_noted, const std::string& file, int line,
                Configuration& out);

}  // namespace millrace
