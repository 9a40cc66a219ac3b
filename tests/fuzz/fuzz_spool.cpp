// tests/fuzz/fuzz_spool.cpp - files that daemons read back when they start: the journal of prologs and epilogs, how far
// the log was acknowledged, the lines about ended jobs, the shape of a cluster of `millrace up`.
#include "agent/prolog_epilog.h"
#include "apps/local_shape.h"
#include "golden_files.h"
#include "platform/completion_file.h"
#include "sim/sim_world.h"
#include "small_agent.h"
#include "store/high_mark.h"
#include "target.h"
#include "task.pb.h"

using namespace millrace;

namespace {

class OneJournal final : public ProgramJournal {
 public:
  std::vector<wire::ProgramRecord> read() override { return records; }
  Result<void> write(const wire::ProgramRecord&) override { return {}; }
  void erase(AttemptName) override {}
  std::string mark_of(AttemptName name) const override { return text_of(name); }
  bool end_leftovers(AttemptName) override { return true; }
  std::vector<wire::ProgramRecord> records;
};

// Each program has a name, and ends when it is asked for.
class NamedPrograms final : public Programs {
 public:
  std::vector<std::string> find(const std::string& pattern) override { return {pattern}; }
  Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) override {
    fuzz::use(what.environment);
    running.push_back(std::move(ended));
    return ++last;
  }
  void kill(Id) override {}
  void end_all() {
    for (auto& ended : std::exchange(running, {})) ended({});
  }
  std::vector<std::move_only_function<void(const ProgramEnd&)>> running;
  Id last = 0;
};

class Listener final : public SupervisorObserver {
 public:
  void attempt_changed(const wire::AttemptStatus& status) override { last = status; }
  void step_manager_said(const wire::StepFromNode&) override {}
  void step_sampled(const wire::StepSample&) override {}
  wire::AttemptStatus last;
};

}  // namespace

FUZZ_SEEDS(program_record) {
  std::vector<std::string> out;
  for (const auto phase : {wire::ProgramRecord::PROLOG, wire::ProgramRecord::LAUNCHED, wire::ProgramRecord::EPILOG,
                           wire::ProgramRecord::DONE}) {
    wire::ProgramRecord record;
    record.set_job_key(7);
    record.set_phase(phase);
    record.set_boot_id("boot");
    record.mutable_plan()->set_job_id(7);
    record.mutable_plan()->set_nodes("n[1-2]");
    record.mutable_plan()->add_cpus_per_node(4);
    record.mutable_plan()->add_tasks_per_node(1);
    record.mutable_plan()->set_node_name("n1");
    record.mutable_identity()->set_user_name("u");
    record.mutable_end()->set_job_key(7);
    record.mutable_end()->set_exit_code(1);
    wire::MpiPairs pairs;
    pairs.add_keys(record.SerializeAsString());
    out.push_back(pairs.SerializeAsString());
  }
  return out;
}

FUZZ_BINARY(program_record) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 8) return;
  OneJournal journal;
  for (const std::string& each : pairs.keys())
    if (wire::ProgramRecord record; record.ParseFromString(each)) journal.records.push_back(std::move(record));
  SimWorld world(1);
  SimProcess loop(world);
  fuzz::QuietSupervisors supervisors;
  NamedPrograms programs;
  Listener listener;
  ProgramSettings settings;
  settings.prolog = {"/etc/prolog"};
  settings.epilog = {"/etc/epilog"};
  PrologEpilog between(loop, supervisors, programs, journal, settings);
  fuzz::use(between.adopt(listener));
  for (int round = 0; round < 4; ++round) {
    const Time until = world.now() + milliseconds(100);
    while (world.next_at() <= until) world.step();
    programs.end_all();
  }
  for (const wire::ProgramRecord& record : journal.records) {
    wire::Kill kill;
    kill.set_job_key(record.job_key());
    kill.set_attempt(record.attempt());
    between.kill(kill);
    wire::Forget forget;
    forget.set_job_key(record.job_key());
    forget.set_attempt(record.attempt());
    between.forget(forget);
  }
  fuzz::must(between.is_idle(), "what is forgotten keeps no node");
}

FUZZ_SEEDS(high_mark) {
  fuzz::MemoryDisk disk;
  HighMark mark(disk);
  fuzz::use(mark.open(7));
  mark.move(8);
  fuzz::use(mark.sync());
  return {disk.files.at(std::string{high_mark_name})};
}

FUZZ_TEXT(high_mark) {
  fuzz::MemoryDisk disk;
  disk.files[std::string{high_mark_name}] = input;
  const auto before = read_high_mark(disk);
  if (!before) return;
  HighMark mark(disk);
  if (!mark.open(5)) return;
  fuzz::must(read_high_mark(disk).value_or(0) >= std::max<std::uint64_t>(*before, 5), "the mark does not fall");
  mark.move(*before < UINT64_MAX - 9 ? *before + 9 : *before);
  fuzz::use(mark.sync());
  fuzz::must(read_high_mark(disk).value_or(0) >= *before, "the mark does not fall");
}

FUZZ_TEXT(completion_lines) {
  const std::size_t half = input.size() / 2;
  std::set<std::string> known = completion_marks(input.substr(0, half));
  const FreshCompletions fresh = fresh_completions(input.substr(half), known);
  fuzz::must(fresh.lines.size() <= input.size() - half + 1, "nothing is added to the lines");
  known.insert(fresh.marks.begin(), fresh.marks.end());
  fuzz::must(fresh_completions(input.substr(half), known).lines.empty(), "no end of a job is written twice");
}

FUZZ_TEXT(local_shape) {
  const auto shape = shape_of(std::string{input});
  if (!shape) return;
  fuzz::must(!shape->nodes || *shape->nodes > 0, "a cluster has a node");
  fuzz::must(!difference(*shape, *shape), "a cluster is as it is");
  fuzz::use(words_of(*shape));
}
