// src/controller/requests/handler.cpp - see handler.h.
#include "controller/requests/handler.h"

#include <algorithm>

#include "controller/requests/job_extras.h"
#include "controller/requests/request_table.h"
#include "wire/limits.h"

namespace millrace {

RequestHandler::RequestHandler(Services& services, const Asker& asker, const wire::Request& request)
    : c_(services), asker_(asker), request_(request) {
  const RequestRow* row = find_request(request.body_case());
  actor_ = services.askers.actor_of(asker, row && operators_count(*row));
}

wire::Reply RequestHandler::reply() const {
  wire::Reply out;
  out.set_number(request_.number());
  return out;
}

void RequestHandler::refuse_with(RefusalCode code, std::string note) const {
  refuse_with(refuse(code, std::move(note)).error());
}

void RequestHandler::refuse_with(const Refusal& refusal) const {
  wire::Reply out = reply();
  put_refusal(refusal, *out.mutable_failure());
  answer(out);
}

bool RequestHandler::refuses_for_room(const std::vector<Event>& events, std::uint64_t payload_bytes) const {
  if (c_.commit.has_room(events, payload_bytes)) return false;
  refuse_with(RefusalCode::no_room, "the controller's disk has no room for this; try again later");
  return true;
}

bool RequestHandler::happen(std::vector<Event> events, std::uint64_t payload_bytes) const {
  return !refuses_for_room(events, payload_bytes) && commit(std::move(events));
}

bool RequestHandler::commit(std::vector<Event> events) const {
  if (c_.commit.happen(std::move(events))) return true;
  refuse_with({RefusalCode::unspecified,
               {"a bug of the controller: this would have left its records in an impossible state, so nothing was "
                "changed; its log says more"}});
  return false;
}

void RequestHandler::answer_when_durable(wire::Reply out) const {
  c_.commit.when_durable(
      [&clients = c_.clients, client = asker_.client, out = std::move(out)] { clients.reply(client, out); });
}

void RequestHandler::done_when_durable() const {
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

void RequestHandler::commit_and_answer(Decision decision) const {
  if (!decision) return refuse_with(decision.error());
  if (!happen(*std::move(decision))) return;
  done_when_durable();
}

bool RequestHandler::refuses_words(const wire::SubmitJob& ask) const {
  const auto any = [&](const auto& is_wrong) {
    return is_wrong(ask.job()) || std::ranges::any_of(ask.more_components(), is_wrong);
  };
  const bool admin_words = any([](const wire::JobDescription& job) {
    return job.extras().has_admin_comment() || job.extras().has_system_comment();
  });
  const std::uint32_t most = c_.settings.cluster.tasks_per_node_max;
  const bool crowded = most != 0 && any([&](const wire::JobDescription& job) {
                         if (!job.interactive() || job.allocation_only()) return false;  // only a step spawns tasks
                         return job.tasks_per_node() > most ||
                                (job.max_nodes() != 0 && job.tasks() > std::uint64_t{most} * job.max_nodes());
                       });
  const bool odd_mail = any([](const wire::JobDescription& job) {
    return !job.extras().mail_user().empty() && !is_mail_address(job.extras().mail_user());
  });
  const bool reboots = any([](const wire::JobDescription& job) { return job.extras().reboot(); });
  const bool unasked = any([](const wire::JobDescription& job) { return job.extras().no_allocate(); });
  const std::uint64_t ports = c_.settings.cluster.reserved_ports.size();
  const bool too_many_ports = any([&](const wire::JobDescription& job) { return job.extras().resv_ports() > ports; });
  if (too_many_ports)
    refuse_with(RefusalCode::too_few_ports, "MpiParams in slurm.conf has " + std::to_string(ports) + " ports");
  else if (reboots && !actor_.is_admin)
    refuse_with(RefusalCode::access_denied, "rebooting of nodes is only allowed for admins");
  else if (unasked && !actor_.is_super)
    refuse_with(RefusalCode::access_denied, "only root or SlurmUser runs programs on nodes without an allocation");
  else if (admin_words && !actor_.is_admin)
    refuse_with(RefusalCode::access_denied, "only an administrator may set AdminComment");
  else if (crowded)
    refuse_with(RefusalCode::bad_task_count,
                "at most " + std::to_string(most) + " tasks may run on one node (MaxTasksPerNode)");
  else if (odd_mail)
    refuse_with(RefusalCode::not_supported, odd_mail_address);
  else
    return false;
  return true;
}

bool RequestHandler::refuses_bytes(UserId user, std::size_t beyond_ordinary) const {
  const auto why = c_.readers.stored.refusal(user, beyond_ordinary);
  if (why) refuse_with(RefusalCode::too_long, *why);
  return why.has_value();
}

bool RequestHandler::refuses_sizes(const wire::JobDescription& job, std::string_view environment,
                                   std::string_view script) const {
  const auto fits = check_sizes(job, environment, script);
  if (!fits) refuse_with(RefusalCode::not_supported, fits.error().story);
  return !fits;
}

}  // namespace millrace
