// tests/golden/records_history.cpp - the history of format 1 with coordinators, workload keys, what was done to
// accounts, words about ended jobs, and reservations that begin, after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

Reservation course() {
  Reservation out;
  out.id = ReservationId{1};
  out.name = "course";
  out.start = at(600);
  out.end = at(900);
  out.flags = reserve_daily | reserve_magnetic | reserve_replace_down | reserve_user_delete;
  out.nodes = {1};
  out.users = {"alice"};
  out.max_start_delay_seconds = 120;
  out.purge_after_idle_seconds = 300;
  out.start_awaited = true;
  return out;
}

}  // namespace

std::vector<GoldenBatch> records_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted job = one_more_job(out, 9, "words", 177, at(510));
  job.spec.extras = SharedValue(JobExtras{.wckey = "*grant"});
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  Association root{.id = AssociationId{1},
                   .parent = {},
                   .account = "root",
                   .user = {},
                   .partition = {},
                   .description = "default root account",
                   .organization = "root",
                   .limits = {},
                   .qos = {},
                   .default_qos = {}};
  Association physics = root;
  physics.id = AssociationId{2};
  physics.parent = AssociationId{1};
  physics.account = "physics";
  physics.coordinators = {"alice", "bob"};
  const AccountUser alice{"alice", AdminLevel::operates, {"grant", "own"}, "grant"};
  const Transaction done{TransactionId{1},          at(502),          "root",    "Add Account Coordinators",
                         "name='alice',name='bob'", "acct='physics'", "physics", "alice,bob"};
  out.push_back(
      {{},
       {AssociationChanged{root, at(501)}, AssociationChanged{physics, at(501)}, AccountUserChanged{alice, at(502)},
        AccountUserChanged{{.name = "carol", .default_wckey = "x"}, at(502)}, TransactionNoted{done, at(502)}}});
  out.push_back({{}, {job, JobPlaced{job.key, Attempt{0}, {share}, false, at(511)}}});
  out.push_back({{}, {AttemptEnded{job.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 3, 0, at(520)}}});
  RecordAnnotated words{.key = job.key,
                        .comment = "looked at",
                        .admin_comment = {},
                        .system_comment = {},
                        .extra = "x=1",
                        .wckey = {},
                        .derived_exit = "0:0",
                        .at = at(530)};
  out.push_back({{}, {words}});
  Reservation begun = course(), next = next_turn(course(), at(901));
  begun.start_awaited = false;
  begun.idle_since = at(600);
  out.push_back(
      {{}, {ReservationSet{course(), at(540)}, ReservationSet{begun, at(600)}, ReservationSet{next, at(901)}}});
  out.push_back({{}, {AccountUserChanged{{.name = "carol"}, at(902)}, ReservationRemoved{ReservationId{1}, at(903)}}});
  return out;
}

}  // namespace millrace
