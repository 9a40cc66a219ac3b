// src/sim/flaky_manager.cpp - see flaky_manager.h.
#include "sim/flaky_manager.h"

#include "agent.pb.h"

namespace millrace {

FlakyManager::FlakyManager(SimWorld& world, Loop& loop, std::vector<std::string> nodes,
                           std::vector<std::string> foreign, std::uint32_t cpus)
    : world_(world), loop_(loop), nodes_(std::move(nodes)), foreign_(std::move(foreign)), cpus_(cpus) {}

void FlakyManager::serve(ResourceObserver& observer) {
  observer_ = &observer;
  for (const std::string& node : nodes_) register_node(node);
  loop_.after(milliseconds(100), [this] { turn(); });
}

void FlakyManager::register_node(const std::string& node) {
  NodeRegistration registration;
  registration.node = node;
  registration.boot_id = "flaky" + std::to_string(world_.random.below(2));
  registration.inventory.cpus = Cpus{cpus_};
  registration.inventory.memory = Mebibytes{1'000'000};
  registration.attempts = attempts_[node];
  observer_->node_registered(*this, registration);
}

void FlakyManager::report(const std::string& node) {
  observer_->node_reported(*this, node, attempts_[node], wire::Telemetry{});
}

// As if a step manager there had said so: of its own jobs or others', on nodes that need not be the job's, again and
// again.
void FlakyManager::tell_of_steps(const std::string& node) {
  Prng& random = world_.random;
  wire::StepFromNode message;
  message.set_job_key(random.below(40));
  message.set_attempt(static_cast<std::uint32_t>(random.below(3)));
  if (!attempts_[node].empty() && random.chance(2, 3)) {
    message.set_job_key(attempts_[node].front().key.value);
    message.set_attempt(attempts_[node].front().attempt.value);
  }
  for (std::uint64_t more = random.below(5); more > 0; --more) {
    wire::StepFact& fact = *message.mutable_facts()->add_facts();
    fact.set_id(static_cast<std::uint32_t>(random.below(random.chance(1, 10) ? 1'000'000 : 6)));
    fact.set_nodes(random.chance(2, 3) || foreign_.empty() ? node : foreign_[random.below(foreign_.size())]);
    fact.set_started_at_us(static_cast<std::int64_t>(random.below(2)) * world_.now().value * 2);
    fact.set_ended(random.chance(1, 2));
  }
  observer_->step_manager_said(*this, random.chance(1, 4) && !foreign_.empty() ? foreign_[0] : node, message);
}

void FlakyManager::turn() {
  loop_.after(Duration{static_cast<std::int64_t>(1 + world_.random.below(2'000'000))}, [this] { turn(); });
  Prng& random = world_.random;
  if (random.chance(1, 20)) hung_ = !hung_;
  if (hung_) return;
  const std::string node = nodes_[random.below(nodes_.size())];
  std::vector<AttemptReport>& mine = attempts_[node];
  switch (random.below(8)) {
    case 0:
      mine.clear();
      break;  // forgets everything
    case 1:
      register_node(node);
      break;
    case 2: {  // an end of a job that is not here, or not of this attempt
      AttemptReport lie;
      lie.key = JobKey{random.below(40)};
      lie.attempt = Attempt{static_cast<std::uint32_t>(random.below(3))};
      lie.ended = true;
      const std::string& about =
          random.chance(1, 2) && !foreign_.empty() ? foreign_[random.below(foreign_.size())] : node;
      observer_->node_reported(*this, about, {lie}, wire::Telemetry{});
      return;
    }
    case 3: {  // claims a node that is another's
      if (foreign_.empty()) break;
      NodeRegistration claim;
      claim.node = foreign_[random.below(foreign_.size())];
      claim.boot_id = "stolen";
      observer_->node_registered(*this, claim);
      return;
    }
    case 5:
      return tell_of_steps(node);
    case 4:
      observer_->node_unreachable(*this, random.chance(1, 2) && !foreign_.empty() ? foreign_[0] : node);
      break;
    default:
      for (AttemptReport& each : mine)
        if (!each.ended && random.chance(1, 3)) each.ended = true;
  }
  report(node);
}

void FlakyManager::launch(const std::string& node, const wire::LaunchPlan& plan, const Owner&, const std::string&) {
  if (hung_ || world_.random.chance(1, 4)) return;
  AttemptReport report;
  report.key = JobKey{plan.job_key()};
  report.attempt = Attempt{plan.attempt()};
  attempts_[node].push_back(report);
}

void FlakyManager::kill(const std::string& node, const wire::Kill& kill) {
  if (hung_ || world_.random.chance(1, 4)) return;
  for (AttemptReport& each : attempts_[node])
    if (each.key.value == kill.job_key() && each.attempt.value == kill.attempt()) each.ended = true;
}

void FlakyManager::suspend(const std::string& node, const wire::Suspend& suspend) {
  if (hung_ || world_.random.chance(1, 4)) return;
  for (AttemptReport& each : attempts_[node])
    if (each.key.value == suspend.job_key() && each.attempt.value == suspend.attempt())
      each.suspended = suspend.suspended();
}

void FlakyManager::forget(const std::string& node, const wire::Forget& forget) {
  std::erase_if(attempts_[node], [&](const AttemptReport& r) {
    return r.key.value == forget.job_key() && r.attempt.value == forget.attempt();
  });
}

}  // namespace millrace
