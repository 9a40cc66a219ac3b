// src/wire/step_busy.cpp - see step_busy.h.
#include "wire/step_busy.h"

namespace millrace {
namespace {

constexpr std::uint32_t nodes_busy = 2016;
constexpr const char* busy_text = "Requested nodes are busy";

template <class Ask>
bool awaits_answer(const Ask& ask, wire::StepReply& reply) {
  reply.set_client(ask.client());
  reply.set_number(ask.number());
  return ask.client() != 0;
}

}  // namespace

bool is_from_client(const wire::StepToNode& message) {
  return message.has_request() || message.has_signal() || message.has_update();
}

std::size_t extra_memory_of(const wire::JobDescription& step) {
  constexpr std::size_t object_bytes = 64;
  return object_bytes * static_cast<std::size_t>(step.arguments_size());
}

std::optional<wire::StepFromNode> busy_answer(const wire::StepToNode& asked) {
  wire::StepFromNode message;
  message.set_job_key(asked.job_key());
  message.set_attempt(asked.attempt());
  wire::StepReply& reply = *message.mutable_reply();
  const bool awaited = asked.has_request()  ? awaits_answer(asked.request(), reply)
                       : asked.has_signal() ? awaits_answer(asked.signal(), reply)
                       : asked.has_update() ? awaits_answer(asked.update(), reply)
                                            : false;
  if (!awaited) return std::nullopt;
  if (asked.has_request() && !asked.request().ask().immediate()) {
    reply.mutable_news()->set_kind(wire::StepNews::WAITING);
    reply.mutable_news()->set_problem(busy_text);
    reply.mutable_news()->set_ask_again(true);
    return message;
  }
  reply.mutable_failure()->set_code(nodes_busy);
  reply.mutable_failure()->set_text(busy_text);
  reply.mutable_failure()->add_notes("too much waits for the step manager of the job already");
  return message;
}

}  // namespace millrace
