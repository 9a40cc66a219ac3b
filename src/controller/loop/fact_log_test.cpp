// src/controller/loop/fact_log_test.cpp - what the log says of a job's life, at which level and for which subsystem.
#include "controller/loop/fact_log.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"

namespace millrace {
namespace {

class Remembered final : public Log {
 public:
  std::string text;

 private:
  void write(LogLevel, std::string_view prefix, std::string_view line) override {
    text += std::string{prefix} + std::string{line} + "\n";
  }
};

class Told : public testing::Test {
 protected:
  void SetUp() override {
    NodeDef node;
    node.name = "n0";
    node.cpus = Cpus{8};
    node.memory = Mebibytes{1000};
    PartitionDef main;
    main.name = "main";
    main.nodes = {"n0"};
    happen(ControllerStarted{Epoch{1}, now_});
    happen(ClusterConfigured{{node}, {main}, {}, now_});
    happen(NodeRegistered{NodeIndex{0}, "boot", {Cpus{8}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}, "", now_});
  }
  void happen(const Event& event) {
    apply(state_, event);
    facts_.happened(state_, event);
    facts_.tell();
  }
  // A job that is submitted, started and over.
  void run_one() {
    JobSubmitted e;
    e.key = state_.next_key;
    e.id = next_job_id(state_, state_.last_id);
    e.spec.owner = SharedValue(Owner{UserId{77}, GroupId{1}, "u", "g", {}, "h", {}});
    e.spec.requeue = false;
    e.at = now_;
    happen(e);
    happen(JobPlaced{e.key, Attempt{0}, {{NodeIndex{0}, Cpus{2}, Mebibytes{10}, 1, false, {}}}, false, now_});
    happen(AttemptEnded{e.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 3, 0, now_});
  }

  State state_;
  Remembered log_, schedule_;
  FactLog facts_{log_, schedule_};
  Time now_{1'000'000'000};
};

TEST_F(Told, Nothing_at_the_usual_level) {
  log_.set_level(LogLevel::info);
  EXPECT_TRUE(facts_.is_silent());
  run_one();
  EXPECT_EQ(log_.text + schedule_.text, "");
}

TEST_F(Told, The_life_of_a_job_at_verbose_and_in_the_schedulers_log) {
  log_.set_level(LogLevel::verbose);
  run_one();
  EXPECT_EQ(log_.text,
            "submitted JobId=1 InitPrio=0 UID=77 Partition=main\n"
            "sched: Allocate JobId=1 NodeList=n0 #CPUs=2 Partition=main\n"
            "JobId=1 done: failed ExitCode=3:0\n");
  log_.set_level(LogLevel::info);
  schedule_.set_level(LogLevel::info);
  const std::string before = log_.text;
  run_one();
  EXPECT_EQ(log_.text, before);
  EXPECT_NE(schedule_.text.find("sched: Allocate JobId=2 NodeList=n0"), std::string::npos) << schedule_.text;
}

TEST_F(Told, Every_fact_at_debug2) {
  log_.set_level(LogLevel::debug2);
  run_one();
  EXPECT_NE(log_.text.find("debug2: fact 4: JobSubmitted key="), std::string::npos) << log_.text;
  EXPECT_NE(log_.text.find("AttemptEnded key="), std::string::npos);
}

TEST_F(Told, What_a_subsystem_was_told_to_say_at_any_level) {
  log_.set_level(LogLevel::info);
  log_.set_flags(bit_of(DebugFlag::select_type));
  run_one();
  EXPECT_EQ(log_.text, "SELECT_TYPE: JobId=1 on n0: cpus=2 memory=10M tasks=1\n");
  log_.set_flags(bit_of(DebugFlag::backfill));
  Plan plan;
  plan.findings.push_back({JobKey{1}, Reason::resources, Time{5'000'000}, {}, {}});
  facts_.planned(state_, plan, 1, Duration{7});
  EXPECT_NE(log_.text.find("BACKFILL: sched: JobId=1 waits: Resources planned for 1970-01-01T00:00:05"),
            std::string::npos)
      << log_.text;
}

}  // namespace
}  // namespace millrace
