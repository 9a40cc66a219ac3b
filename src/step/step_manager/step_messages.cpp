// src/step/step_manager/step_messages.cpp - see step_messages.h.
#include "step/step_manager/step_messages.h"

namespace millrace {

StepAsker asker_of(const wire::StepRequest& request) { return {request.client(), request.number()}; }

static wire::StepFromNode reply_to(StepAsker asker) {
  wire::StepFromNode message;
  message.mutable_reply()->set_client(asker.client);
  message.mutable_reply()->set_number(asker.number);
  return message;
}

void StepMessages::send(wire::StepFromNode message, const std::string& node) {
  message.set_job_key(job_key_);
  message.set_attempt(attempt_);
  message.set_node(node);
  port_.send(message);
}

void StepMessages::tell(StepAsker asker, const wire::StepNews& news) {
  wire::StepFromNode message = reply_to(asker);
  *message.mutable_reply()->mutable_news() = news;
  send(std::move(message));
}

void StepMessages::refuse(StepAsker asker, std::uint32_t code, const std::string& text, const std::string& note) {
  wire::StepFromNode message = reply_to(asker);
  wire::Failure& failure = *message.mutable_reply()->mutable_failure();
  failure.set_code(code);
  failure.set_text(text);
  if (!note.empty()) failure.add_notes(note);
  send(std::move(message));
}

void StepMessages::refuse(StepAsker asker, StepFailure why, const std::string& note) {
  refuse(asker, why.code, std::string{why.text}, note);
}

void StepMessages::confirm(StepAsker asker) {
  wire::StepFromNode message = reply_to(asker);
  message.mutable_reply()->set_done(true);
  send(std::move(message));
}

void StepMessages::kill(std::uint32_t step, const std::vector<std::string>& nodes, std::uint32_t wait_seconds,
                        wire::Kill::Why why) {
  for (const std::string& node : nodes) {
    wire::StepFromNode message;
    wire::Kill& kill = *message.mutable_kill();
    kill.set_job_key(job_key_);
    kill.set_attempt(attempt_);
    kill.set_step(step);
    kill.set_why(why);
    kill.set_kill_wait_seconds(wait_seconds);
    send(std::move(message), node);
  }
}

void StepMessages::signal(std::uint32_t step, const std::vector<std::string>& nodes, std::uint32_t signal,
                          bool before_end) {
  for (const std::string& node : nodes) {
    wire::StepFromNode message;
    wire::SignalAttempt& order = *message.mutable_signal();
    order.set_job_key(job_key_);
    order.set_attempt(attempt_);
    order.set_step(step);
    order.set_signal(signal);
    order.set_before_end(before_end);
    send(std::move(message), node);
  }
}

void StepMessages::forget(std::uint32_t step, const std::string& node) {
  wire::StepFromNode message;
  message.mutable_forget()->set_job_key(job_key_);
  message.mutable_forget()->set_attempt(attempt_);
  message.mutable_forget()->set_step(step);
  send(std::move(message), node);
}

}  // namespace millrace
