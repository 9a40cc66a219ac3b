// src/cli/sacct_filter.h - which jobs and steps sacct is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"
#include "cli/sacct_options.h"

namespace millrace {

class SacctFilter final {
 public:
  static Result<SacctFilter> read(const SacctDraft& draft, std::int64_t now_us, std::uint32_t own_uid);

  // What the controller can sort out itself.
  void put(wire::QueryJobs& ask) const;
  bool wants(const wire::JobView& job) const;
  // Where steps are named (-j 12.0): the row of the job itself, and which of its steps.
  bool wants_row_of(const wire::JobView& job) const;
  bool wants(const wire::JobView& job, const wire::AccountedStep& step) const;

  // --whole-hetjob: leaders of jobs of which only a component was named; they have to be asked for too.
  std::vector<std::uint32_t> leaders_missing(const wire::Jobs& answer) const;

  std::int64_t from_us() const { return from_us_; }
  std::int64_t until_us() const { return until_us_; }

 private:
  using Words = std::set<std::string, std::less<>>;
  struct Range {
    std::uint64_t least = 0, most = UINT64_MAX;
    bool holds(std::uint64_t value) const { return value >= least && value <= most; }
  };
  static Words words_of(std::string_view text);
  static Result<Range> read_range(const std::string& text, const char* of_what);
  Result<void> read_times(const SacctDraft& draft, std::int64_t now);
  Result<void> read_owners(const SacctDraft& draft, std::uint32_t own_uid);
  Result<void> read_counts(const SacctDraft& draft);
  bool was_in_a_state(const wire::JobView& job) const;
  bool is_named(const wire::StepName& name, const wire::JobView& job) const;

  std::int64_t from_us_ = 0, until_us_ = 0;
  std::set<std::uint32_t> uids_, gids_;
  Words accounts_, partitions_, names_, qos_, features_, reasons_, nodes_, associations_, flags_, wckeys_;
  std::vector<StateFilter> states_;
  bool requeued_too_ = false;  // the state that only a run which is over can have
  Range node_count_, cpu_count_, limit_;
  std::vector<wire::StepName> jobs_;
  bool every_run_ = false;
  std::optional<bool> whole_het_;
};

}  // namespace millrace
