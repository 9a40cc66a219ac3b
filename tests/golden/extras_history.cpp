// tests/golden/extras_history.cpp - the history of format 1 with a job that has mail, words and an environment of its
// own after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

}  // namespace

std::vector<GoldenBatch> extras_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted job = one_more_job(out, 9, "mailed", 209, at(510));
  JobExtras extras{.mail_types = mail_begin | mail_end | mail_time_limit_90 | mail_array_tasks,
                   .mail_user = "somebody@example.org"};
  extras.wckey = "work";
  extras.extra = "{\"a\":1}";
  extras.network = "sn_all";
  extras.acctg_freq = "task=5";
  extras.profile = "task";
  extras.cpu_freq = "low-high:performance";
  extras.gpu_freq = "medium";
  extras.core_spec = 2;
  extras.threads_spec = true;
  extras.delay_boot_seconds = 120;
  extras.overcommit = true;
  extras.user_env = "L10";
  job.spec.extras = SharedValue(extras);
  out.push_back({{}, {job}});
  JobModified changed;
  changed.key = job.key;
  changed.at = at(515);
  extras.mail_types = mail_fail;
  extras.admin_comment = "an administrator's";
  extras.system_comment = "of the system";
  changed.extras = extras;
  changed.std_in = "input";
  out.push_back({{}, {changed}});
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 2, false, {}};
  out.push_back({{}, {JobPlaced{job.key, Attempt{0}, {share}, false, at(520)}}});
  JobModified cleared;
  cleared.key = job.key;
  cleared.at = at(525);
  cleared.extras = JobExtras{};
  out.push_back({{}, {cleared}});
  out.push_back({{}, {AttemptEnded{job.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(530)}}});
  return out;
}

}  // namespace millrace
