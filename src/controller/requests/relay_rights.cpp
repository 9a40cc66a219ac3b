// src/controller/requests/relay_rights.cpp - see relay_rights.h.
#include "controller/requests/relay_rights.h"

#include <algorithm>

#include "controller/requests/request_table.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;

// Answered to everybody, as far as PrivateData lets them; nothing changes by them.
constexpr B questions[] = {
    B::kQueryJobs,     B::kQueryNodes,      B::kQueryPartitions, B::kQueryConfig,       B::kPing,
    B::kWaitJob,       B::kQueryLicences,   B::kQueryTopology,   B::kQueryReservations, B::kExplain,
    B::kQueryAccounts, B::kQueryPriorities, B::kQuerySteps,      B::kQueryDiagnostics,  B::kNumberJob,
};

// What looks like a question and changes something is none.
bool is_question(const wire::Request& request) {
  if (request.query_diagnostics().reset() || request.wait_job().as_client()) return false;
  return std::ranges::find(questions, request.body_case()) != std::end(questions);
}

// The one job that a request is about; 0: none, or several.
std::uint32_t single_job(const wire::Request& request) {
  switch (request.body_case()) {
    case B::kCreateStep:
      return request.create_step().job_id();
    case B::kEndAllocation:
      return request.end_allocation().job_id();
    case B::kSignalStep:
      return request.signal_step().step().job().job_id();
    case B::kAttachStep:
      return request.attach_step().step().job().job_id();
    case B::kUpdateStep:
      return request.update_step().step().job().job_id();
    case B::kNotifyJob:
      return request.notify_job().step().job().job_id();
    case B::kSampleSteps:
      return request.sample_steps().steps_size() == 1 ? request.sample_steps().steps(0).job().job_id() : 0;
    case B::kCancel:
      return request.cancel().jobs_size() == 1 ? request.cancel().jobs(0).job_id() : 0;
    case B::kRequeue:
      return request.requeue().jobs_size() == 1 ? request.requeue().jobs(0).job_id() : 0;
    case B::kGetScript:
      return request.get_script().job_id();
    default:
      return 0;
  }
}

// What a number of an array or of a heterogeneous job means may be on other nodes, too.
bool means_more(const State& state, const wire::Request& request, std::uint32_t id) {
  if (!request.has_cancel() && !request.has_requeue()) return false;
  const Job* job = state.find_job(JobId{id});
  const ArrayState* array = job ? state.find_array(job->array) : nullptr;
  return job && (job->het || (array && array->id == job->id));
}

bool has_job_there(const State& state, const Node& node, UserId uid) {
  return std::ranges::any_of(node.jobs, [&](JobKey key) { return state.job(key).spec->owner->uid == uid; });
}

bool is_job_there(const State& state, const Node& node, std::uint32_t id) {
  return id != 0 && std::ranges::any_of(node.jobs, [&](JobKey key) { return state.job(key).id == JobId{id}; });
}

std::optional<std::string> login_refusal(const RelayedAsker& asker, const wire::Request& request) {
  if (!asker.privileged || is_question(request)) return std::nullopt;
  return "the key of " + asker.relay.node +
         " does not speak for root and SlurmUser; on the controller's machine they may do this, or where the key is "
         "one "
         "of `millrace key node " +
         asker.relay.node + " --login --root`";
}

}  // namespace

bool lends_offices(KeyRole role) { return role == KeyRole::login || role == KeyRole::login_root; }

std::optional<std::string> relay_refusal(const State& state, const RelayedAsker& asker, const wire::Request& request) {
  if (asker.relay.role == KeyRole::login_root) return std::nullopt;
  if (asker.relay.role == KeyRole::login) return login_refusal(asker, request);
  if (is_question(request)) return std::nullopt;
  const std::string& name = asker.relay.node;
  const auto index = state.find_node(name);
  const Node* node = index ? &state.node(*index) : nullptr;
  if (asker.privileged) {
    if (request.has_update_node() && request.update_node().nodes() == name) return std::nullopt;
    const std::uint32_t id = single_job(request);
    if (node && is_job_there(state, *node, id) && !means_more(state, request, id)) return std::nullopt;
    return "from the compute node " + name +
           " root and SlurmUser may ask, change the node itself, and act on a single job that is there; for more, see "
           "`millrace key node --login --root`";
  }
  // A token would speak for him after his job is gone.
  if (node && has_job_there(state, *node, asker.uid) && rank_needed(request.body_case()) == Rank::user &&
      !request.has_issue_token())
    return std::nullopt;
  return "from the compute node " + name +
         " only users with a job there may do this; a machine for users needs a key of `millrace key node " + name +
         " --login`";
}

}  // namespace millrace
