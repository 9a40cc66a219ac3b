// tests/golden/aside_history.cpp - histories of format 1 with records that are put aside after them: as the fact that
// says so, and as a log that leads to an impossible state, which a start has to repair.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 990}; }

const NodeShare share{NodeIndex{0}, Cpus{1}, Mebibytes{100}, 1, false, {}};

}  // namespace

std::vector<GoldenBatch> aside_history() {
  std::vector<GoldenBatch> out = format1_history();
  const JobSubmitted first = one_more_job(out, 9, "aside", 180, at(510)),
                     second = one_more_job(out, 10, "after it", 181, at(511));
  out.push_back({{}, {first, second, JobPlaced{first.key, Attempt{0}, {share}, false, at(520)}}});
  out.push_back({{},
                 {RecordsPutAside{.jobs = {first.key},
                                  .crontabs = {UserId{1000}},
                                  .triggers = {TriggerId{7}},
                                  .kept_runs = {KeptNumber{9}},
                                  .associations = {AssociationId{11}},
                                  .run_histories = {UserId{12}},
                                  .nodes = {NodeIndex{1}},
                                  .laws = {"job 9: a law that was broken"},
                                  .at = at(530)}}});
  return out;
}

std::vector<GoldenBatch> impossible_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted first = one_more_job(out, 9, "has ports", 182, at(510)),
               second = one_more_job(out, 10, "has the same", 183, at(511)),
               recurs = one_more_job(out, 11, "recurs", 184, at(512));
  JobExtras cron;
  cron.cron = "0 * * * *";
  recurs.spec.extras = SharedValue(cron);
  recurs.spec.submission = {};
  out.push_back({{}, {first, second}});
  for (const JobSubmitted& job : {first, second}) {
    out.push_back({{}, {JobPlaced{job.key, Attempt{0}, {share}, false, at(520)}}});
    out.push_back({{}, {JobPortsHeld{job.key, Attempt{0}, "12000-12003", at(521)}}});
  }
  // Entries without a text: no crontab lists the job.
  out.push_back(
      {{}, {CrontabSet{.uid = UserId{1000}, .crontab = {}, .at = at(530), .by = UserId{1000}, .submitted = {recurs}}}});
  return out;
}

}  // namespace millrace
