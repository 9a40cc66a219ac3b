// src/controller/steps/step_inquiries.cpp - see step_inquiries.h.
#include "controller/steps/step_inquiries.h"

#include <algorithm>

#include "agent.pb.h"
#include "base/assert.h"

namespace millrace {

static constexpr Duration sample_patience = seconds(5);  // a node that has not answered by then is named as silent
static constexpr std::ptrdiff_t inquiries_max = 16;      // of one user at a time

bool StepInquiries::has_too_many(UserId user) const {
  return std::ranges::count(inquiries_, user, [](const auto& one) { return one.second.user; }) >= inquiries_max;
}

void StepInquiries::client_left(ClientId client) {
  std::erase_if(inquiries_, [&](const auto& one) {
    if (one.second.client != client) return false;
    c_.loop.cancel(one.second.timer);
    return true;
  });
}

void StepInquiries::begin(Inquiry inquiry) {
  const std::uint64_t id = ++last_;
  const auto [at, fresh] = inquiries_.emplace(id, std::move(inquiry));
  MR_ASSERT(fresh);
  std::erase_if(at->second.awaited, [&](const SampleTarget& target) {
    const NodeLink* link = links_.find(target.node);
    const std::string& name = c_.commit.durable().node(target.node).def->name;
    if (!link || !link->can_be_told()) {
      at->second.answer.add_silent_nodes(name);
      return true;
    }
    wire::StepOrder order;
    order.set_job_key(target.key.value);
    order.set_attempt(target.attempt.value);
    if (target.step) order.set_step(*target.step);
    order.set_inquiry(id);
    if (link->manager->tell_step(name, order)) return false;
    at->second.answer.add_silent_nodes(name);
    return true;
  });
  if (at->second.awaited.empty()) return answer(id);
  at->second.timer = c_.loop.after(sample_patience, [this, id] { answer(id); });
}

void StepInquiries::sampled(NodeIndex node, const wire::StepSample& sample) {
  const auto found = inquiries_.find(sample.inquiry());
  if (found == inquiries_.end()) return;
  const SampleTarget target{node, JobKey{sample.job_key()}, Attempt{sample.attempt()},
                            sample.has_step() ? std::optional{sample.step()} : std::nullopt};
  if (found->second.awaited.erase(target) == 0) return;  // not asked, or heard already
  const Job* job = c_.commit.durable().find_job(target.key);
  if (job) {
    wire::StepSample& kept = *found->second.answer.add_samples();
    kept = sample;
    kept.set_node(c_.commit.durable().node(node).def->name);
    kept.set_job_id(job->id.value);
    kept.set_batch(!target.step && job->spec->is_batch());
  }
  if (found->second.awaited.empty()) answer(found->first);
}

void StepInquiries::answer(std::uint64_t id) {
  const auto found = inquiries_.find(id);
  if (found == inquiries_.end()) return;
  Inquiry inquiry = std::move(found->second);
  inquiries_.erase(found);
  if (inquiry.timer != 0) c_.loop.cancel(inquiry.timer);
  std::set<std::string> silent(inquiry.answer.silent_nodes().begin(), inquiry.answer.silent_nodes().end());
  for (const SampleTarget& target : inquiry.awaited) silent.insert(c_.commit.durable().node(target.node).def->name);
  inquiry.answer.clear_silent_nodes();
  for (const std::string& name : silent) inquiry.answer.add_silent_nodes(name);
  wire::Reply reply;
  reply.set_number(inquiry.number);
  *reply.mutable_step_samples() = std::move(inquiry.answer);
  c_.clients.reply(inquiry.client, reply);
}

}  // namespace millrace
