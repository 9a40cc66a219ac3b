// src/cli/render/acct_fields.h - the fields of sacct: a job and each of its steps are a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/render/field_table.h"
#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

struct AcctContext {
  std::int64_t now_us = 0;
  std::string cluster;
  Names* names = nullptr;
  bool exact_numbers = false;              // --noconvert
  char unit = 0;                           // --units: K, M, G, T or P; 0: what fits
  std::int64_t from_us = 0, until_us = 0;  // --truncate: times outside are these; 0: as they are
};

struct AcctRow {
  const wire::JobView* job = nullptr;
  const wire::AccountedStep* step = nullptr;  // none: the job as a whole
  const AcctContext* context = nullptr;
};

std::span<const Field<AcctRow>> acct_fields();
extern const char* const sacct_default_fields;
extern const char* const sacct_brief_fields;
extern const char* const sacct_long_fields;

std::string acct_job_id(const AcctRow& row);        // 12, 12.batch, 12_3.0, 12+1
std::string acct_state(const AcctRow& row);         // CANCELLED by 1000
std::string acct_exit(const AcctRow& row);          // 3:0
std::string acct_derived_exit(const AcctRow& row);  // of a job
std::int64_t acct_start_us(const AcctRow& row);     // 0: it has not started
std::int64_t acct_end_us(const AcctRow& row);       // 0: it is not over
std::int64_t acct_elapsed(const AcctRow& row);      // seconds
std::int64_t acct_cpu_us(const AcctRow& row, bool user, bool system);
std::optional<std::uint64_t> acct_planned(const AcctRow& row);  // seconds between being eligible and starting

}  // namespace millrace
