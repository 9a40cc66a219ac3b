// src/adapters/agent_words.cpp - see agent_words.h.
#include "adapters/agent_words.h"

#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/model/request_limits.h"
#include "wire/request_limits.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

constexpr std::size_t spool_id_max = 64;

AttemptReport report_of(const wire::AttemptStatus& status) {
  AttemptReport report;
  report.key = JobKey{status.job_key()};
  report.attempt = Attempt{status.attempt()};
  report.ended = status.state() == wire::AttemptStatus::ENDED;
  switch (status.end()) {
    case wire::AttemptStatus::LAUNCH_FAILED:
      report.end = status.cause() == wire::AttemptStatus::OF_NODE   ? AttemptEnd::node_unfit
                   : status.cause() == wire::AttemptStatus::UNCLEAR ? AttemptEnd::not_begun
                                                                    : AttemptEnd::launch_failed;
      break;
    case wire::AttemptStatus::SUPERVISOR_LOST:
      report.end = AttemptEnd::supervisor_lost;
      break;
    case wire::AttemptStatus::OUT_OF_MEMORY:
      report.end = AttemptEnd::out_of_memory;
      break;
    case wire::AttemptStatus::PROLOG_FAILED:
      report.end = AttemptEnd::prolog_failed;
      break;
    default:
      report.end = AttemptEnd::exited;
      break;
  }
  report.exit_code = status.exit_code();
  report.exit_signal = status.exit_signal();
  report.problem = status.problem().substr(0, problem_bytes_max);
  report.suspended = status.suspended();
  report.exited = status.exited();
  report.in_prolog = status.in_prolog();
  report.epilog_failed = status.epilog_failed();
  if (status.has_step()) report.step = status.step();
  if (status.has_usage()) report.usage = usage_of(status.usage());
  if ((report.ended || report.exited) && !report.step) report.steps = reported_steps(status.steps());
  return report;
}

}  // namespace

std::vector<AttemptReport> reports_of(const google::protobuf::RepeatedPtrField<wire::AttemptStatus>& attempts) {
  std::vector<AttemptReport> out;
  std::set<std::tuple<JobKey, Attempt, std::optional<std::uint32_t>>> seen;
  for (const auto& status : attempts) {
    AttemptReport report = report_of(status);
    if (seen.insert({report.key, report.attempt, report.step}).second) out.push_back(std::move(report));
  }
  return out;
}

NodeRegistration registration_of(const wire::AgentHello& hello, const std::string& node) {
  const auto& found = hello.inventory();
  NodeRegistration registration;
  registration.node = node;
  registration.boot_id = hello.boot_id();
  registration.inventory = {Cpus{found.cpus()},
                            Mebibytes{bounded_mebibytes(found.memory_mib())},
                            Mebibytes{bounded_mebibytes(found.tmp_disk_mib())},
                            found.arch(),
                            found.os(),
                            hello.version(),
                            found.host_name(),
                            bounded_time(found.boot_at_us()),
                            bounded_time(found.agent_started_at_us())};
  for (const auto& each : found.devices())
    registration.inventory.devices.push_back({each.name(),
                                              each.type(),
                                              each.count(),
                                              {each.near().begin(), each.near().end()},
                                              false,
                                              {},
                                              each.files(),
                                              0,
                                              {each.links().begin(), each.links().end()}});
  registration.inventory.instance_id = found.instance_id();
  registration.inventory.instance_type = found.instance_type();
  registration.inventory.extra = found.extra();
  registration.attempts = reports_of(hello.attempts());
  registration.dynamic = hello.dynamic();
  registration.configuration = hello.configuration();
  registration.spool_id = hello.spool_id().substr(0, spool_id_max);
  registration.clock = bounded_time(hello.clock_us());
  return registration;
}

}  // namespace millrace
