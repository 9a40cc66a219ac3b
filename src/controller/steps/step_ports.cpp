// src/controller/steps/step_ports.cpp - srun --resv-ports: the job gets ports that nobody else has on its nodes,
// durably, before its step manager hears of the step.
#include <algorithm>

#include "controller/requests/refusals.h"
#include "controller/steps/step_traffic.h"
#include "core/admission/reserve_ports.h"

namespace millrace {
namespace {

// As many as the step can have tasks on a node, where it leaves their number to us.
std::uint32_t most_ports(const Job& job, const wire::CreateStep& ask) {
  if (ask.resv_ports() != 0) return ask.resv_ports();
  std::uint32_t most = 1;
  for (const NodeShare& share : job.placement->shares)
    most = std::max({most, static_cast<std::uint32_t>(share.cpus.value), share.tasks});
  return ask.step().tasks() != 0 ? std::min(most, ask.step().tasks()) : most;
}

}  // namespace

// Of the job's ports its step manager gives each step some that no other step of it has. So the job needs as many as
// its steps at one time: those that are known, or those that have been asked for here, whichever are more. With too few
// a step waits for another to end.
void StepTraffic::ask_with_ports(const Asker& asker, std::uint64_t number, const Job& job,
                                 const wire::CreateStep& ask) {
  std::erase_if(asked_ports_, [&](const auto& entry) {
    const Job* known = c_.commit.durable().find_job(entry.second.key);
    return !known || known->attempt != entry.second.attempt || !known->is_on_nodes() ||
           entry.second.secret == ask.step().stdio().secret();
  });
  std::uint32_t asked = 0;
  for (const auto& [from, each] : asked_ports_)
    if (each.key == job.key) asked += each.count;
  const std::uint32_t count = most_ports(job, ask);
  const Job* decided = c_.commit.decided().find_job(job.key);
  if (!decided || decided->attempt != job.attempt || !decided->is_on_nodes())
    return pass_on(asker, number, job, ask);  // it is over there
  const std::uint32_t wanted = std::max(job.spec->extra_request().resv_ports,
                                        std::max(asked, ports_of_steps(c_.commit.decided(), *decided)) + count);
  auto events = decide_ports(c_.commit.decided(), *decided, wanted, c_.settings.cluster.reserved_ports, c_.loop.now());
  if (!events)
    events = decide_ports(c_.commit.decided(), *decided, count, c_.settings.cluster.reserved_ports, c_.loop.now());
  if (!events) {
    const char* none = "no ports can be reserved: MpiParams in slurm.conf says none (MpiParams=ports=12000-12999)";
    return c_.clients.reply(asker.client, refusal_reply(number, RefusalCode::too_few_ports,
                                                        c_.settings.cluster.reserved_ports.empty() ? none : ""));
  }
  asked_ports_[{asker.client, number}] = {job.key, job.attempt, count, ask.step().stdio().secret()};
  if (!events->empty()) c_.commit.happen(*std::move(events));
  c_.commit.when_durable([this, asker, number, key = job.key, attempt = job.attempt, ask] {
    const auto still = asked_ports_.lower_bound({asker.client, 0});
    if (still == asked_ports_.end() || still->first.first != asker.client) return;  // it has left
    const Job* now = c_.commit.durable().find_job(key);
    wire::CreateStep with = ask;
    if (now && now->attempt == attempt && now->placement) {
      with.set_job_ports(now->placement->ports);
      return pass_on(asker, number, *now, with);
    }
    c_.clients.reply(asker.client, refusal_reply(number, RefusalCode::already_done));
  });
}

}  // namespace millrace
