// tests/golden/format1_history.cpp - see history.h.
#include <cstring>

#include "history.h"
#include "wire/credential.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 250}; }

std::pair<PayloadId, std::string> payload(std::string bytes) {
  PayloadId id;
  std::memcpy(id.digest.data(), sha256(bytes).data(), id.digest.size());
  return {id, std::move(bytes)};
}

const auto script = payload("#!/bin/sh\n#SBATCH -n 2\necho \"hello from $SLURM_JOB_ID\"\n");
const auto environment = payload(std::string("PATH=/usr/bin:/bin\0HOME=/home/alice\0ODD=\x01\xff\0", 43));
const auto other_script = payload("#!/bin/bash\nexit 3\n");

SubmissionKey submission(std::uint8_t first) {
  SubmissionKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(first + i);
  return key;
}

Owner alice() {
  return {UserId{1000},
          GroupId{1000},
          "alice",
          "users",
          {1000, 27, 100},
          "login1",
          {{"NOFILE", 1024}, {"STACK", 8'388'608}}};
}

NodeDef node(const char* name, std::int64_t cpus) {
  NodeDef def;
  def.name = name;
  def.address = std::string{name} + ".example";
  def.host_name = name;
  def.features = "fast,\xc3\xa9t\xc3\xa9";
  def.gres = "gpu:2";
  def.port = 6818;
  def.cpus = Cpus{cpus};
  def.sockets = 2;
  def.cores_per_socket = static_cast<std::uint32_t>(cpus / 2);
  def.memory = Mebibytes{16000};
  def.tmp_disk = Mebibytes{5000};
  def.weight = 3;
  return def;
}

ClusterConfigured configured(bool later) {
  ClusterConfigured e;
  e.nodes = {node("n1", 8), node("n2", 8), node("n3", 4)};
  if (later) e.nodes.pop_back();
  PartitionDef main;
  main.name = "main";
  main.nodes = later ? std::vector<std::string>{"n1", "n2"} : std::vector<std::string>{"n1", "n2", "n3"};
  main.is_default = true;
  PartitionDef small;
  small.name = "small";
  small.nodes = {"n1"};
  small.allow_groups = {"staff"};
  small.allow_gids = {50};
  small.allow_accounts = {"physics"};
  small.deny_accounts = {"guest"};
  small.root_only = small.hidden = small.exclusive = small.disable_root_jobs = true;
  small.availability = Availability::drain;
  small.max_time_minutes = 60;
  small.default_time_minutes = 10;
  small.max_nodes = 1;
  small.min_nodes = 1;
  small.priority_tier = 7;
  small.priority_job_factor = 2;
  small.default_memory_per_cpu = Mebibytes{500};
  small.default_memory_per_node = Mebibytes{0};
  small.max_memory_per_cpu = Mebibytes{2000};
  small.max_memory_per_node = Mebibytes{8000};
  e.partitions = {main, small};
  e.policy.max_job_count = 100000;
  e.policy.memory_is_consumable = true;
  e.policy.enforce_partition_limits = true;
  e.policy.return_to_service = 1;
  e.policy.default_memory_per_cpu = Mebibytes{100};
  e.policy.default_memory_per_node = Mebibytes{200};
  e.policy.max_memory_per_cpu = Mebibytes{4000};
  e.policy.max_memory_per_node = Mebibytes{16000};
  e.at = later ? at(400) : at(1);
  return e;
}

NodeRegistered registered(std::uint32_t index, std::int64_t cpus, const char* boot, std::int64_t second,
                          const char* problem = "") {
  Inventory has{
      Cpus{cpus}, Mebibytes{15900}, Mebibytes{4800}, "x86_64", "Linux 6.1", "26.11.0", "n" + std::to_string(index + 1),
      at(-9000),  at(-10)};
  return {NodeIndex{index}, boot, has, problem, at(second)};
}

JobSubmitted submitted(std::uint64_t key, const char* name, std::int64_t second) {
  JobSubmitted e;
  e.key = JobKey{key};
  e.id = JobId{static_cast<std::uint32_t>(key)};
  e.spec.owner = SharedValue(alice());
  e.spec.name = name;
  e.spec.work_dir = "/home/alice";
  e.spec.std_out = "/home/alice/slurm-%j.out";
  e.spec.command = "/home/alice/job.sh";
  e.spec.submit_line = "sbatch job.sh";
  e.spec.script = script.first.digest;
  e.spec.environment = environment.first.digest;
  e.spec.submission = submission(static_cast<std::uint8_t>(key * 16));
  e.priority = 1000 - static_cast<std::uint32_t>(key);
  e.at = at(second);
  return e;
}

JobSubmitted with_everything() {
  JobSubmitted e = submitted(1, "all \"fields\"\n", 10);
  JobSpec& spec = e.spec;
  spec.account = "physics";
  spec.submit_sid = 4711;
  spec.min_nodes = 2;
  spec.max_nodes = 2;
  spec.tasks = 4;
  spec.tasks_per_node = 2;
  spec.cpus_per_task = 2;
  spec.min_cpus_per_node = 2;
  spec.memory_per_node = Mebibytes{1000};
  spec.nice = -5;
  spec.umask = 077;
  spec.open_mode = 2;
  spec.tasks_asked = spec.nodes_asked = spec.cpus_per_task_asked = spec.oversubscribe = true;
  RareRequest rare;
  rare.comment = "a comment";
  rare.qos = "normal";
  rare.std_in = "/dev/null";
  rare.std_err = "/home/alice/%x.err";
  rare.export_env = "NONE";
  rare.arguments = {"one", "two words", ""};
  rare.required_nodes = {1, 0};
  rare.excluded_nodes = {2};
  spec.rare = SharedValue(rare);
  e.time_limit_minutes = 30;
  return e;
}

JobSubmitted array_job() {
  JobSubmitted e = submitted(2, "array", 11);
  ArraySpec array;
  array.tasks.insert(1, 3);
  array.tasks.insert(7, 7);
  array.throttle = 2;
  e.array = array;
  e.spec.memory_per_cpu = Mebibytes{50};
  e.spec.requeue = false;
  e.time_limit_minutes = 5;
  return e;
}

JobSubmitted dependent_job() {
  JobSubmitted e = submitted(3, "dependent", 12);
  e.dependencies.list = {{DependencyKind::afterok, JobKey{1}, JobId{1}, {}, 0, {}, {}},
                         {DependencyKind::after, JobKey{2}, JobId{2}, 1, 2, {}, {}},
                         {DependencyKind::afternotok, JobKey{2}, JobId{2}, {}, 0, {}, {}}};
  e.dependencies.any = true;
  e.hold = Hold::admin;
  e.priority = 0;
  e.spec.exclusive = e.spec.kill_on_invalid_dependency = true;
  return e;
}

JobSubmitted interactive_job() {
  JobSubmitted e = submitted(4, "srun", 13);
  e.spec.interactive = e.spec.label_output = true;
  e.spec.script = {};
  e.spec.min_nodes = 2;
  e.spec.tasks = 2;
  RareRequest rare;
  rare.arguments = {"hostname", "-f"};
  rare.stdio = StdioEndpoint{"127.0.0.1", 40123, std::string("\x00\x01secret", 8)};
  e.spec.rare = SharedValue(rare);
  e.begin_at = at(20);
  return e;
}

JobModified with_every_change() {
  JobModified e;
  e.key = JobKey{3};
  e.time_limit_minutes = unlimited;
  e.priority = 555;
  e.min_nodes = 1;
  e.max_nodes = 3;
  e.tasks = 3;
  e.cpus_per_task = 2;
  e.nice = 7;
  e.name = "renamed";
  e.comment = "changed";
  e.account = "chemistry";
  e.std_out = "/tmp/%A.out";
  e.std_err = "/tmp/%A.err";
  e.work_dir = "/tmp";
  e.partition = PartitionIndex{0};
  e.begin_at = at(5000);
  e.memory_per_node = Mebibytes{700};
  e.memory_per_cpu = Mebibytes{70};
  e.dependencies = Dependencies{false, {{DependencyKind::afterany, JobKey{2}, JobId{2}, {}, 0, {}, {}}}};
  e.required_nodes = {0};
  e.excluded_nodes = {1, 2};
  e.requeue = false;
  e.at = at(40);
  return e;
}

JobModified with_throttle() {
  JobModified e;
  e.key = JobKey{2};
  e.array_throttle = 1;
  e.at = at(41);
  return e;
}

JobSubmitted singleton_job() {
  JobSubmitted e = submitted(6, "alone", 401);
  e.dependencies.list = {{DependencyKind::singleton, JobKey{}, JobId{}, {}, 0, {}, {}}};
  e.spec.script = other_script.first.digest;
  e.spec.environment = {};
  e.spec.submission = {};
  return e;
}

JobPlaced placed(std::uint64_t key, std::uint32_t attempt, std::vector<NodeShare> shares, std::int64_t second,
                 bool by_backfill = false) {
  return {JobKey{key}, Attempt{attempt}, std::move(shares), by_backfill, at(second)};
}

AttemptEnded ended(std::uint64_t key, std::uint32_t attempt, std::uint32_t where, AttemptEnd end, std::uint32_t code,
                   std::uint32_t signal, std::int64_t second) {
  return {JobKey{key}, Attempt{attempt}, NodeIndex{where}, end, code, signal, at(second)};
}

NodeStateChanged ordered(NodeOrder order, const char* reason, std::int64_t second) {
  return {NodeIndex{1}, order, reason, UserId{0}, at(second)};
}

}  // namespace

std::vector<GoldenBatch> format1_history() {
  const NodeShare first{NodeIndex{0}, Cpus{1}, Mebibytes{50}, 1, false},
      second{NodeIndex{1}, Cpus{1}, Mebibytes{50}, 1, false};
  const NodeShare half{NodeIndex{0}, Cpus{4}, Mebibytes{1000}, 2, false},
      other_half{NodeIndex{1}, Cpus{4}, Mebibytes{1000}, 2, false};
  return {
      {{}, {ControllerStarted{Epoch{1}, at(0)}, configured(false)}},
      {{}, {registered(0, 8, "boot-a", 2), registered(1, 8, "boot-b", 3)}},
      {{script, environment}, {with_everything()}},
      {{}, {array_job(), dependent_job(), interactive_job()}},
      {{}, {placed(1, 0, {half, other_half}, 14)}},
      {{}, {ArrayTaskSplit{JobKey{2}, 1, JobKey{5}, JobId{5}, at(15)}, placed(5, 0, {first}, 15, true)}},
      {{}, {JobBecameEligible{JobKey{4}, at(20)}, placed(4, 0, {first, second}, 21)}},
      {{}, {JobHoldChanged{JobKey{3}, Hold::user, 0, at(30)}, JobHoldChanged{JobKey{3}, Hold::none, 997, at(31)}}},
      {{}, {with_every_change(), with_throttle()}},
      {{},
       {ended(1, 0, 0, AttemptEnd::exited, 0, 0, 50), ended(4, 0, 0, AttemptEnd::exited, 1, 0, 51),
        ended(4, 0, 1, AttemptEnd::exited, 0, 9, 52)}},
      {{},
       {JobRequeued{JobKey{1}, true, UserId{1000}, at(60)}, JobTimedOut{JobKey{5}, at(315)},
        ended(5, 0, 0, AttemptEnd::exited, 0, 15, 316)}},
      {{}, {JobCancelled{JobKey{2}, UserId{1000}, at(320)}}},
      {{},
       {ordered(NodeOrder::drain, "disk \t full", 330), ordered(NodeOrder::reason_only, "disk", 331),
        ordered(NodeOrder::undrain, "", 332)}},
      {{}, {ordered(NodeOrder::down, "gone", 333), ordered(NodeOrder::resume, "", 334)}},
      {{}, {NodeLost{NodeIndex{1}, at(340)}, registered(1, 6, "boot-c", 350, "Low CPUs: 6 of 8")}},
      {{},
       {PartitionStateChanged{PartitionIndex{0}, Availability::inactive, at(351)}, JobForgotten{JobKey{4}, at(360)}}},
      {{}, {ControllerStarted{Epoch{2}, at(400)}, configured(true), registered(0, 8, "boot-a", 400)}},
      {{other_script}, {singleton_job(), JobBecameEligible{JobKey{6}, at(401)}, placed(6, 0, {first}, 402)}},
      {{},
       {ended(6, 0, 0, AttemptEnd::supervisor_lost, 0, 0, 403), placed(6, 1, {first}, 404),
        ended(6, 1, 0, AttemptEnd::launch_failed, 0, 53, 405)}},
      {{}, {submitted(7, "lost", 406), placed(7, 0, {first}, 407), ended(7, 0, 0, AttemptEnd::node_lost, 0, 0, 408)}},
      {{}, {submitted(8, "runs on", 409), placed(8, 0, {first}, 410)}},
  };
}

JobSubmitted one_more_job(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name,
                          std::uint8_t mark, Time at) {
  JobSubmitted out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<JobSubmitted>(&event); e && e->key.value == 8) out = *e;
  out.key = JobKey{key};
  out.id = JobId{static_cast<std::uint32_t>(key)};
  out.spec.name = name;
  out.spec.submission[0] = mark;
  out.time_limit_minutes = 60;
  out.at = at;
  return out;
}

}  // namespace millrace
