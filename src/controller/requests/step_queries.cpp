// src/controller/requests/step_queries.cpp - running steps as squeue -s and scontrol show step see them.
#include <algorithm>

#include "controller/requests/queries.h"
#include "controller/requests/step_selector.h"
#include "controller/views/step_views.h"

namespace millrace {
namespace {

constexpr int rows_per_reply = 4000;

// How many it looked at.
std::size_t put_steps(const State& state, const wire::QuerySteps& ask, const Job& job,
                      const std::optional<std::uint32_t>& only, wire::Steps& out) {
  if (ask.has_uid() && job.spec->owner->uid.value != ask.uid()) return 0;
  const auto steps = running_steps(state, job);
  for (const RunningStep& step : steps)
    if (!only || *only == step.id) show_step(state, job, step, *out.add_steps());
  return steps.size();
}

// All that run.
struct StepWalk final : RowWalk {
  StepWalk(State s, wire::QuerySteps a, HiddenPartitions h, Time n)
      : state(std::move(s)), ask(std::move(a)), hidden(std::move(h)), now(n) {}
  State state;
  wire::QuerySteps ask;
  HiddenPartitions hidden;
  Time now;
  JobKey from;

  bool advance(std::string& encoded) override {
    wire::Reply reply;
    reply.mutable_steps()->set_now_us(now.value);
    auto it = state.active.lower_bound(from);
    for (; it != state.active.end() && reply.steps().steps_size() < rows_per_reply; ++it)
      if (const Job& job = state.job((*it).first); !hidden.hides(job))
        put_steps(state, ask, job, std::nullopt, *reply.mutable_steps());
    const bool more = it != state.active.end();
    if (more) from = (*it).first;
    reply.set_more(more);
    encoded = reply.SerializeAsString();
    return more;
  }
};

}  // namespace

void JobQueries::show_steps(wire::QuerySteps ask, HiddenPartitions hidden) {
  const State& state = c_.commit.durable();
  privacy().narrow(ask);
  if (ask.steps_size() == 0) {
    return ask_long(
        [&c = c_, ask, hidden] { return std::make_unique<StepWalk>(c.commit.durable(), ask, hidden, c.loop.now()); },
        hidden.any());
  }
  wire::Reply out = reply();
  wire::Steps& steps = *out.mutable_steps();
  steps.set_now_us(c_.loop.now().value);
  StepSelector selector(state);
  for (const wire::StepName& name : ask.steps()) {
    const auto selected = selector.select(name);
    if (!selected && selector.is_exhausted()) return refuse_with(selected.error());
    const bool is_there = selected && (selected->empty() || privacy().sees(state.job(selected->front())));
    if (!is_there) steps.set_missing(steps.missing() + 1);
    if (!is_there) continue;
    for (const JobKey key : *selected)
      selector.looked_at(
          put_steps(state, ask, state.job(key), name.has_step() ? std::optional{name.step()} : std::nullopt, steps));
  }
  c_.clients.reply(asker_.client, out);
}

}  // namespace millrace
