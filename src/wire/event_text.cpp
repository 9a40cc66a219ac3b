// src/wire/event_text.cpp - see event_text.h.
#include "wire/event_text.h"

#include <time.h>

#include <cstdio>
#include <ctime>

#include "base/text.h"
#include "wire/record_text.h"

namespace millrace {

std::string_view outcome_word(Outcome outcome) { return log_word(outcome); }

std::string describe_event(const Event& event) {
  return std::visit([](const auto& e) { return std::string{e.event.name} + ' ' + record_text::words_of(e); },
                    static_cast<const EventKinds&>(event));
}

std::string quote_text(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char letter : bytes) {
    const auto value = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      out += "\\n";
    } else if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (value < 32 || value > 126) {
      out += "\\x";
      out += digits[value >> 4];
      out += digits[value & 15];
    } else {
      out += letter;
    }
  }
  return out + '"';
}

std::string describe_time(Time at) {
  if (at == never) return "never";
  const bool before_1970 = at.value % 1'000'000 < 0;  // the division cuts towards zero
  const std::int64_t micros = at.value % 1'000'000 + (before_1970 ? 1'000'000 : 0);
  const time_t whole = static_cast<time_t>(at.value / 1'000'000 - (before_1970 ? 1 : 0));
  tm utc{};
  if (gmtime_r(&whole, &utc) == nullptr) return std::to_string(at.value) + "us";
  char stamp[80];
  const std::size_t length = std::strftime(stamp, 48, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%06dZ", static_cast<int>(micros));
  return stamp;
}

}  // namespace millrace
