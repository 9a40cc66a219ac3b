// tests/fuzz/small_state.cpp - see small_state.h.
#include "small_state.h"

#include "agent.pb.h"
#include "client.pb.h"
#include "config/slurm_conf.h"
#include "controller/loop/config_facts.h"
#include "controller/requests/submission.h"
#include "core/admission/submit_het_job.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "target.h"
#include "task.pb.h"

namespace millrace::fuzz {
namespace {

constexpr Time now{1'700'000'000'000'000};

constexpr const char* site =
    "ClusterName=c\nSlurmctldHost=h\nGresTypes=gpu\nLicenses=foo:3\nMaxArraySize=1001\n"
    "AccountingStorageEnforce=associations,limits\n"
    "NodeName=n[1-4] CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=1000 Feature=a,b Gres=gpu:a100:4\n"
    "PartitionName=p Nodes=n[1-4] Default=YES\nPartitionName=q Nodes=n[1-2] MaxTime=60\n";

void submit(State& state, const wire::SubmitJob& ask) {
  const auto jobs = to_submit_jobs(ask, {UserId{0}, GroupId{0}, "root", "root", {0}});
  const Actor root{.uid = UserId{0}, .is_admin = true};
  const auto decided = jobs.size() > 1 ? decide(state, jobs, root, now) : decide(state, jobs.front(), root, now);
  must(decided.has_value(), "the small cluster takes its jobs");
  for (const Event& event : decided->events) apply(state, event);
}

}  // namespace

ClusterConfigured small_cluster() {
  const ConfigurationReport report = parse_configuration_text(site, "/fuzz/slurm.conf");
  must(report.errors.empty(), "the small cluster can be configured");
  ClusterConfigured out = to_facts(report.configuration, [](const std::string&) { return std::nullopt; });
  out.policy.enforce = 0;
  out.at = now;
  return out;
}

State small_state() {
  State state;
  apply(state, ControllerStarted{Epoch{1}, now});
  apply(state, small_cluster());
  wire::SubmitJob ask;
  ask.set_script("#!/bin/sh\n");
  ask.mutable_job()->set_name("plain");
  ask.mutable_job()->set_work_dir("/tmp");
  submit(state, ask);
  ask.mutable_job()->set_array("1-6%2");
  submit(state, ask);
  ask.mutable_job()->clear_array();
  *ask.add_more_components() = ask.job();
  submit(state, ask);
  ask.clear_more_components();
  submit(state, ask);
  return state;
}

State state_with_roles() {
  State state = small_state();
  const Time at = now + microseconds(1);
  const auto add = [&](std::uint32_t parent, const char* account, const char* user,
                       std::vector<std::string> coordinators) {
    Association out;
    out.id = state.next_association;
    out.parent = AssociationId{parent};
    out.account = account;
    out.user = user;
    out.is_default = out.user != "";
    out.coordinators = std::move(coordinators);
    apply(state, AssociationChanged{out, at});
  };
  add(0, "root", "", {});
  add(1, "lab", "", {"u1001"});
  add(1, "other", "", {"u1004"});
  add(2, "lab", "u4711", {});
  add(3, "other", "alice", {});
  Qos qos;
  qos.id = QosId{1};
  qos.name = "fast";
  apply(state, QosChanged{qos, at});
  apply(state, AccountUserChanged{{.name = "u1002", .admin_level = AdminLevel::operates}, at});
  apply(state, AccountUserChanged{{.name = "u1003", .admin_level = AdminLevel::administers}, at});
  return state;
}

}  // namespace millrace::fuzz
