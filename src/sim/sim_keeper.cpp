// src/sim/sim_keeper.cpp - see sim_keeper.h.
#include "sim/sim_keeper.h"

namespace millrace {

SimKeeper::SimKeeper(SimWorld& world, std::uint64_t job_key, std::uint32_t attempt, std::string node,
                     std::function<void(const wire::StepFromNode&)> send)
    : world_(world),
      job_key_(job_key),
      attempt_(attempt),
      node_(std::move(node)),
      send_(std::move(send)),
      steps_left_(static_cast<std::uint32_t>(world.random.below(6))) {
  next_step();
}

SimKeeper::~SimKeeper() { stop(); }

void SimKeeper::stop() {
  for (std::uint64_t* event : {&start_event_, &tell_event_}) world_.cancel(std::exchange(*event, 0));
  for (const auto& [id, event] : ends_) world_.cancel(event);
  ends_.clear();
}

void SimKeeper::next_step() {
  if (steps_left_ == 0) return;
  start_event_ =
      world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(4'000'000))}, [this] {
        start_event_ = 0;
        --steps_left_;
        const std::uint32_t id = next_id_++;
        StepRecord& record = records_[id];
        record.job_key = job_key_;
        record.attempt = attempt_;
        record.fact.set_id(id);
        record.fact.set_name("step" + std::to_string(id));
        record.fact.set_nodes(node_);
        record.fact.set_tasks(1);
        record.fact.set_cpus(1);
        record.fact.set_started_at_us(world_.now().value);
        record.fact.set_time_limit_minutes(id % 3);
        facts_.add(record.fact, world_.now().value);
        ends_[id] = world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(6'000'000))},
                              [this, id] { end_step(id); });
        // Somebody changes the limit of the one before it, if it runs.
        if (id > 0 && ends_.contains(id - 1)) {
          records_.at(id - 1).fact.set_time_limit_minutes(100 + id);
          facts_.add(records_.at(id - 1).fact, world_.now().value);
        }
        tell();
        next_step();
      });
}

void SimKeeper::end_step(std::uint32_t id) {
  ends_.erase(id);
  wire::StepFact& fact = records_.at(id).fact;
  fact.set_ended(true);
  fact.set_ended_at_us(world_.now().value);
  fact.set_exit_code(static_cast<std::uint32_t>(world_.random.below(3)));
  facts_.add(fact, world_.now().value);
  tell();
}

// Sends what is due, and comes back when the next is.
void SimKeeper::tell() {
  world_.cancel(std::exchange(tell_event_, 0));
  if (auto batch = facts_.next_batch(world_.now().value)) {
    wire::StepFromNode message;
    message.set_job_key(job_key_);
    message.set_attempt(attempt_);
    *message.mutable_facts() = *std::move(batch);
    send_(message);
  }
  if (facts_.due_us() != INT64_MAX) tell_event_ = world_.at(Time{facts_.due_us()}, [this] { tell_event_ = 0, tell(); });
}

void SimKeeper::hear(const wire::StepToNode& message) {
  if (!message.has_facts_heard()) return;
  std::map<std::uint32_t, bool> before;
  for (const wire::StepFact& fact : facts_.unheard()) before.emplace(fact.id(), fact.ended());
  facts_.heard(message.facts_heard().number(), world_.now().value);
  for (const wire::StepFact& fact : facts_.unheard()) before.erase(fact.id());
  for (const auto& [id, ended] : before) {  // no longer told by us: the log answers for it
    records_.at(id).start_heard = true;
    records_.at(id).end_heard = ended;
  }
  tell();
}

std::vector<StepRecord> SimKeeper::records() const {
  std::vector<StepRecord> out;
  for (const auto& [id, record] : records_) out.push_back(record);
  return out;
}

}  // namespace millrace
