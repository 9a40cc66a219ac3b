// tests/golden/planning_history.cpp - the history of format 1 with reservations, preemptions, licences and a deadline
// after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 250}; }

ClusterConfigured configured_to_preempt(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  out.policy.licences = {{"fluent", 4}, {"matlab", 10}};
  out.policy.preempt_type = PreemptType::partition;
  out.policy.preempt_mode = PreemptMode::requeue;
  out.policy.preempt_exempt_seconds = 20;
  out.partitions.front().preempt_mode = PreemptMode::cancel;
  out.partitions.front().grace_seconds = 30;
  out.at = at(500);
  return out;
}

Reservation upgrade() {
  Reservation out;
  out.id = ReservationId{1};
  out.name = "upgrade";
  out.start = at(7200);
  out.end = at(10'800);
  out.flags = reserve_maint | reserve_ignore_jobs | reserve_spec_nodes;
  out.nodes = {0, 1};
  out.users = {"root"};
  out.comment = "new \"firmware\"\n";
  out.made_by = UserId{0};
  return out;
}

Reservation course() {
  Reservation out;
  out.id = ReservationId{2};
  out.name = "course";
  out.start = at(3600);
  out.end = at(5400);
  out.flags = reserve_daily | reserve_flex | reserve_overlap | reserve_no_hold_after;
  out.nodes = {1};
  out.partition = 0;
  out.users = {"alice", "-bob"};
  out.accounts = {"physics", "-guest"};
  out.groups = {"staff"};
  out.licences = {{"fluent", 2}};
  out.features = "fast";
  out.max_start_delay_seconds = 60;
  out.purge_after_idle_seconds = 600;
  out.idle_since = at(3601);
  out.made_by = UserId{1000};
  return out;
}

Reservation floating() {
  Reservation out;
  out.id = ReservationId{3};
  out.name = "soon";
  out.start = Time{600'000'000};  // ten minutes from now, whenever that is
  out.end = Time{1'200'000'000};
  out.flags = reserve_time_float | reserve_static_alloc;
  out.nodes = {0};
  return out;
}

std::vector<Event> reservations() {
  Reservation longer = upgrade();
  longer.end = at(14'400);
  longer.users.emplace_back("alice");
  Reservation tomorrow = course();
  tomorrow.start = at(3600 + 86'400);
  tomorrow.end = at(5400 + 86'400);
  tomorrow.idle_since = Time{};
  return {ReservationSet{upgrade(), at(501)},  ReservationSet{course(), at(502)},
          ReservationSet{floating(), at(503)}, ReservationSet{longer, at(504)},
          ReservationSet{tomorrow, at(505)},   ReservationRemoved{ReservationId{3}, at(506)}};
}

JobSubmitted planned(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name, std::int64_t second) {
  return one_more_job(before, key, name, static_cast<std::uint8_t>(100 + key), at(second));
}

JobSubmitted with_licences(const std::vector<GoldenBatch>& before) {
  JobSubmitted out = planned(before, 9, "licensed", 510);
  ResourceRequest request;
  request.licences = {{"fluent", 2}, {"matlab", 1}};
  request.more_partitions = {1};
  request.reservation = "course";
  request.time_min_minutes = 20;
  out.spec.resources = SharedValue(request);
  return out;
}

JobSubmitted with_deadline(const std::vector<GoldenBatch>& before) {
  JobSubmitted out = planned(before, 11, "too late", 512);
  ResourceRequest request;
  request.deadline = at(4000);
  out.spec.resources = SharedValue(request);
  return out;
}

}  // namespace

std::vector<GoldenBatch> planning_history() {
  std::vector<GoldenBatch> out = format1_history();
  const std::vector<GoldenBatch> before = out;
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  const WaitHistory waited{
      {{Reason::priority, at(510)}, {Reason::licenses, at(515)}, {Reason::resources, at(518)}}, at(511), at(530)};
  const JobKey licensed{9}, cheap{10}, urgent{12};
  out.push_back({{}, {configured_to_preempt(before)}});
  out.push_back({{}, reservations()});
  out.push_back({{}, {with_licences(before), planned(before, 10, "cheap", 511), with_deadline(before)}});
  out.push_back({{},
                 {JobPlaced{licensed,
                            Attempt{0},
                            {share},
                            true,
                            at(520),
                            PartitionIndex{1},
                            {{"fluent", 2}, {"matlab", 1}},
                            991,
                            waited}}});
  out.push_back({{}, {JobPlaced{cheap, Attempt{0}, {share}, false, at(521)}, planned(before, 12, "urgent", 540)}});
  // Told, let run for its grace, stopped, and back in the queue.
  out.push_back({{}, {JobPreempted{licensed, urgent, true, at(571), at(541)}}});
  // No grace, and that was its end.
  out.push_back({{}, {JobPreempted{cheap, urgent, false, at(542), at(542)}}});
  out.push_back({{}, {AttemptEnded{cheap, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(543)}}});
  out.push_back({{}, {JobPreempted{licensed, urgent, true, at(571), at(571)}}});
  out.push_back({{}, {AttemptEnded{licensed, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(572)}}});
  out.push_back({{},
                 {JobPlaced{urgent, Attempt{0}, {share}, false, at(573)},
                  JobPreempted{JobKey{8}, urgent, true, at(640), at(610)}}});
  out.push_back({{}, {JobDeadlinePassed{JobKey{11}, at(4001)}}});
  return out;
}

}  // namespace millrace
