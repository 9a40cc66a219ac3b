// tests/golden/ports_history.cpp - the history of format 1 with ports of steps, spared cores, rebooted nodes and a
// program without an allocation after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 950}; }

JobSubmitted with(JobSubmitted job, JobExtras extras) {
  job.spec.exclusive = extras.core_spec || extras.reboot;
  job.spec.extras = SharedValue(std::move(extras));
  return job;
}

}  // namespace

std::vector<GoldenBatch> ports_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobExtras ports, spares, spares_none, reboots;
  ports.resv_ports = 4;
  spares.core_spec = 1;
  spares_none.core_spec = 0;
  spares_none.threads_spec = true;
  reboots.reboot = reboots.no_allocate = true;
  const JobSubmitted first = with(one_more_job(out, 9, "with ports", 170, at(510)), ports),
                     second = with(one_more_job(out, 10, "spares", 171, at(511)), spares),
                     third = with(one_more_job(out, 11, "spares none", 172, at(512)), spares_none),
                     fourth = with(one_more_job(out, 12, "reboots", 173, at(513)), reboots);
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {first, second, third, fourth}});
  out.push_back({{}, {JobPlaced{first.key, Attempt{0}, {share}, false, at(520)}}});
  out.push_back({{}, {JobPortsHeld{first.key, Attempt{0}, "12000-12003", at(521)}}});
  StepStart start;
  start.id = 0;
  start.name = "step";
  start.nodes = StepNodes{std::vector<std::uint32_t>{0}};
  start.tasks = 1;
  start.cpus = Cpus{1};
  start.at = at(522);
  start.ports = "12000-12001";
  out.push_back(
      {{}, {StepsReported{.key = first.key, .attempt = Attempt{0}, .started = {start}, .ended = {}, .at = at(523)}}});
  out.push_back({{}, {JobPortsHeld{first.key, Attempt{0}, "12000-12003,12007", at(524)}}});
  return out;
}

}  // namespace millrace
