// src/controller/requests/handler.h - what every handler of a request has: who asks what, and ways to answer.
//
// A handler lives as long as the call. What it does later (when a name is known, when a worker is done) it does in a
// handler made anew, from copies of asker and request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/requests/refusals.h"
#include "controller/requests/services.h"

namespace millrace {

class RequestHandler {
 public:
  RequestHandler(Services& services, const Asker& asker, const wire::Request& request);

 protected:
  wire::Reply reply() const;
  void answer(const wire::Reply& reply) const { c_.clients.reply(asker_.client, reply); }
  void answer_when_durable(wire::Reply reply) const;
  void done_when_durable() const;
  void refuse_with(const Refusal& refusal) const;
  void refuse_with(RefusalCode code, std::string note = {}) const;

  // The facts of this request happen, if the log has room for them and for `payload_bytes`; else it is refused.
  [[nodiscard]] bool happen(std::vector<Event> events, std::uint64_t payload_bytes = 0) const;
  bool refuses_for_room(const std::vector<Event>& events, std::uint64_t payload_bytes) const;  // true: it has been told
  [[nodiscard]] bool commit(std::vector<Event> events) const;  // false: they would break a law, and it has been told
  void commit_and_answer(Decision decision) const;

  // What would not fit a later frame (wire/limits.h); it has been told.
  bool refuses_sizes(const wire::JobDescription& job, std::string_view environment, std::string_view script) const;
  // What the jobs of this user would take of the controller's memory; it has been told.
  bool refuses_bytes(UserId user, std::size_t beyond_ordinary) const;
  bool refuses_words(const wire::SubmitJob& ask) const;  // what this client may not say of a job; it has been told

  Services& c_;
  const Asker& asker_;
  const wire::Request& request_;
  Actor actor_;
};

}  // namespace millrace
