// tests/fuzz/fuzz_values.cpp - one word each: durations, sizes, dates, signals, levels, names of states.
#include "base/log_level.h"
#include "base/text.h"
#include "cli/options/job_values.h"
#include "cli/render/job_words.h"
#include "cli/render/node_words.h"
#include "cli/x11_relay.h"
#include "core/model/job_extras.h"
#include "core/model/layout.h"
#include "core/model/mpi_type.h"
#include "core/model/sluid.h"
#include "core/model/tres.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(values) {
  if (const auto time = parse_duration(input)) fuzz::use(format_duration(time->seconds));
  fuzz::use(parse_memory(input));
  fuzz::use(parse_size_mib(input));
  fuzz::use(parse_limit_minutes(input));
  fuzz::use(parse_positive("x", input));
  fuzz::use(parse_time_of_day(input, 1'763'190'000));
  fuzz::use(parse_signal(input));
  fuzz::use(limit_names(input));
  fuzz::use(parse_decimal(input, 9));
  fuzz::use(parse_state(input));
  fuzz::use(parse_node_state(input));
  fuzz::use(parse_log_level(input));
  fuzz::use(parse_log_time_format(input));
  if (const auto flags = parse_debug_flags(input)) fuzz::use(names_of_flags(*flags));
  fuzz::use(parse_display(input));
  fuzz::use(parse_mpi_type(input));
  if (const auto types = parse_mail_types(input)) fuzz::use(mail_types_text(*types));
  fuzz::use(is_mail_address(input));
  fuzz::use(is_acctg_freq(input));
  fuzz::use(task_sampling_seconds(input));
  fuzz::use(parse_distribution(input));
  if (const auto key = parse_sluid(input)) fuzz::must(parse_sluid(sluid_text(*key)) == key, "a SLUID is read back");
  if (const auto bytes = from_hex(input)) fuzz::must(from_hex(to_hex(*bytes)) == bytes, "hex digits are read back");
}
