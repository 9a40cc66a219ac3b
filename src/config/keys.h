// src/config/keys.h - one row per key of slurm.conf: its kind, default, help, whether it does anything yet, what it
// sets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/configuration.h"

namespace millrace {

// How a value is checked and how `scontrol show config` prints it.
enum class KeyKind : std::uint8_t {
  text,  // (null) when not set
  number,
  seconds,  // "120 sec"
  minutes,  // "5 min"
  microseconds,
  rate,  // "300 nodes/min"
  percent,
  flag,                 // yes or no
  switch01,             // 0 or 1
  duration,             // 7-00:00:00
  seconds_or_infinite,  // INFINITE
  upper,                // printed in capitals
  memory,               // mebibytes; printed only when set
  user,                 // name(uid)
  live,                 // not from the file: filled in by whoever prints
  indexed,              // SlurmctldHost[0]
};

enum class KeyEffect : std::uint8_t {
  works,      // changes what Millrace does
  agrees,     // its default is what Millrace does; another value is said to be not built yet
  no_effect,  // nothing here depends on it, which is said when it is given
  not_built,  // any value is said to be not built yet
};

struct ConfigKey {
  std::string_view name;
  KeyKind kind;
  std::string_view fallback;  // as it would be written in the file; empty: not set
  KeyEffect effect;
  bool shown;  // in `scontrol show config`, at this place
  std::string_view help;
  Result<void> (*set)(Configuration&, std::string_view);  // nullptr: kept as text only
};

std::span<const ConfigKey> config_keys();  // in the order of `scontrol show config`
const ConfigKey* find_config_key(std::string_view name);
// The value is of the key's kind, or a sentence says what would be.
Result<void> check_kind(const ConfigKey& key, std::string_view value);

}  // namespace millrace
