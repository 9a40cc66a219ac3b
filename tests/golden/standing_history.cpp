// tests/golden/standing_history.cpp - the history of format 1 with crontabs, a job that comes again, and triggers after
// it.
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
  cron.spec.submission = {};  // no client asked for it twice
  cron.begin_at = at(600);
  const UserId owner = cron.spec.owner->uid;
  JobSubmitted other = cron;
  other.key = JobKey{cron.key.value + 1};
  other.id = JobId{cron.id.value + 1};
  other.spec.extras = SharedValue(JobExtras{.cron = "@daily"});
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  Trigger down{.id = TriggerId{1},
               .uid = UserId{0},
               .event = TriggerEvent::node_down,
               .job = {},
               .job_id = {},
               .nodes = "n[1-2]",
               .offset_seconds = 30,
               .permanent = true,
               .program = "/sbin/tell me"};
  const Trigger end{.id = TriggerId{2},
                    .uid = UserId{0},
                    .event = TriggerEvent::job_end,
                    .job = cron.key,
                    .job_id = cron.id,
                    .nodes = {},
                    .offset_seconds = 0,
                    .permanent = false,
                    .program = "/sbin/other"};
  out.push_back({{},
                 {CrontabSet{owner,
                             {.text = "*/5 * * * * true\n@daily date\n", .jobs = {{cron.key, 1}, {other.key, 2}}},
                             at(511),
                             owner,
                             {cron, other}}}});
  out.push_back({{}, {TriggerSet{down, at(520)}, TriggerSet{end, at(521)}}});
  out.push_back({{}, {JobBecameEligible{cron.key, at(600)}, JobPlaced{cron.key, Attempt{0}, {share}, false, at(601)}}});
  down.due = {{at(640), "n1"}};
  out.push_back({{}, {TriggerSet{down, at(610)}}});
  out.push_back({{}, {AttemptEnded{cron.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(650)}}});
  out.push_back(
      {{}, {TriggerRemoved{TriggerId{2}, at(651)}, JobRequeued{cron.key, false, UserId{0}, at(652), at(900)}}});
  out.push_back({{}, {JobBecameEligible{cron.key, at(900)}, JobPlaced{cron.key, Attempt{1}, {share}, false, at(901)}}});
  out.push_back(
      {{},
       {CrontabSet{
           owner, {.text = "#DISABLED: */5 * * * * true\n@daily date\n", .jobs = {{other.key, 2}}}, at(910), owner}}});
  out.push_back({{}, {AttemptEnded{cron.key, Attempt{1}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(920)}}});
  out.push_back({{},
                 {CrontabSet{UserId{1001}, {.text = "# nothing yet\n", .jobs = {}}, at(930), UserId{0}},
                  CrontabSet{owner, {}, at(931), owner}}});
  return out;
}

}  // namespace millrace
