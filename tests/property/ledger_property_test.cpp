// tests/property/ledger_property_test.cpp - laws that hold after any history; a failure prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/prng.h"
#include "controller/loop/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/accept_preemption.h"
#include "core/admission/cancel_job.h"
#include "core/admission/change_account.h"
#include "core/admission/change_partition.h"
#include "core/admission/expire.h"
#include "core/admission/modify_job.h"
#include "core/admission/power_nodes.h"
#include "core/admission/report_node.h"
#include "core/admission/report_steps.h"
#include "core/admission/reserve.h"
#include "core/admission/reserve_ports.h"
#include "core/admission/submit_het_job.h"
#include "core/admission/suspend_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/compare.h"
#include "core/ledger/invariants.h"
#include "core/ledger/limits.h"
#include "core/ledger/preempt_rule.h"
#include "core/model/gres_text.h"
#include "core/model/node_use.h"
#include "core/model/withheld.h"
#include "core/planner/pass.h"
#include "wire/event_codec.h"

namespace millrace {
namespace {

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    std::vector<NodeDef>& nodes = nodes_;
    nodes.resize(4);
    PartitionDef &main = main_, &small = small_;
    main.name = "main";
    main.is_default = true;
    small.name = "small";
    small.priority_tier = 3;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{8};
      nodes[i].memory = Mebibytes{1000};
      constexpr const char* gres[] = {"gpu:a:2,shard:8,nic:3", "gpu:a:1,gpu:b:2", "gpu:b:4(S:0-1),mps:40", ""};
      nodes[i].kinds = *parse_node_gres(gres[i]);
      MR_ASSERT(settle_kinds(nodes[i].kinds));
      nodes[i].features = i < 2 ? "left,odd" : "right";
      if (i == 3) continue;  // a line that says nothing of its sockets
      nodes[i].sockets = 2;
      nodes[i].cores_per_socket = i == 1 ? 4 : 2;
      nodes[i].threads_per_core = i == 1 ? 1 : 2;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      main.nodes.push_back(nodes[i].name);
      if (i < 2) small.nodes.push_back(nodes[i].name);
    }
    Policy& policy = policy_;
    policy.cpu_unit = static_cast<CpuUnit>(seed % 3);
    policy.licences = {{"bar", 1}, {"foo", 3}};
    policy.memory_is_consumable = true;
    policy.requeue_delay_seconds = 5;
    policy.min_job_age_seconds = 30;
    policy.keep_ended_seconds = seed % 6 == 5 ? 0 : 120;
    policy.keep_ended_rows = 40;
    policy.return_to_service = 2;
    policy.predict_run_times = seed % 2 == 1;
    policy.max_job_id = 400;  // numbers wrap within one history
    policy.least_loaded = seed % 7 == 3;
    policy.one_task_per_core = seed % 5 == 4;
    policy.all_partitions = seed % 6 == 1;
    if (seed % 3 == 1) small.max_cpus_per_node = 3;
    if (seed % 5 == 2) main.max_cpus_per_node = 6;
    small.least_loaded = seed % 4 == 2;
    if (seed % 4 == 0) {
      policy.preempt_type = PreemptType::partition;
      policy.preempt_mode = seed % 8 == 0 ? PreemptMode::requeue : PreemptMode::cancel;
      policy.preempt_exempt_seconds = static_cast<std::uint32_t>(seed % 3 * 5);
      main.grace_seconds = static_cast<std::uint32_t>(seed % 5 * 3);
    }
    if (seed % 5 == 1) {
      policy.preempt_type = PreemptType::partition;
      policy.preempt_mode = PreemptMode::suspend;
      policy.gang = true;
    }
    if (seed % 7 < 3) {
      main.sharing = seed % 2 == 0 ? CpuSharing::forced : CpuSharing::on_request;
      main.share_max = 2 + static_cast<std::uint32_t>(seed % 3);
      policy.gang = policy.gang || seed % 7 == 1;
      policy.time_slice_seconds = 7;
    }
    if (seed % 3 == 1) {
      policy.node_programs = seed % 2 == 0;
      policy.job_prolog = seed % 4 < 2;
      policy.job_epilog = seed % 5 < 3;
      policy.hold_on_prolog_failure = seed % 7 < 4;
      policy.requeue_on_prolog_failure = seed % 11 < 3;
    }
    if (seed % 5 == 2) {
      policy.power.saving = true;
      policy.power.suspend_seconds = 30;
      policy.power.suspend_timeout_seconds = 5;
      policy.resume_timeout_seconds = 15;
      policy.power.keep_up = {1};
      nodes[1].keep_up = nodes[2].keep_up = 1;
      nodes[3].kind = seed % 2 == 0 ? NodeKind::cloud : NodeKind::normal;
      small.power_down_on_idle = seed % 3 == 0;
    }
    policy.over_time_minutes = seed % 5 == 3 ? 1 : 0;
    if (seed % 7 == 2) small.over_time_minutes = seed % 2 == 0 ? unlimited : 2;
    if (seed % 4 == 3) policy.max_requeues = static_cast<std::uint32_t>(seed % 3);
    if (seed % 4 == 1 && policy.cpu_unit != CpuUnit::socket) {
      nodes[0].withheld_cpus = *last_cores(nodes[0], 1);
      nodes[1].withheld_cpus = *listed_cpus(nodes[1], "0,5");
      nodes[1].withheld_memory = Mebibytes{300};
    }
    with_accounts_ = random_.chance(1, 2);
    if (with_accounts_) add_policy(policy, small);
    with_reservations_ = seed % 3 == 0;
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main, small}, policy, now_}});
    for (std::uint32_t i = 0; i < nodes.size(); ++i) register_node(i);
    if (with_accounts_) plant_accounts();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !broken_; ++i) {
      now_ = now_ + milliseconds(random_.between(1, 4000));
      if (random_.chance(1, 100)) now_ = now_ + seconds(50 * 3'600);  // some have waited long (Backfill::guarded)
      step();
    }
    check_replay();
  }

 private:
  void add_policy(Policy& policy, PartitionDef& small) {
    policy.basic_priority = random_.chance(1, 4);
    policy.priority.age = static_cast<std::uint32_t>(random_.below(1000));
    policy.priority.fairshare = static_cast<std::uint32_t>(random_.below(3000));
    policy.priority.qos = static_cast<std::uint32_t>(random_.below(1000));
    policy.priority.max_age_seconds = 300;
    policy.priority.half_life_seconds = random_.chance(1, 4) ? 0 : static_cast<std::uint32_t>(1 + random_.below(500));
    policy.priority.calc_period_seconds = static_cast<std::uint32_t>(1 + random_.below(60));
    if (random_.chance(1, 3)) policy.priority.flags = priority_no_fair_tree;
    if (random_.chance(1, 10)) policy.priority.reset = ResetPeriod::daily;
    if (random_.chance(4, 5)) policy.enforce = enforce_limits;
    if (random_.chance(1, 4)) policy.enforce |= enforce_safe;
    small.qos = "part";
    small.billing_weights = {{"cpu", 1'500'000'000, 1}, {"mem", 1'000'000'000, 1024}};
  }

  void manage(std::vector<std::string_view> words) {
    const auto change = parse_account_change(words);
    ASSERT_TRUE(change) << change.error().story;
    const auto decision = decide_accounts(state_, *change, {UserId{0}, true}, now_);
    if (decision) happen(decision->events);
  }

  void plant_accounts() {
    manage({"add", "account", "a,b"});
    manage({"add", "account", "c", "parent=a", "fairshare=3"});
    manage({"add", "qos", "high,part", "priority=10"});
    manage({"add", "user", "u0,u1", "account=a,c", "qos=normal,high"});
    manage({"add", "user", "u2", "account=b"});
  }

  // An administrator changes his mind.
  void change_accounts() {
    const std::string count = std::to_string(random_.below(12)), few = std::to_string(random_.below(3));
    const std::string account = std::string(1, "abc"[random_.below(3)]), user = "u" + std::to_string(random_.below(3));
    const std::string tres = "grptres=cpu=" + count, jobs = "grpjobs=" + few, mine = "maxjobs=" + few,
                      mins = "grptresmins=cpu=" + count;
    const std::string run = "grptresrunmins=cpu=" + count, per_user = "maxtrespu=cpu=" + count,
                      jobs_pu = "maxjobspu=" + few;
    switch (random_.below(13)) {
      case 0:
        return manage({"modify", "account", account, "set", tres});
      case 1:
        return manage({"modify", "account", account, "set", jobs, "maxsubmit=9"});
      case 2:
        return manage({"modify", "user", user, "set", mine});
      case 3:
        return manage({"modify", "account", account, "set", mins, run});
      case 4:
        return manage({"modify", "qos", random_.chance(1, 2) ? "high" : "part", "set", per_user, jobs_pu});
      case 5:
        return manage(
            {"modify", "account", account, "set", "grptres=-1", "grpjobs=-1", "grptresmins=-1", "grptresrunmins=-1"});
      case 6:
        return manage({"modify", "qos", "normal,high,part", "set", "maxtrespu=-1", "maxjobspu=-1"});
      case 7:
        return manage({"modify", "user", user, "set", "rawusage=0"});
      case 8:
        return manage({"modify", "account", "c", "set", random_.chance(1, 2) ? "parent=b" : "parent=root"});
      case 9:
        return manage({"delete", "user", user, "where", "account=c"});
      case 10:
        return manage({"add", "user", user, "account=c", "fairshare=2"});
      case 11:
        return manage({"modify", "qos", "high", "set", random_.chance(1, 2) ? "usagefactor=2" : "usagefactor=0.5",
                       "flags=nodecay"});
      default:
        return manage({"delete", "qos", "high"});
    }
  }

  // Whoever starts a job is within every limit that is looked at then; what was lowered afterwards is not his fault.
  void check_limits_kept(const Job& job) {
    if ((state_.policy->enforce & enforce_limits) == 0) return;
    const auto use_of = [&](const UseKey& key) { return state_.uses.contains(key) ? *state_.uses.at(key) : Use{}; };
    const auto cpus = [](const TresList& list) {
      return find_tres(list, "cpu") ? find_tres(list, "cpu")->amount : INT64_MAX;
    };
    for (const Association* a = state_.find_association(job.association); a; a = state_.find_association(a->parent)) {
      const Use use = use_of({UseOf::association, a->id.value, 0});
      if (use.tres[tres_cpu] > cpus(a->limits.grp_tres)) fail("more CPUs than GrpTRES of " + a->account);
      if (use.running > a->limits.grp_jobs.value_or(UINT32_MAX)) fail("more jobs than GrpJobs of " + a->account);
      if ((run_seconds_left(use, tres_cpu, now_) + 59) / 60 > cpus(a->limits.grp_tres_run_mins))
        fail("more CPU run minutes than GrpTRESRunMins of " + a->account);
    }
    const Qos* part = state_.find_qos(state_.partition(job.spec->partition).def.qos);
    for (const Qos* qos : {state_.find_qos(job.qos), part}) {
      if (!qos) continue;
      const Use use = use_of({UseOf::user_in_qos, qos->id.value, job.spec->owner->uid.value});
      const bool part_says = qos != part && part && part->limits.max_jobs;
      if (!part_says && use.running > qos->limits.max_jobs.value_or(UINT32_MAX))
        fail("more jobs than MaxJobsPU of " + qos->name);
      const bool part_counts = qos != part && part && find_tres(part->max_tres_per_user, "cpu");
      if (!part_counts && use.tres[tres_cpu] > cpus(qos->max_tres_per_user))
        fail("more CPUs than MaxTRESPU of " + qos->name);
    }
  }

  // Components count one after the other: not every limit looks at every job that counts for it.
  void check_components_kept(const HetJobPlaced& whole) {
    const State before = state_;
    for (const JobPlaced& placed : whole.components) {
      apply(state_, placed);
      check_limits_kept(state_.job(placed.key));
    }
    state_ = before;
  }

  std::optional<JobKey> any_job() {
    if (state_.jobs.empty()) return std::nullopt;
    const auto it = state_.jobs.lower_bound(JobKey{1 + random_.below(state_.next_key.value)});
    return it == state_.jobs.end() ? std::nullopt : std::optional{(*it).first};
  }

  void register_node(std::uint32_t i) {
    happen(decide_register(
        state_,
        {NodeIndex{i}, "boot" + std::to_string(boots_[i]), {Cpus{8}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}},
        now_));
  }

  // Devices, features and licences, as far as anyone could ask for them.
  void wish(SubmitJob& ask) {
    ResourceWishes& wishes = ask.wishes;
    constexpr const char* gres[] = {"gpu",   "gpu:2", "gpu:b:1",     "shard:3", "shard",
                                    "nic:2", "mps:7", "gpu:a:1,nic", "fpga"};
    if (random_.chance(1, 2)) wishes.gres = gres[random_.below(9)];
    if (random_.chance(1, 8)) wishes.gpus_per_task = "1";
    if (random_.chance(1, 4)) wishes.licences = random_.chance(1, 2) ? "foo:2" : "foo|bar";
    if (random_.chance(1, 6)) wishes.features = random_.chance(1, 2) ? "left" : "(left&odd)|right";
    if (random_.chance(1, 8)) wishes.tasks_per_socket = static_cast<std::uint32_t>(random_.between(1, 2));
    if (random_.chance(1, 8)) wishes.tasks_per_core = 1;
    if (random_.chance(1, 8)) wishes.threads_per_core = 1;
    if (random_.chance(1, 8)) wishes.exclusive_user = true;
    if (random_.chance(1, 8)) wishes.distribution = random_.chance(1, 2) ? "cyclic" : "plane=2";
    if (random_.chance(1, 8)) wishes.gres_flags = "enforce-binding";
    if (random_.chance(1, 8)) ask.partition = "small,main";
    if (random_.chance(1, 6)) wishes.deadline = now_ + seconds(random_.between(60, 300));
    // Not drawn like the rest, so that the other wishes of a seed stay what they were.
    constexpr const char* counts[] = {"1,3", "2,4", "1-4:3", "1,2,4"};
    if (const std::uint64_t drawn = mix_bits(state_.next_key.value * 1000 + state_.jobs.size()); drawn % 5 == 0) {
      wishes.node_counts = counts[drawn / 5 % 4];
      if (drawn / 20 % 2 == 0) ask.spec.tasks = 4;  // more than the least of them holds
    }
  }

  // Kinds in another order: what running jobs hold moves along.
  void reconfigure() {
    std::vector<NodeDef> nodes = nodes_;
    for (NodeDef& node : nodes)
      if (random_.chance(1, 2)) std::ranges::reverse(node.kinds);
    if (main_.sharing != CpuSharing::no && policy_.preempt_mode != PreemptMode::suspend && random_.chance(1, 4)) {
      policy_.gang = !policy_.gang;
      gang_changed_ = true;
    }
    if (random_.chance(1, 3)) policy_.min_job_age_seconds = static_cast<std::uint32_t>(random_.below(600));
    const auto keep = static_cast<KeepPartitions>(random_.below(4));
    happen({ClusterConfigured{nodes, {main_, small_}, policy_, now_, {}, keep}});
  }

  SubmitJob any_request() {
    SubmitJob ask;
    RareRequest rare;
    const auto uid = static_cast<std::uint32_t>(random_.below(3));
    ask.spec.owner = SharedValue(Owner{UserId{uid}, GroupId{1}, "u" + std::to_string(uid), "g", {1}, "h", {}});
    if (random_.chance(1, 3)) ask.spec.account = std::string(1, "abc"[random_.below(3)]);
    if (random_.chance(1, 3)) rare.qos = "high";
    if (!rare.qos.empty()) ask.spec.rare = SharedValue(rare);
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    ask.spec.name = random_.chance(1, 3) ? "same" : "job" + std::to_string(random_.below(5));
    ask.spec.min_nodes = static_cast<std::uint32_t>(random_.below(4));
    ask.spec.tasks = static_cast<std::uint32_t>(random_.below(9));
    ask.spec.cpus_per_task = static_cast<std::uint32_t>(random_.below(5));
    if (random_.chance(1, 2))
      ask.spec.memory_per_node = Mebibytes{random_.between(0, 1100)};
    else
      ask.spec.memory_per_cpu = Mebibytes{random_.between(0, 200)};
    ask.spec.exclusive = random_.chance(1, 10);
    ask.spec.oversubscribe = random_.chance(1, 2);
    if (random_.chance(1, 8))
      ask.spec.extras = SharedValue(JobExtras{.mail_types = mail_end, .overcommit = random_.chance(3, 4)});
    if (random_.chance(1, 3)) {
      JobExtras extras = ask.spec.extra_request();
      extras.no_kill = true;
      ask.spec.extras = SharedValue(std::move(extras));
    }
    if (random_.chance(1, 8)) {
      JobExtras extras = ask.spec.extra_request();
      if (random_.chance(1, 2))
        extras.reboot = true;
      else
        extras.core_spec = static_cast<std::uint32_t>(random_.below(3));
      ask.spec.exclusive = true;
      ask.spec.extras = SharedValue(std::move(extras));
    }
    ask.spec.kill_on_invalid_dependency = random_.chance(1, 2);
    ask.hold = random_.chance(1, 10);
    if (random_.chance(1, 3)) ask.partition = "small";
    if (random_.chance(1, 8))
      ask.array = "1-" + std::to_string(random_.between(1, 6)) + (random_.chance(1, 2) ? "%2" : "");
    if (random_.chance(1, 6)) ask.begin_at = now_ + seconds(random_.between(1, 20));
    if (random_.chance(1, 8)) ask.excluded_nodes = "n" + std::to_string(random_.below(4));
    if (random_.chance(1, 8)) ask.required_nodes = "n" + std::to_string(random_.below(4));
    if (random_.chance(1, 12)) ask.dependency = "singleton";
    if (const auto target = any_job(); target && random_.chance(1, 4)) {
      const char* kinds[] = {"after:", "afterany:", "afterok:", "afternotok:", "aftercorr:"};
      ask.dependency = kinds[random_.below(5)] + std::to_string(state_.job(*target).id.value);
      if (ask.dependency.starts_with("after:") && random_.chance(1, 2)) ask.dependency += "+1";
    } else if (!state_.kept.empty() && random_.chance(1, 5)) {
      const auto some =
          state_.kept.lower_bound(KeptNumber{(*state_.kept.begin()).first.value + random_.below(state_.kept.size())});
      const char* kinds[] = {"after:", "afterany:", "afterok:", "afternotok:"};
      if (some != state_.kept.end())
        ask.dependency = kinds[random_.below(4)] + std::to_string((*some).second->job->id.value);
    }
    ask.time_limit_minutes = static_cast<std::uint32_t>(random_.below(3));
    if (with_reservations_ && random_.chance(1, 5)) ask.wishes.reservation = "r" + std::to_string(random_.below(3));
    ask.spec.submission[0] = static_cast<std::uint8_t>(1 + random_.below(250));
    ask.spec.submission[1] = static_cast<std::uint8_t>(random_.below(8));
    if (random_.chance(1, 2)) wish(ask);
    return ask;
  }

  void submit() {
    std::vector<SubmitJob> components{any_request()};
    const Owner owner = *components.front().spec.owner;
    for (std::uint64_t more = random_.chance(1, 4) ? random_.between(1, 3) : 0; more > 0; --more) {
      SubmitJob ask = any_request();
      ask.spec.owner = components.front().spec.owner;
      if (random_.chance(1, 2))  // small enough to start now and then
        for (SubmitJob* small : {&ask, &components.front()})
          small->spec.tasks %= 3, small->spec.cpus_per_task %= 3, small->spec.min_nodes %= 2;
      if (random_.chance(9, 10)) ask.dependency.clear();
      if (random_.chance(9, 10)) ask.array.clear(), components.front().array.clear();
      components.push_back(std::move(ask));
    }
    const std::uint64_t before = state_.jobs.size();
    const std::size_t size = components.size();
    const auto decision = decide(state_, components, {owner.uid, owner.uid.value == 0}, now_);
    if (decision) happen(decision->events);
    if (decision && !decision->existed && size > 1 && state_.jobs.size() != before + size)
      fail("a part of a heterogeneous job was submitted");
    if (!decision && state_.jobs.size() != before) fail("a part of a refused job was submitted");
  }

  static bool same_start(const Proposal& a, const Proposal& b) {
    return a.key == b.key && a.shares == b.shares && a.partition == b.partition &&
           std::ranges::equal(a.with, b.with, same_start);
  }

  // The law of the memo: what is remembered from pass to pass changes no plan.
  void check_memo(const PlannerSettings& settings, const Plan& expected) {
    Pass again(state_, settings, now_, &memo_);
    while (!again.advance(static_cast<std::int64_t>(1 + random_.below(50)))) {
    }
    const Plan plan = again.take();
    bool same =
        plan.placements.size() == expected.placements.size() && plan.findings.size() == expected.findings.size();
    for (std::size_t i = 0; same && i < plan.placements.size(); ++i)
      same = same_start(plan.placements[i], expected.placements[i]);
    for (std::size_t i = 0; same && i < plan.findings.size(); ++i)
      same = plan.findings[i].key == expected.findings[i].key &&
             plan.findings[i].planned_start == expected.findings[i].planned_start &&
             plan.findings[i].planned_shares == expected.findings[i].planned_shares;
    if (!same && std::getenv("MR_SEED")) {
      const auto show = [&](const Plan& p) {
        for (const auto& x : p.placements)
          std::fprintf(stderr, " place %lu on %u", x.key.value, x.shares.front().node.value);
        for (const auto& x : p.findings)
          std::fprintf(stderr, " find %lu at %ld on %zu", x.key.value, x.planned_start.value, x.planned_shares.size());
        std::fprintf(stderr, "\n");
      };
      std::fprintf(stderr, "backfill %d order %d depth %u now %ld\n", int(settings.backfill), int(settings.order),
                   settings.depth, now_.value);
      show(expected);
      show(plan);
    }
    if (!same) fail("a pass with a memo planned differently from one without");
  }

  // Asks for CPUs and memory alone, where single CPUs are given out and nobody has more of them than are counted (whole
  // cores for the sake of one thread): what is counted for it can be had.
  bool is_plain(const Job& job) const {
    if (policy_.cpu_unit != CpuUnit::cpu) return false;
    for (const JobKey key : whole_of(job))
      if (state_.job(key).spec->resources) return false;
    for (const auto& [key, nothing] : state_.active)
      for (const NodeShare& share : state_.job(key).placement->shares)
        if (share.detail && count_bits(share.detail->cpus) != share.cpus.value) return false;
    return true;
  }

  void place() {
    happen(decide_resumptions(state_, now_));
    PlannerSettings settings;
    constexpr Backfill kinds[] = {Backfill::none,         Backfill::easy,   Backfill::shortest_first,
                                  Backfill::conservative, Backfill::strict, Backfill::guarded};
    settings.backfill = kinds[random_.below(6)];
    constexpr OrderPolicy orders[] = {OrderPolicy::priority, OrderPolicy::priority, OrderPolicy::fcfs,
                                      OrderPolicy::f1,       OrderPolicy::wfp3,     OrderPolicy::guarded};
    settings.order = orders[random_.chance(1, 10) ? random_.below(6) : 0];
    settings.use_expected = policy_.predict_run_times;
    if (random_.chance(1, 10)) settings.unreachable.push_back(NodeIndex{static_cast<std::uint32_t>(random_.below(4))});
    settings.depth = static_cast<std::uint32_t>(random_.below(20));
    Pass pass(state_, settings, now_);
    while (!pass.advance(static_cast<std::int64_t>(1 + random_.below(20)))) {
    }
    const Plan plan = pass.take();
    check_memo(settings, plan);
    for (const Preemption& p : plan.preemptions)
      if (p.suspend) happen(decide_preempt(state_, {p.key, p.attempt, p.by, p.where}, now_));
    for (const Proposal& p : plan.placements) {
      Reason why = Reason::none;
      const auto events = decide_place(state_, to_place(p), now_, &why);
      const Job* job = state_.find_job(p.key);
      if (events.empty() && why == Reason::resources && job && is_plain(*job))
        fail("the planner gave CPUs that are not there to job key " + std::to_string(p.key.value));
      if (events.empty() && why == Reason::none)
        fail("admission refused a fresh proposal for job key " + std::to_string(p.key.value));
      happen(events);
      if (random_.chance(1, 10)) return;  // the rest of the plan grows stale
    }
    for (const Preemption& p : plan.preemptions) {
      if (p.suspend) continue;
      const auto events = decide_preempt(state_, {p.key, p.attempt, p.by, p.where}, now_);
      happen(events);
    }
  }

  void reserve() {
    if (random_.chance(1, 4) && !state_.reservations.empty())
      return happen(
          decide_remove_reservation(state_, (*state_.reservations.begin()).second->name, {UserId{0}, true}, now_)
              .value_or(std::vector<Event>{}));
    Reserve ask;
    ask.name = "r" + std::to_string(random_.below(3));
    ask.start = now_ + seconds(random_.between(-20, 60));
    ask.duration = seconds(random_.between(1, 90));
    if (random_.chance(1, 2))
      ask.nodes = "n" + std::to_string(random_.below(4));
    else
      ask.node_count = static_cast<std::uint32_t>(random_.between(1, 2));
    ask.users = random_.chance(1, 2) ? "u1,u2" : "-u1";
    constexpr const char* flags[] = {"", "maint", "overlap,ignore_jobs", "flex", "hourly", "time_float", "ignore_jobs"};
    ask.flags = flags[random_.below(7)];
    const auto decision = state_.find_reservation(ask.name)
                              ? decide_change_reservation(state_, ask, {UserId{0}, true}, now_)
                              : decide_reserve(state_, ask, {UserId{0}, true}, now_);
    if (decision) happen(decision->events);
  }

  void end_something() {
    const auto it = state_.active.lower_bound(JobKey{random_.below(state_.next_key.value)});
    if (it == state_.active.end()) return;
    const Job& job = state_.job((*it).first);
    const auto& shares = job.placement->shares;
    ReportEnd report{job.key, job.attempt, shares[random_.below(shares.size())].node, AttemptEnd::exited, 0, 0};
    if (random_.chance(1, 4)) report.exit_code = 1;
    if (random_.chance(1, 10)) report.end = AttemptEnd::supervisor_lost;
    if (state_.policy->node_programs || state_.policy->job_prolog || state_.policy->job_epilog)
      end_program(job, report);
    if (broken_) return;
    if (random_.chance(1, 20) && report.attempt.value > 0)
      report.attempt.value -= 1;  // an old attempt: must change nothing
    if (random_.chance(1, 20)) report.node = NodeIndex{static_cast<std::uint32_t>(random_.below(4))};
    happen(decide_end(state_, report, now_));
    happen(decide_end(state_, report, now_));  // reported twice
  }

  // Prologs and epilogs come to their ends, some of them badly, some for a job that has gone on meanwhile.
  void end_program(const Job& job, ReportEnd& report) {
    if (random_.chance(1, 4)) report.end = AttemptEnd::prolog_failed;
    report.epilog_failed = random_.chance(1, 10);
    const JobProgramEnded end{job.key, job.attempt, random_.chance(1, 2) ? JobProgram::prolog : JobProgram::epilog,
                              random_.chance(1, 4), now_};
    if (random_.chance(1, 2)) happen(decide_exit(state_, report, now_));
    if (broken_) return;
    happen(decide_program_end(state_, end));
    happen(decide_program_end(state_, end));
  }

  void order() {
    const auto key = any_job();
    if (!key) return;
    const Actor actor{UserId{static_cast<std::uint32_t>(random_.below(3))}, random_.chance(2, 3)};
    SelectedJob which{*key, {}, random_.chance(1, 2)};
    const Job& job = state_.job(*key);
    if (job.is_array_rest() && job.state == JobState::pending && random_.chance(1, 2))
      which.task = state_.arrays.at(job.array)->rest.front();
    Decision decision;
    switch (random_.below(8)) {
      case 5:
      case 6:
        decision = decide_suspend(state_, which, actor, now_);
        break;
      case 7:
        decision = decide_resume(state_, which, actor, now_);
        break;
      case 0:
        decision = decide_cancel(state_, which, actor, now_);
        break;
      case 1:
        decision = decide_requeue(state_, which, random_.chance(1, 3), actor, now_);
        break;
      case 2:
        decision = decide_hold(state_, which, false, actor, now_);
        break;
      case 3:
        decision = decide_release(state_, which, actor, now_);
        break;
      default: {
        ModifyJob ask;
        if (random_.chance(1, 2)) ask.change.time_limit_minutes = static_cast<std::uint32_t>(1 + random_.below(4));
        if (random_.chance(1, 4)) ask.change.priority = static_cast<std::uint32_t>(random_.below(1000));
        if (random_.chance(1, 4)) ask.change.name = "same";
        if (random_.chance(1, 4)) ask.dependency = "";
        if (random_.chance(1, 4)) ask.partition = "small";
        if (random_.chance(1, 4)) ask.change.begin_at = now_ + seconds(3);
        if (random_.chance(1, 4)) ask.change.array_throttle = 1;
        const std::uint64_t drawn = mix_bits(state_.version);
        if (drawn % 8 == 0) ask.wishes.node_counts = drawn / 8 % 2 == 0 ? "1,3" : "";
        if (drawn / 16 % 8 == 0) ask.min_cpus = static_cast<std::uint32_t>(drawn / 128 % 20);
        ask.reset_accrue = drawn / 4096 % 8 == 0;
        if (job.state == JobState::running && random_.chance(1, 2)) {
          ask = {};
          ask.change.min_nodes = static_cast<std::uint32_t>(1 + random_.below(2));
        }
        decision = decide_modify(state_, which, ask, actor, now_);
      }
    }
    if (decision) happen(*decision);
  }

  // Made, changed and deleted by scontrol. Who shares CPUs with whom stays: jobs that run could not be told.
  void touch_partition() {
    const Actor root{UserId{0}, true};
    const bool extra = random_.chance(1, 2);
    if (extra && random_.chance(1, 3)) {
      if (const auto decision = decide_delete_partition(state_, "extra", root, now_)) happen(*decision);
      return;
    }
    const std::string name = extra ? "extra" : random_.chance(1, 2) ? "main" : "small";
    const auto known = state_.find_partition(name);
    PartitionDef def = known ? state_.partition(*known).def : small_;
    def.name = name;
    if (random_.chance(1, 2)) def.priority_tier = static_cast<std::uint32_t>(1 + random_.below(4));
    if (random_.chance(1, 4))
      def.max_time_minutes = random_.chance(1, 2) ? unlimited : static_cast<std::uint32_t>(1 + random_.below(3));
    if (random_.chance(1, 4))
      def.max_nodes = random_.chance(1, 2) ? unlimited : static_cast<std::uint32_t>(1 + random_.below(4));
    if (random_.chance(1, 4)) def.availability = random_.chance(2, 3) ? Availability::up : Availability::down;
    if (random_.chance(1, 4)) def.is_default = name == "main";
    if (random_.chance(1, 3)) {
      def.nodes = random_.chance(1, 2) ? main_.nodes : small_.nodes;
      if (def.nodes.size() > 1 && random_.chance(1, 2))
        def.nodes.erase(def.nodes.begin() + static_cast<std::ptrdiff_t>(random_.below(def.nodes.size())));
    }
    if (const auto decision = decide_set_partition(state_, def, !known, root, now_)) happen(*decision);
    if (with_accounts_ && random_.chance(1, 4))
      happen(*decide_damping(static_cast<std::uint32_t>(1 + random_.below(3)), root, now_));
  }

  // A step wants ports: the job has them then, or there are too few.
  void reserve_ports() {
    const auto key = any_job();
    if (!key || !state_.job(*key).is_on_nodes()) return;
    const auto count = static_cast<std::uint32_t>(1 + random_.below(5));
    if (const auto events = decide_ports(state_, state_.job(*key), count, *parse_index_set("100-107", 65535), now_))
      happen(*events);
  }

  void touch_node() {
    if (random_.chance(1, 6)) return reserve_ports();
    if (random_.chance(1, 8)) return reconfigure();
    if (random_.chance(1, 6)) return touch_partition();
    const auto i = static_cast<std::uint32_t>(random_.below(4));
    switch (random_.below(4)) {
      case 0:
        ++boots_[i];
        register_node(i);
        break;
      case 1:
        happen(decide_lost(state_, NodeIndex{i}, now_));
        break;
      case 2:
        register_node(i);
        break;
      default: {
        const char* words[] = {"drain", "undrain", "down",        "resume",        "resume",
                               "fail",  "reboot",  "reboot_asap", "cancel_reboot", ""};
        ChangeNode ask{NodeIndex{i}, words[random_.below(10)], "why"};
        ask.after_reboot = static_cast<AfterReboot>(random_.below(3));
        if (ask.state.empty() && random_.chance(1, 2)) ask.change.weight = static_cast<std::uint32_t>(random_.below(3));
        if (ask.state.empty() && random_.chance(1, 2))
          ask.change.features = random_.chance(1, 2) ? "left" : "right,odd";
        constexpr const char* active[] = {"left", "odd", "odd,right", ""};
        if (ask.state.empty() && random_.chance(1, 2)) ask.change.active_features = active[random_.below(4)];
        const bool leaves_service =
            ask.state.empty() || ask.state == "drain" || ask.state == "down" || ask.state == "fail";
        if (leaves_service && random_.chance(1, 2))
          ask.change.resume_at = random_.chance(1, 4) ? Time{} : now_ + seconds(random_.between(0, 300));
        if (random_.chance(1, 8))
          ask.change.instance_id = "i-" + std::to_string(random_.below(3)), ask.change.instance_type = "large";
        const auto decision = decide_change_node(state_, ask, {UserId{0}, true}, now_);
        if (decision) happen(*decision);
        happen(decide_reboots(state_, now_));
      }
    }
  }

  // What is due, what an administrator wants, and a node that comes up (or says something although it should be off).
  void power() {
    const auto i = static_cast<std::uint32_t>(random_.below(4));
    constexpr const char* words[] = {"power_up",         "power_down", "power_down_asap",
                                     "power_down_force", "future",     "resume"};
    if (random_.chance(1, 4)) {
      const auto decision =
          decide_change_node(state_, {NodeIndex{i}, words[random_.below(6)], ""}, {UserId{0}, true}, now_);
      if (decision) happen(*decision);
    }
    for (int round = 0; round < 20 && !broken_; ++round) {
      const auto events =
          decide_power(state_, now_, {.down = static_cast<std::uint32_t>(1 + random_.below(3)), .up = unlimited});
      if (events.empty()) break;
      happen(events);
    }
    for (const auto& [index, node] : State{state_}.nodes)
      if (node->power.state == Power::coming_up && random_.chance(2, 3))
        ++boots_[index.value], register_node(index.value);
  }

  void leave_unpowered() {
    for (const auto& [key, nothing] : State{state_}.active)
      for (auto events = decide_leave_unpowered(state_, key, now_); !events.empty() && !broken_;
           events = decide_leave_unpowered(state_, key, now_))
        happen(events);
  }

  // A step manager tells of steps: new ones, old ones again, ends of what runs, has ended or never was.
  void report_steps() {
    const auto key = any_job();
    if (!key) return;
    const Job& job = state_.job(*key);
    std::vector<ReportedStep> told;
    const StepTally* tally = state_.step_tallies.find(*key);
    std::uint32_t id = tally && tally->attempt == job.attempt && tally->next_id > 3 ? tally->next_id - 3 : 0;
    for (std::uint64_t more = random_.below(6); more > 0; --more) {
      ReportedStep step;
      step.start.id = id++;
      step.start.name = "s" + std::to_string(step.start.id);
      step.start.tasks = 1;
      step.start.at = now_ - seconds(random_.between(0, 5));
      step.nodes = "n" + std::to_string(random_.below(4));
      if (job.placement && random_.chance(4, 5)) step.nodes = nodes_[job.placement->shares.front().node.value].name;
      if (random_.chance(1, 2))
        step.end =
            StepEnd{step.start.id, random_.chance(1, 2) ? Outcome::completed : Outcome::failed, 1, 0, {}, {}, now_};
      told.push_back(std::move(step));
    }
    if (!told.empty() && random_.chance(1, 4)) told.back().start.id = interactive_step;
    const Attempt attempt{random_.chance(1, 10) ? job.attempt.value + 1 : job.attempt.value};
    const auto events = decide_steps(state_, *key, attempt, told, now_);
    happen(events);
    if (!events.empty() && !decide_steps(state_, *key, attempt, told, now_).empty())
      fail("what was told of steps is news again");
  }

  void step() {
    for (;;) {
      const auto events = decide_expired(state_, now_);
      if (events.empty()) break;
      const Time before = next_deadline(state_);
      happen(events);
      if (broken_) return;
      (void)before;
    }
    if (with_accounts_ && random_.chance(1, 12)) return change_accounts();
    if (with_reservations_ && random_.chance(1, 15)) return reserve();
    if (random_.chance(1, 10)) report_steps();
    if (policy_.power.saving) leave_unpowered();
    if (policy_.power.saving && random_.chance(1, 5)) return power();
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
        submit();
        break;
      case 3:
      case 4:
        place();
        break;
      case 5:
      case 6:
      case 7:
        end_something();
        break;
      case 8:
        order();
        break;
      default:
        touch_node();
        break;
    }
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (const auto* whole = std::get_if<HetJobPlaced>(&event)) check_components_kept(*whole);
      apply(state_, event);
      just_placed_ = std::holds_alternative<JobPlaced>(event);
      history_.push_back(encode_event(event));
      if (const auto broken = broken_law(state_)) fail(*broken);
      check_cpus();
      check_kept(event);
      if (const auto* placed = std::get_if<JobPlaced>(&event)) {
        check_limits_kept(state_.job(placed->key));
        check_nothing_withheld(*placed);
        check_nobody_overtaken(state_.job(placed->key));
      }
    }
  }

  // What is kept for the system goes to no job.
  void check_nothing_withheld(const JobPlaced& placed) {
    for (const NodeShare& share : placed.shares) {
      const Node& node = state_.node(share.node);
      if (share.detail && have_common_bits(share.detail->cpus, node.def->withheld_cpus))
        fail("a job has CPUs that are kept for the system");
      if (share.cpus > node.def->usable_cpus() || node.used_memory > node.def->usable_memory())
        fail("a node gives more than it has for jobs");
    }
  }

  // Bounded in number; and a dependency on what is over for good is answered at once, one way or the other.
  void check_kept(const Event& event) {
    if (state_.kept_rows > policy_.keep_ended_rows + ended_steps_max) fail("more is kept of ended jobs than may be");
    if (std::holds_alternative<JobForgotten>(event)) {
      if (state_.kept_rows > policy_.keep_ended_rows) fail("more is kept of ended jobs than may be");
      for (const auto& [number, kept] : state_.kept)
        if (kept->at + seconds(policy_.keep_ended_seconds) <= now_) fail("an ended job is kept for too long");
    }
    const auto* submitted = std::get_if<JobSubmitted>(&event);
    if (!submitted || !state_.job(submitted->key).dependencies) return;
    for (const Dependency& dependency : state_.job(submitted->key).dependencies->list)
      if (dependency.kind != DependencyKind::singleton && !state_.find_job(dependency.target) &&
          !state_.find_array(dependency.target) && dependency.state == DependencyState::unfulfilled &&
          dependency.delay_minutes == 0)
        fail("a job waits for one that is over");
  }

  // CPUs that a suspended job wants back go to nobody who could not have suspended it, unless they share.
  void check_nobody_overtaken(const Job& placed) {
    for (const auto& [key, nothing] : state_.suspended) {
      const Job& waiting = state_.job(key);
      const bool share =
          waiting.placement->shared && placed.placement->shared && waiting.spec->partition == placed.spec->partition;
      if (!waiting.suspension->wants_cpus || share || gives_way(state_, waiting, placed, placed.spec->partition))
        continue;
      for (const NodeShare& wanted : waiting.placement->shares)
        for (const NodeShare& taken : placed.placement->shares)
          if (wanted.node == taken.node && !wanted.released && wanted.detail && taken.detail &&
              have_common_bits(wanted.detail->cpus, taken.detail->cpus))
            fail("a suspended job was overtaken on its CPUs");
    }
  }

  // Outside of rows that are shared no CPU has two running jobs; with GANG not even there, and never more than the
  // partition allows.
  void check_cpus() {
    for (const auto& [index, node] : state_.nodes) {
      std::map<std::size_t, std::vector<const Job*>> on_cpu;
      for (const JobKey key : node->jobs) {
        const Job& job = state_.job(key);
        if (!job.holds_cpus()) continue;
        for (const NodeShare& share : job.placement->shares)
          for (std::size_t i = 0;
               share.node == index && !share.released && share.detail && i < share.detail->cpus.size() * 64; ++i)
            if ((share.detail->cpus[i / 64] >> (i % 64) & 1) != 0) on_cpu[i].push_back(&job);
      }
      for (const auto& [cpu, jobs] : on_cpu) {
        if (jobs.size() < 2) continue;
        for (const Job* job : jobs)
          if (!job->placement->shared || job->spec->partition != jobs[0]->spec->partition)
            fail("a CPU has two jobs that do not share");
        const std::size_t running = static_cast<std::size_t>(std::ranges::count(jobs, JobState::running, &Job::state));
        if (running > state_.partition(jobs[0]->spec->partition).def.share_max)
          fail("a CPU has more jobs than may share it");
        // One that was just placed on taken CPUs is suspended by the next event of the same batch.
        if (state_.policy->gang && running > 1 && !just_placed_ && !gang_changed_)
          fail("two jobs run on a CPU where they should take turns");
      }
    }
  }

  // The log is the truth: reading it back and applying it gives the same state; so does a snapshot in the middle.
  void check_replay() {
    State replayed;
    const std::size_t middle = random_.below(history_.size());
    for (std::size_t i = 0; i < history_.size(); ++i) {
      const auto event = decode_event(history_[i]);
      ASSERT_TRUE(event) << event.error().story;
      apply(replayed, *event);
      if (i == middle) {
        auto loaded = decode_state(encode_state(replayed));
        ASSERT_TRUE(loaded) << loaded.error().story;
        ASSERT_EQ(first_difference(*loaded, replayed), std::nullopt);
        replayed = *std::move(loaded);
      }
    }
    EXPECT_EQ(first_difference(replayed, state_), std::nullopt);
    EXPECT_EQ(broken_law(replayed), std::nullopt);
  }

  void fail(const std::string& why) {
    if (!broken_) ADD_FAILURE() << why << " after " << state_.version << " events";
    broken_ = true;
  }

  Prng random_;
  std::vector<NodeDef> nodes_;
  PartitionDef main_, small_;
  Policy policy_;
  State state_;
  Memo memo_;
  Time now_{1'000'000'000'000};
  std::uint32_t boots_[4] = {};
  std::vector<std::string> history_;
  bool just_placed_ = false;
  bool gang_changed_ = false;
  bool broken_ = false;
  bool with_accounts_ = false;
  bool with_reservations_ = false;
};

TEST(Ledger, keeps_its_laws_under_any_history_and_replays_from_the_log) {
  const char* one = std::getenv("MR_SEED");
  const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
  const char* many = std::getenv("MR_PROPERTY_SEEDS");
  const std::uint64_t last = one ? first : many ? std::strtoull(many, nullptr, 10) : 300;
  for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("repeat with MR_SEED=" + std::to_string(seed));
    History(seed).run(400);
  }
}

}  // namespace
}  // namespace millrace
