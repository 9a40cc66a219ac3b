// src/accelerators/accelerator.cpp - see accelerator.h.
#include "accelerators/accelerator.h"

#include "base/text.h"

namespace millrace {

std::string model_word(std::string_view name) {
  const std::string text = lower(name);
  std::string out;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty() || word == "mig") continue;
    if (!out.empty()) out += '_';
    for (const char each : word)
      if (each != ',' && each != ':' && each != '=' && each != '(' && each != ')') out += each;
  }
  return out;
}

}  // namespace millrace
