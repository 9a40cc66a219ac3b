// tests/fuzz/fuzz_attempt_record.cpp - the file `state` of an attempt, which an agent finds in its spool.
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
