// tests/golden/standing_history.cpp - the history of format 1 with a crontab, its job, and triggers after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

}  // namespace

std::vector<GoldenBatch> standing_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted cron = one_more_job(out, 9, "cron", 169, at(510));
  cron.spec.extras = SharedValue(JobExtras{.cron = "*/5 * * * *"});
  cron.begin_at = at(600);
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  JobModified again;
  again.key = cron.key;
  again.begin_at = at(900);
  again.at = at(700);
  const Trigger down{.id = TriggerId{1}, .uid = UserId{0}, .event = TriggerEvent::node_down, .job = {}, .job_id = {}, .nodes = "n[1-2]", .offset_seconds = 30, .permanent = true, .program = "/sbin/tell me"};
  const Trigger end{.id = TriggerId{2}, .uid = UserId{0}, .event = TriggerEvent::job_end, .job = cron.key, .job_id = cron.id, .nodes = {}, .offset_seconds = 0, .permanent = false, .program = "/sbin/other"};
  out.push_back({{}, {cron, CrontabSet{UserId{1000}, {.text = "*/5 * * * * true\n", .jobs = {cron.key}}, at(511)}}});
  out.push_back({{}, {TriggerSet{down, at(520)}, TriggerSet{end, at(521)}}});
  out.push_back({{}, {JobBecameEligible{cron.key, at(600)}, JobPlaced{cron.key, Attempt{0}, {share}, false, at(601)}}});
  out.push_back({{}, {AttemptEnded{cron.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(650)}}});
  out.push_back({{}, {TriggerRemoved{TriggerId{2}, at(650)}, JobRequeued{cron.key, false, UserId{0}, at(700)}, again}});
  out.push_back({{}, {CrontabSet{UserId{1000}, {}, at(800)}, CrontabSet{UserId{1001}, {.text = "@daily date\n", .jobs = {}}, at(801)}}});
  return out;
}

}  // namespace millrace
