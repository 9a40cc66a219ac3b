// src/sim/sim_world.h - simulated time and processes: everything that will happen, in order, from one seed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "ports/loop.h"

namespace millrace {

// The queue of what is to come. One thread; two runs with one seed are the same to the last step.
class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed) : random(seed) {}
  Time now() const { return now_; }
  std::uint64_t at(Time when, Task task);  // returns a number for cancel()
  void cancel(std::uint64_t number);
  bool step();  // runs the next task; false when nothing is left
  bool idle() const { return queue_.empty(); }
  Time next_at() const { return queue_.empty() ? never : queue_.begin()->first.first; }
  std::uint64_t steps() const { return steps_; }

  Prng random;

 private:
  Time now_{1'700'000'000'000'000};
  std::uint64_t last_ = 0;
  std::uint64_t steps_ = 0;
  std::map<std::pair<Time, std::uint64_t>, Task> queue_;
  std::map<std::uint64_t, Time> when_;
};

// One process: what it posted dies with it.
class SimProcess final : public Loop {
 public:
  // `clock_off`: by how much the clock of its machine is wrong, as long as the machine is there; null: never.
  explicit SimProcess(SimWorld& world, const Duration* clock_off = nullptr) : world_(world), clock_off_(clock_off) {}
  ~SimProcess() override { kill(); }
  void kill();  // kill -9: nothing it posted happens any more
  Time now() const override { return world_.now() + (clock_off_ ? *clock_off_ : Duration{0}); }
  Time steady() const override { return world_.now(); }
  void post(Task task) override;
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId timer) override;

 private:
  TimerId schedule(Time when, Task task);
  SimWorld& world_;
  const Duration* clock_off_;
  Time last_post_;  // posts keep their order
  std::map<TimerId, std::uint64_t> pending_;
  TimerId last_ = 0;
};

// Work "on another thread": done some time later, one piece after the other.
class SimWorker final : public Worker {
 public:
  SimWorker(SimWorld& world, Loop& loop, Duration slowest) : world_(world), loop_(loop), slowest_(slowest) {}
  void run(Task work, Task then) override;

 private:
  SimWorld& world_;
  Loop& loop_;
  Duration slowest_;
  Time free_at_;
};

}  // namespace millrace
