// src/sim/cluster.cpp - see cluster.h.
#include "sim/cluster.h"

#include <algorithm>

#include "base/hostlist.h"
#include "core/ledger/apply.h"
#include "core/ledger/compare.h"
#include "core/ledger/invariants.h"
#include "sim/watched_controller.h"
#include "wire/event_codec.h"
#include "wire/frame.h"
#include "wire/replay.h"

namespace millrace {
namespace {

constexpr std::uint32_t flaky_user = 2000;

CredentialSigner make_signer() {
  auto signer = CredentialSigner::from_cluster_key(std::string(key_size, 'k'));
  MR_ASSERT(signer.has_value());
  return *std::move(signer);
}

std::string node_name(std::uint32_t i) { return "n" + std::to_string(i); }
std::string flaky_name(std::uint32_t i) { return "f" + std::to_string(i); }

ClusterConfigured configuration_of(const ClusterShape& shape) {
  ClusterConfigured out;
  PartitionDef main, flaky;
  main.name = "main";
  main.is_default = true;
  flaky.name = "flaky";
  const auto add = [&](const std::string& name, PartitionDef& partition) {
    NodeDef def;
    def.name = name;
    def.cpus = Cpus{shape.cpus};
    def.memory = Mebibytes{1000};
    out.nodes.push_back(def);
    partition.nodes.push_back(name);
  };
  for (std::uint32_t i = 0; i < shape.nodes; ++i) add(node_name(i), main);
  for (std::uint32_t i = 0; i < shape.flaky_nodes; ++i) add(flaky_name(i), flaky);
  out.partitions = {main};
  if (shape.suspends) {
    PartitionDef urgent = main;
    urgent.name = "urgent";
    urgent.is_default = false;
    urgent.priority_tier = 5;
    out.partitions.front().sharing = CpuSharing::on_request;
    out.partitions.front().share_max = 2;
    out.partitions.push_back(urgent);
    out.policy.preempt_type = PreemptType::partition;
    out.policy.preempt_mode = PreemptMode::suspend;
    out.policy.gang = true;
    out.policy.time_slice_seconds = 5;
  }
  if (shape.flaky_nodes > 0) out.partitions.push_back(flaky);
  if (shape.administrator) {
    PartitionDef urgent = main;
    urgent.name = "urgent";
    urgent.is_default = false;
    urgent.priority_tier = 10;
    out.partitions.push_back(urgent);
    out.partitions[0].grace_seconds = 1;
    out.policy.preempt_type = PreemptType::partition;
    out.policy.preempt_mode = PreemptMode::requeue;
    out.policy.enforce = enforce_limits;
  }
  if (shape.programs) {
    out.policy.node_programs = out.policy.job_prolog = out.policy.job_epilog = true;
    out.policy.hold_on_prolog_failure = false;
  }
  if (shape.power) {
    out.policy.power.saving = true;
    out.policy.power.suspend_seconds = 4;
    out.policy.power.suspend_timeout_seconds = 8;
    out.policy.resume_timeout_seconds = 20;
    out.nodes.front().kind = NodeKind::cloud;
  }
  out.policy.return_to_service = 2;
  out.policy.requeue_delay_seconds = 0;
  out.policy.min_job_age_seconds = 1'000'000;  // the test compares at the end: nothing is forgotten before
  out.policy.keep_ended_seconds = 3600;        // runs that were requeued
  out.policy.keep_ended_rows = 20;
  out.policy.kill_wait_seconds = 2;
  return out;
}

// A function of seed and attempt alone, so that it does not matter when it is asked.
std::pair<Duration, std::uint32_t> work_of(std::uint64_t seed, const AttemptKey& attempt) {
  Prng random(seed ^ mix_bits(attempt.first * 31 + attempt.second));
  const Duration takes{static_cast<std::int64_t>(1000 + random.below(20'000'000))};
  return {takes, random.chance(1, 6) ? 3u : 0u};
}

bool can_shrink(const Job& job) {
  if (job.state != JobState::running || !job.spec->is_batch() || job.het || job.boots) return false;
  return std::ranges::count_if(job.placement->shares, [](const NodeShare& share) { return !share.lost; }) > 1;
}

}  // namespace

// Dies with the process; the order of destruction is that of a kill: first nothing runs any more, then memory goes.
struct SimCluster::Controlling {
  Controlling(SimCluster& cluster)
      : process(cluster.world_, &cluster.clock_off_),
        log_worker(cluster.world_, process, milliseconds(4)),
        plan_worker(cluster.world_, process, milliseconds(3)),
        query_worker(cluster.world_, process, milliseconds(3)) {}
  ~Controlling() { process.kill(); }

  SimProcess process;
  SimWorker log_worker, plan_worker, query_worker;
  std::unique_ptr<SimPrograms> programs;
  std::unique_ptr<Wal> wal;
  std::unique_ptr<OwnAgents> agents;
  std::unique_ptr<FlakyManager> flaky;
  std::unique_ptr<Controller> controller;
  bool serving = false;
};

SimCluster::SimCluster(std::uint64_t seed, ClusterShape shape)
    : seed_(seed), shape_(shape), world_(seed), network_(world_), disk_(mix_bits(seed) | 1), signer_(make_signer()) {
  faults_on_ = shape.faults;
  if (shape.faults) {
    network_.faults.lost_per_1000 = world_.random.below(30);
    network_.faults.doubled_per_1000 = world_.random.below(50);
    network_.faults.broken_per_1000 = world_.random.below(10);
    network_.faults.slowest = milliseconds(world_.random.between(1, 400));
  }
  for (std::uint32_t i = 0; i < shape.nodes; ++i)
    nodes_.push_back(std::make_unique<SimNode>(
        world_, network_, sruns_, node_name(i), shape.cpus,
        [seed](const AttemptKey& attempt) { return work_of(seed, attempt); }, shape.programs));
  make_wishes();
}

SimCluster::~SimCluster() {
  zombie_.reset();
  controlling_.reset();
  nodes_.clear();
}

void SimCluster::make_wishes() {
  for (std::uint32_t i = 0; i < shape_.jobs; ++i) {
    Wish wish;
    wire::JobDescription& job = *wish.ask.mutable_job();
    job.set_name("job" + std::to_string(world_.random.below(4)));
    job.set_work_dir("/tmp");
    job.set_cpus_per_task(static_cast<std::uint32_t>(1 + world_.random.below(shape_.cpus)));
    if (world_.random.chance(1, 6)) job.set_min_nodes(2);
    if (world_.random.chance(1, 6))
      job.set_array("1-" + std::to_string(world_.random.between(2, 4)) + (world_.random.chance(1, 2) ? "%1" : ""));
    if (world_.random.chance(1, 8)) job.set_requeue(false);
    if (world_.random.chance(1, 6)) job.set_time_limit_minutes(1);
    wish.own_nodes = shape_.flaky_nodes == 0 || world_.random.chance(1, 2);
    if (!wish.own_nodes) job.set_partition("flaky");
    if (!wish.own_nodes) job.set_min_nodes(1);
    if (shape_.administrator && world_.random.chance(1, 4)) job.set_partition("urgent");
    // srun: tasks on every node of it, ended when all of them are.
    if (wish.own_nodes && !job.has_requeue() && job.array().empty() && world_.random.chance(1, 5)) {
      job.set_interactive(true);
      job.set_min_nodes(static_cast<std::uint32_t>(1 + world_.random.below(shape_.nodes)));
    }
    if (wish.own_nodes && !job.interactive() && job.array().empty() && world_.random.chance(1, 3)) {
      for (std::uint64_t more = 1 + world_.random.below(2); more > 0; --more) {
        wire::JobDescription& component = *wish.ask.add_more_components();
        component.set_cpus_per_task(static_cast<std::uint32_t>(1 + world_.random.below(2)));
        if (world_.random.chance(1, 6)) component.set_time_limit_minutes(1);
      }
      wish.cancel_component = world_.random.chance(1, 4);
    }
    // Not drawn like the rest, so that the other wishes of a seed stay what they were.
    if (mix_bits(seed_ * 1000 + i) % 3 == 0) job.mutable_extras()->set_no_kill(true);
    wish.by_root = shape_.power && wish.own_nodes && mix_bits(seed_ * 1000 + i + 500) % 4 == 0;
    if (wish.by_root) job.mutable_extras()->set_reboot(true);
    if (!job.interactive() && job.min_nodes() <= 1 && mix_bits(seed_ * 1000 + i + 700) % 4 == 0)
      job.mutable_resources()->set_node_counts("1,3");
    if (!job.interactive()) wish.ask.set_script("#!/bin/sh\n# " + std::to_string(world_.random.below(6)) + "\n");
    wish.ask.set_environment("PATH=/bin");
    std::string key(16, '\0');
    for (char& c : key) c = static_cast<char>(world_.random.next());
    key[0] = 'k';
    wish.ask.set_idempotency_key(key);
    wish.cancel = world_.random.chance(1, 6);
    wish.requeue = world_.random.chance(1, 8);
    if (shape_.suspends && wish.own_nodes) {
      if (world_.random.chance(1, 3))
        job.set_partition("urgent");
      else
        job.set_oversubscribe(world_.random.chance(1, 2));
      if (world_.random.chance(1, 2)) wish.suspends = static_cast<std::uint32_t>(1 + world_.random.below(4));
    }
    wishes_.push_back(std::move(wish));
  }
}

void SimCluster::complain(std::string what) {
  if (!wrong_) wrong_ = std::move(what);
}

void SimCluster::start_controller() {
  controlling_ = std::make_unique<Controlling>(*this);
  Controlling& c = *controlling_;
  WalSettings settings;
  settings.segment_size = 16 << 10;
  settings.salt = mix_bits(seed_ + ++starts_);
  settings.reserve_size = 8 << 10;
  settings.reserve_step = 4 << 10;
  auto opened = Wal::open(disk_, c.log_worker, settings);
  if (!opened) {
    controlling_.reset();
    // Opening writes too: under injected faults it may fail, but what it finds must never look damaged.
    if (opened.error().code == Errc::corrupt) complain("the log cannot be read back: " + opened.error().story);
    world_.at(world_.now() + seconds(1), [this] {
      if (!controlling_) start_controller();
    });
    return;
  }
  c.wal = std::move(opened->first);
  auto recovered = replay(opened->second);
  if (!recovered) return complain("recovery: " + recovered.error().story);
  State state = *std::move(recovered);
  if (const auto broken = broken_law(state)) complain("after recovery: " + *broken);
  if (state.version < durable_version_)
    complain("facts that were seen are gone: version " + std::to_string(state.version) + " after " +
             std::to_string(durable_version_));
  if (const auto other = state.version == durable_version_ ? first_difference(last_durable_, state) : std::nullopt)
    complain("recovery gave another state than was seen: " + *other);
  ControllerHooks hooks;
  hooks.say = bugs_go_to([this](std::string bug) { complain(std::move(bug)); });
  hooks.fatal = [this, self = controlling_.get()](const std::string&) {
    // The process stops itself; someone starts it again.
    world_.at(world_.now(), [this, self] {
      if (zombie_.get() == self) zombie_.reset();
      if (controlling_.get() == self) kill_controller(false);
    });
  };
  c.programs = std::make_unique<SimPrograms>(world_, c.process, controller_programs_);
  c.programs->did = [this](const ProgramRun& program) { power_nodes(program); };
  hooks.site_programs = [] {
    return SitePrograms{{"controller_prolog"}, {"controller_epilog"}, {}, {}, true, "suspend", "resume",
                        "resume_failed"};
  };
  c.controller = std::make_unique<Controller>(
      Controller::Parts{c.process, *c.wal, c.plan_worker, c.query_worker, *this, *this, c.programs.get()},
      watched_settings(shape_.crontab), hooks, std::move(state));
  c.agents = std::make_unique<OwnAgents>(c.process, signer_, OwnAgents::Settings{"sim", 1}, [](const std::string&) {});
  if (shape_.flaky_nodes > 0) {
    std::vector<std::string> theirs, ours;
    for (std::uint32_t i = 0; i < shape_.flaky_nodes; ++i) theirs.push_back(flaky_name(i));
    for (std::uint32_t i = 0; i < shape_.nodes; ++i) ours.push_back(node_name(i));
    c.flaky = std::make_unique<FlakyManager>(world_, c.process, theirs, ours, shape_.cpus);
    c.controller->add_manager(*c.flaky, theirs);
  }
  c.controller->add_manager(*c.agents);
  c.controller->start(configuration_of(shape_), [this, self = controlling_.get()] {
    if (controlling_.get() != self) return;  // cut off before it began
    Controlling& c = *self;
    if (c.controller->epoch().value <= last_epoch_) complain("an epoch was given out twice");
    last_epoch_ = c.controller->epoch().value;
    c.serving = true;
    c.agents->serve(*c.controller, c.controller->epoch());
    if (c.flaky) c.flaky->serve(*c.controller);
    network_.listen(
        [this](std::unique_ptr<Link> link, const std::string& from, std::function<void(LinkHandler&)> start) {
          // While an old leader still runs, some connections end up with it.
          Controlling& reached = zombie_ && world_.random.chance(1, 2) ? *zombie_ : *controlling_;
          start(reached.agents->accept(std::move(link), from));
        });
  });
}

void SimCluster::kill_controller(bool power) {
  if (!controlling_) return;
  watch_durable();
  network_.listen({});
  // Sometimes it is not dead but only cut off from its disk: it goes on giving orders from what it last knew.
  if (!power && faults_on_ && controlling_->serving && (shape_.old_leaders || world_.random.chance(1, 3))) {
    zombie_ = std::move(controlling_);
    world_.at(world_.now() + Duration{static_cast<std::int64_t>(world_.random.below(15'000'000))},
              [this, self = zombie_.get()] {
                if (zombie_.get() == self) zombie_.reset();
              });
  }
  controlling_.reset();
  administrator_.answers_are_lost();
  crontab_.answers_are_lost();
  for (Wish& wish : wishes_) wish.number = 0;  // answers under way are lost; they will ask again
  if (power)
    disk_.crash();
  else
    disk_.kill();
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(world_.random.below(5'000'000))}, [this] {
    if (!controlling_) start_controller();
  });
}

void SimCluster::find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) {
  done(UserIdentity{uid, gid, "user", "group", {gid.value}});
}

void SimCluster::reply_encoded(ClientId client, std::string bytes) {
  wire::Reply parsed;
  if (parsed.ParseFromString(bytes)) reply(client, parsed);
}

void SimCluster::reply(ClientId, const wire::Reply& answer) {
  if (administrator_.asked(answer.number())) {
    if (controlling_)
      if (auto wrong = administrator_.hear(answer, controlling_->controller->durable())) complain(*std::move(wrong));
    return;
  }
  if (crontab_.asked(answer.number())) {
    if (faults_on_ && world_.random.chance(1, 10)) return crontab_.answers_are_lost();
    if (controlling_)
      if (auto wrong = crontab_.hear(answer, controlling_->controller->durable())) complain(*std::move(wrong));
    return;
  }
  const auto it = asked_.find(answer.number());
  if (it == asked_.end()) return;
  Wish& wish = wishes_[it->second];
  asked_.erase(it);
  if (wish.number != answer.number()) return;  // asked again meanwhile: as good as lost
  wish.number = 0;
  if (faults_on_ && world_.random.chance(1, 10)) return;  // the answer is lost on its way
  if (answer.has_jobs_changed()) {
    wish.cancelled = wish.cancelled || wish.cancelling;
    return;
  }
  if (answer.has_failure()) {
    if (answer.failure().code() != 2019) complain("refused: " + answer.failure().text());
    return;
  }
  if (!answer.has_submitted()) return;
  if (wish.answered && *wish.answered != answer.submitted().job_id()) complain("one submission was given two numbers");
  wish.answered = answer.submitted().job_id();
  // What was answered is durable: it must be there now and after every crash (watch_durable and final_verdict look
  // again).
  if (controlling_ && !controlling_->controller->durable().find_job(JobId{*wish.answered}))
    complain("a job was acknowledged before it was durable");
}

bool SimCluster::serves() const {
  return controlling_ && controlling_->controller && last_epoch_ != 0 &&
         controlling_->controller->durable().epoch.value >= last_epoch_;
}

void SimCluster::administrator_turn() {
  if (!faults_on_) return;
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(3'000'000))},
            [this] { administrator_turn(); });
  if (!serves()) return;
  if (const auto request = administrator_.next_wish(world_.random, ++last_request_, shape_.nodes, world_.now()))
    controlling_->controller->request({SimAdministrator::client, UserId{0}, GroupId{0}}, *request);
}

void SimCluster::crontab_turn() {
  world_.at(
      world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(faults_on_ ? 40'000'000 : 4'000'000))},
      [this] { crontab_turn(); });
  const bool over = !faults_on_ && world_.now() > healed_at_ + seconds(200);
  if (!serves() || crontab_.waits_for_answer() || (!faults_on_ && !over)) return;
  if (over && crontab_.is_gone()) return;
  if (over)
    if (auto lost = crontab_.lost_in(controlling_->controller->durable(), world_.now())) complain(*std::move(lost));
  controlling_->controller->request({SimCrontab::client, SimCrontab::user, GroupId{SimCrontab::user.value}},
                                    crontab_.next(world_.random, ++last_request_, over));
}

// What the site's programs do to the power of nodes. While faults are on some do not come up.
void SimCluster::power_nodes(const ProgramRun& program) {
  if (program.program != "suspend" && program.program != "resume") return;
  const auto names = expand_hostlist(program.arguments.front());
  MR_ASSERT(names);
  for (auto& node : nodes_) {
    if (std::ranges::find(*names, node->name()) == names->end()) continue;
    // One that was never really off is switched off first.
    if (program.program == "suspend" || node->agent_runs()) node->crash();
    if (program.program == "resume" && (!faults_on_ || world_.random.chance(5, 6))) node->start_agent();
  }
}

// Somebody puts nodes right that were drained because a program failed there.
void SimCluster::repair_turn() {
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(4'000'000))},
            [this] { repair_turn(); });
  if (!serves()) return;
  for (const auto& [index, node] : controlling_->controller->durable().nodes) {
    const bool did_not_come_up = shape_.power && node->condition == NodeCondition::down;
    if ((!node->drain && !did_not_come_up) || world_.random.chance(1, 2)) continue;
    wire::Request request;
    request.set_protocol(protocol_version);
    request.set_number(++last_request_);
    request.mutable_update_node()->set_nodes(node->def->name);
    // Now or in a while, which a controller that is killed meanwhile must not forget.
    if (world_.random.chance(2, 3))
      request.mutable_update_node()->set_state("RESUME");
    else
      request.mutable_update_node()->set_resume_after_seconds(static_cast<std::int64_t>(world_.random.below(3)));
    return controlling_->controller->request({SimAdministrator::client, UserId{0}, GroupId{0}}, request);
  }
}

void SimCluster::client_turn() {
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(300'000))},
            [this] { client_turn(); });
  if (!serves()) return;
  watch_agreement();
  const std::size_t index = world_.random.below(wishes_.size());
  Wish& wish = wishes_[index];
  if (wish.number != 0 && world_.random.chance(9, 10)) return;  // sometimes patience ends, and it asks again
  wire::Request request;
  request.set_protocol(protocol_version);
  request.set_number(++last_request_);
  Asker asker{index + 1, UserId{wish.by_root ? 0u : wish.own_nodes ? 1000u : flaky_user}, GroupId{1000}};
  wish.cancelling = false;
  const Job* known = wish.answered ? controlling_->controller->durable().find_job(JobId{*wish.answered}) : nullptr;
  // When all is well again nobody stays suspended by order.
  bool kept = false;  // it, or a task of it
  for (const auto& [key, nothing] : controlling_->controller->durable().suspended) {
    const Job& job = controlling_->controller->durable().job(key);
    kept = kept || (known && !job.suspension->wants_cpus &&
                    (key == known->key || (job.array.value != 0 && job.array == known->array)));
  }
  if (!wish.answered) {
    *request.mutable_submit() = wish.ask;
  } else if (kept ? !faults_on_ || world_.random.chance(1, 8)
                  : wish.suspends > 0 && faults_on_ && world_.random.chance(1, 4)) {
    if (!kept) --wish.suspends;
    request.mutable_suspend()->add_jobs()->set_job_id(*wish.answered);
    request.mutable_suspend()->set_resume(kept || world_.random.chance(1, 3));
    asker.uid = UserId{0};
  } else if (wish.cancel && !wish.cancelled) {
    request.mutable_cancel()->add_jobs()->set_job_id(*wish.answered);
    wish.cancelling = true;
  } else if (wish.cancel_component) {
    wire::JobName& name = *request.mutable_cancel()->add_jobs();
    name.set_job_id(*wish.answered);
    name.set_tasks("+1");
    wish.cancel_component = world_.random.chance(1, 2);  // refused while the job waits
  } else if (wish.requeue && faults_on_ && world_.random.chance(1, 4)) {
    request.mutable_requeue()->add_jobs()->set_job_id(*wish.answered);
    wish.requeue = false;
  } else if (known && can_shrink(*known) && mix_bits(seed_ * 1000 + index + 700) % 2 == 0 &&
             world_.random.chance(1, 4)) {
    request.mutable_update_job()->mutable_job()->set_job_id(*wish.answered);
    request.mutable_update_job()->set_min_nodes(1);
  } else {
    return;
  }
  wish.number = request.number();
  asked_[request.number()] = index;
  controlling_->controller->request(asker, request);
}

void SimCluster::fault_turn() {
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(4'000'000))},
            [this] { fault_turn(); });
  if (!faults_on_) return;
  SimNode& node = *nodes_[world_.random.below(nodes_.size())];
  if (shape_.old_leaders && world_.random.chance(1, 2)) return network_.cut(node.name());
  switch (world_.random.below(12)) {
    case 0:
      kill_controller(true);
      break;
    case 1:
      kill_controller(false);
      break;
    case 2:
      node.kill_agent();
      break;
    case 3:
    case 4:
    case 5:
      node.start_agent();
      break;
    case 6:
      if (world_.random.chance(1, 3)) node.crash();
      break;
    case 7:
      node.kill_a_supervisor();
      break;
    case 8:
      network_.cut(node.name());
      break;
    case 9:
      if (world_.random.chance(1, 3)) disk_.fail_sync(world_.random.below(10));
      break;
    case 10:
      if (world_.random.chance(1, 3)) disk_.fail_write(world_.random.below(10));
      break;
    default:
      if (shape_.full_disk)
        disk_.set_capacity(world_.random.chance(1, 2) ? disk_.used() + world_.random.below(30'000) : UINT64_MAX / 4);
      break;
  }
}

void SimCluster::heal() {
  faults_on_ = false;
  healed_at_ = world_.now();
  network_.faults = {};
  disk_.set_capacity(UINT64_MAX / 4);
  // A fault still planned must not strike later: a clean restart calls it off.
  kill_controller(false);
  zombie_.reset();
  for (auto& node : nodes_) node->start_agent();
}

void SimCluster::watch_durable() {
  if (!controlling_ || !controlling_->controller) return;
  const State& durable = controlling_->controller->durable();
  if (durable.version == durable_version_) return;
  if (durable.version < durable_version_) complain("the durable version went back");
  if (const auto broken = broken_law(durable)) complain(*broken);
  for (const Wish& wish : wishes_)
    if (wish.answered)
      for (int i = 0; i <= wish.ask.more_components_size(); ++i)
        if (!durable.find_job(JobId{*wish.answered + static_cast<std::uint32_t>(i)}))
          complain("acknowledged job " + std::to_string(*wish.answered) + (i == 0 ? "" : "+" + std::to_string(i)) +
                   " is gone");
  saw_reservation_ |= !durable.reservations.empty();
  if (shape_.power && !saw_boot_)
    for (const auto& [key, nothing] : durable.active) saw_boot_ |= durable.jobs.at(key)->boots;
  if (shape_.administrator && !saw_preemption_)
    for (const auto& [key, nothing] : durable.active) saw_preemption_ |= durable.jobs.at(key)->preempt_due.is_set();
  if (auto wrong = administrator_.missing_in(durable, world_.now())) complain(*std::move(wrong));
  if (shape_.crontab)
    if (auto wrong = crontab_.wrong_in(durable)) complain(*std::move(wrong));
  for (const auto& [key, nothing] : durable.suspended) seen_suspended_.insert(durable.job(key).suspension->why);
  durable_version_ = durable.version;
  last_durable_ = durable;
}

// Some time after all is well, what the ledger says of a job that has not changed for a while is what its node does.
void SimCluster::watch_agreement() {
  constexpr Duration while_ = seconds(10);
  if (faults_on_ || !controlling_->serving || (healed_at_.is_set() && world_.now() < healed_at_ + seconds(30))) return;
  const State& state = controlling_->controller->durable();
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    if (job.spec->owner->uid.value == flaky_user || job.state == JobState::completing) continue;
    const Time changed = std::max(job.started_at, job.suspension ? job.suspension->changed_at : Time{});
    if (changed + while_ > world_.now()) continue;
    for (const auto& node : nodes_) {
      const AttemptKey attempt{key.value, job.attempt.value};
      // What is left of it on a node that it has gone on without is being killed there.
      const auto is_here = [&](const NodeShare& share) {
        return !share.lost && state.node(share.node).def->name == node->name();
      };
      if (std::ranges::none_of(job.placement->shares, is_here)) continue;
      const bool agrees = !node->runs(attempt) || node->is_suspended(attempt) == (job.state == JobState::suspended);
      // A prolog may have taken longer than that: the script has only begun, and is told.
      const std::tuple known{attempt, node->name(), changed};
      if (agrees)
        disagrees_since_.erase(known);
      else if (disagrees_since_.try_emplace(known, world_.now()).first->second + while_ < world_.now())
        complain("job " + std::to_string(job.id.value) + ": suspended in the ledger and not on " + node->name() +
                 ", or the reverse");
    }
  }
}

bool SimCluster::settled() const {
  if (!controlling_ || !controlling_->controller) return false;
  if (shape_.crontab && !crontab_.is_gone()) return false;
  for (const Wish& wish : wishes_) {
    if (!wish.answered) return false;
    if (wish.cancel && !wish.cancelled) return false;
  }
  for (const auto& [key, job] : controlling_->controller->durable().jobs)
    if (job->state != JobState::ended && job->spec->owner->uid.value != flaky_user) return false;
  for (const auto& node : nodes_)
    if (node->running() > 0) return false;
  return true;
}

std::optional<std::string> SimCluster::final_verdict() const {
  std::map<AttemptKey, std::vector<RunRecord>> runs;
  for (const auto& node : nodes_)
    for (const RunRecord& record : node->history()) runs[record.attempt].push_back(record);
  const State& state = controlling_->controller->durable();
  for (const auto& [attempt, records] : runs) {
    std::set<std::string> places;
    for (const RunRecord& record : records) {
      const Job* job = state.find_job(JobKey{attempt.first});
      const std::string place =
          job && job->spec->interactive ? record.node : "anywhere";  // a batch job starts once in all
      if (!places.insert(place).second)
        return "job key " + std::to_string(attempt.first) + " attempt " + std::to_string(attempt.second) +
               " was started twice";
    }
  }
  std::set<std::pair<std::string, AttemptKey>> kept_there;
  for (const auto& node : nodes_)
    for (const RunRecord& record : node->holders()) {
      if (!kept_there.insert({node->name(), record.attempt}).second)
        return "job key " + std::to_string(record.attempt.first) + " attempt " + std::to_string(record.attempt.second) +
               " was launched twice on " + node->name();
    }
  if (auto wrong = judge_steps(state)) return wrong;
  std::map<SubmissionKey, int> submitted;
  for (const auto& [key, job] : state.jobs)
    if ((job->array.value == 0 || job->array == key) && !job->is_component() &&
        job->spec->submission != SubmissionKey{})
      ++submitted[job->spec->submission];
  for (const auto& [submission, count] : submitted)
    if (count > 1) return std::string{"one submission became two jobs"};
  for (const auto& [key, job] : state.jobs) {
    if (job->spec->owner->uid.value == flaky_user || job->is_array_rest()) continue;
    const std::string who = "job " + std::to_string(job->id.value) + ": ";
    const auto it = runs.find({key.value, job->attempt.value});
    const bool ran = it != runs.end();
    if (job->is_component()) {
      if (ran) return who + "a component without a script was started";
      const Job& leader = state.job(job->het->leader);
      if (job->outcome == Outcome::completed && leader.outcome != Outcome::completed)
        return who + "completed, but its leader did not";
      continue;
    }
    // Of a job that goes on without nodes that failed, what became of its tasks there is no matter.
    const auto is_lost = [&](const RunRecord& record) {
      return job->placement && std::ranges::any_of(job->placement->shares, [&](const NodeShare& share) {
               return share.lost && state.node(share.node).def->name == record.node;
             });
    };
    if (job->placement && !job->spec->extra_request().no_kill &&
        std::ranges::any_of(job->placement->shares,
                            [](const NodeShare& share) { return share.lost && !share.given_up; }))
      return who + "outlived a node and was not meant to";
    const auto went_well = [&](const RunRecord& record) {
      return is_lost(record) || (record.whole && record.exit_code == 0);
    };
    const auto counted = ran ? static_cast<std::size_t>(std::ranges::count_if(
                                   it->second, [&](const RunRecord& record) { return !is_lost(record); }))
                             : 0;
    const std::size_t expected = job->spec->interactive && job->placement
                                     ? static_cast<std::size_t>(std::ranges::count_if(
                                           job->placement->shares, [](const NodeShare& share) { return !share.lost; }))
                                     : 1;
    const bool all_well = ran && counted == expected && std::ranges::all_of(it->second, went_well);
    if (job->outcome == Outcome::completed && !all_well) return who + "completed, but it did not run to a good end";
    if (job->outcome == Outcome::failed && job->end_reason == Reason::non_zero_exit_code &&
        (!ran || std::ranges::all_of(it->second, [](const RunRecord& record) { return record.exit_code == 0; })))
      return who + "failed, but no run of it did";
    // Every attempt before the last was ended by something; one that ran to its own end is only run again when asked
    // to.
    if (job->outcome == Outcome::none) return who + "ended as nothing";
    // On another of its nodes, or one of another component, the prolog may have failed while the script was already
    // through.
    const bool not_begun_elsewhere =
        job->end_reason == Reason::launch_failure && job->placement && (job->placement->shares.size() > 1 || job->het);
    if (all_well && job->outcome == Outcome::failed && !not_begun_elsewhere)
      return who + "ran well and counts as failed";
  }
  return std::nullopt;
}

std::optional<std::string> SimCluster::run() {
  start_controller();
  for (auto& node : nodes_) node->start_agent();
  world_.at(world_.now() + milliseconds(1), [this] { client_turn(); });
  if (shape_.faults) world_.at(world_.now() + seconds(2), [this] { fault_turn(); });
  if (shape_.programs || shape_.power) world_.at(world_.now() + seconds(1), [this] { repair_turn(); });
  if (shape_.administrator) world_.at(world_.now() + seconds(1), [this] { administrator_turn(); });
  if (shape_.crontab) world_.at(world_.now() + seconds(1), [this] { crontab_turn(); });
  if (shape_.clocks) clock_turn(world_.now() + seconds(50));
  const Time begin = world_.now();
  const Time calm = begin + seconds(!shape_.faults   ? 0
                                    : shape_.crontab ? 300
                                                     : 60);  // jobs of a crontab come again after minutes
  const Time limit = calm + seconds(4000);
  bool healed = !shape_.faults;
  while (!wrong_ && world_.step()) {
    watch_durable();
    if (!healed && world_.now() >= calm) {
      healed = true;
      heal();
    }
    if (healed && settled()) break;
    if (world_.now() > limit) complain("the cluster did not come to rest: some job has not ended" + what_runs());
  }
  if (wrong_) return wrong_;
  for (const auto& [key, job] : controlling_->controller->durable().jobs)
    if (job->spec->owner->uid.value != flaky_user && job->started_at.is_set() && job->attempt.value == 0 &&
        job->array.value == 0)
      slowest_start_ = std::max(slowest_start_, job->started_at - job->eligible_at);
  for (const auto& [key, job] : controlling_->controller->durable().jobs)
    if (job->placement) {
      const auto given_up = std::ranges::count_if(job->placement->shares, &NodeShare::given_up);
      nodes_given_up_ += static_cast<std::size_t>(given_up);
      nodes_outlived_ +=
          static_cast<std::size_t>(std::ranges::count_if(job->placement->shares, &NodeShare::lost) - given_up);
    }
  if (auto wrong = final_verdict()) return wrong;
  return shape_.programs ? program_verdict() : std::nullopt;
}

// The nodes that only held, of further components above all, are prepared and tidied up like the others.
std::optional<std::string> SimCluster::holders_verdict() const {
  const State& state = controlling_->controller->durable();
  for (const auto& node : nodes_)
    for (const RunRecord& held : node->holders()) {
      const Job* job = state.find_job(JobKey{held.attempt.first});
      if (!job) continue;
      const std::uint32_t leader = state.job(leader_of(*job)).id.value;
      const std::string who = "job " + std::to_string(job->id.value) + " attempt " +
                              std::to_string(held.attempt.second) + " on " + node->name() + ": ";
      const auto mine = [&](const ProgramRunRecord& record, std::uint32_t id) {
        return record.job_id == id && record.attempt == held.attempt.second;
      };
      const auto before = [&](const ProgramRunRecord& record) {
        return record.fate == ProgramFate::well && record.ended_at <= held.started_at;
      };
      if (std::ranges::none_of(node->programs(), [&](const auto& r) {
            return mine(r, job->id.value) && r.program == "prolog2" && before(r);
          }))
        return who + "was held before its prolog went well";
      if (std::ranges::none_of(controller_programs_, [&](const auto& r) {
            return mine(r, leader) && r.program == "controller_prolog" && before(r);
          }))
        return who + "was held before the controller's prolog went well";
      if (std::ranges::any_of(node->crashes(), [&](Time at) { return at >= held.started_at; })) continue;
      if (std::ranges::none_of(node->programs(), [&](const auto& r) {
            return mine(r, job->id.value) && r.program == "epilog" && r.fate != ProgramFate::running;
          }))
        return who + "no epilog came to its end";
    }
  return std::nullopt;
}

// Nothing ran before its prologs went well, no node was left before its epilog came to an end, and neither ran beside
// the job.
std::optional<std::string> SimCluster::program_verdict() const {
  if (auto wrong = holders_verdict()) return wrong;
  const State& state = controlling_->controller->durable();
  for (const auto& node : nodes_)
    for (const RunRecord& run : node->history()) {
      const Job* job = state.find_job(JobKey{run.attempt.first});
      if (!job || job->is_component()) continue;
      const std::string who = "job " + std::to_string(job->id.value) + " attempt " +
                              std::to_string(run.attempt.second) + " on " + node->name() + ": ";
      const auto mine = [&](const ProgramRunRecord& record) {
        return record.job_id == job->id.value && record.attempt == run.attempt.second;
      };
      const bool prepared = std::ranges::any_of(node->programs(), [&](const auto& r) {
        return mine(r) && r.program == "prolog2" && r.fate == ProgramFate::well && r.ended_at <= run.started_at;
      });
      if (!prepared) return who + "ran before its prolog went well";
      if (std::ranges::none_of(controller_programs_, [&](const auto& r) {
            return mine(r) && r.program == "controller_prolog" && r.fate == ProgramFate::well &&
                   r.ended_at <= run.started_at;
          }))
        return who + "ran before the controller's prolog went well";
      for (const ProgramRunRecord& record : node->programs()) {
        if (!mine(record)) continue;
        if (record.program != "epilog" && record.started_at > run.started_at)
          return who + "a prolog began after the job";
        if (record.program == "epilog" && record.started_at < run.ended_at)
          return who + "an epilog began before its end";
      }
      if (std::ranges::any_of(node->crashes(), [&](Time at) { return at >= run.started_at; })) continue;
      if (std::ranges::none_of(node->programs(), [&](const auto& r) {
            return mine(r) && r.program == "epilog" && r.fate != ProgramFate::running;
          }))
        return who + "no epilog came to its end";
    }
  return std::nullopt;
}

}  // namespace millrace
