// tests/fuzz/fuzz_attempt_record.cpp - folders of attempts and their files `state`, which an agent finds in its spool.
#include "agent.pb.h"
#include "agent/spool_directory.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(attempt_record) {
  const auto record = parse_attempt_record(input);
  if (!record) return;
  wire::AttemptStatus end;
  wire::Isolation isolation;
  fuzz::use(end.ParseFromString(record->end));
  fuzz::use(isolation.ParseFromString(record->isolation));
}

FUZZ_TEXT(attempt_name) {
  const auto name = parse_attempt_name(input);
  if (name) fuzz::must(text_of(*name) == input, "an attempt has one folder");
}
