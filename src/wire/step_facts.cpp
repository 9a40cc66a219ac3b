// src/wire/step_facts.cpp - see step_facts.h.
#include "wire/step_facts.h"

#include <algorithm>

#include "core/model/request_limits.h"

namespace millrace {
namespace {

Outcome outcome_of(const wire::StepFact& from) {
  switch (from.end()) {
    case wire::StepFact::NOT_LAUNCHED:
      return Outcome::failed;
    case wire::StepFact::LOST:
      return Outcome::node_fail;
    case wire::StepFact::OUT_OF_MEMORY:
      return Outcome::out_of_memory;
    case wire::StepFact::CANCELLED:
      return Outcome::cancelled;
    case wire::StepFact::TIMED_OUT:
      return Outcome::timeout;
    default:
      return from.exit_code() == 0 && from.exit_signal() == 0 ? Outcome::completed : Outcome::failed;
  }
}

// Nodes tell what they like.
std::int64_t sum_of(std::int64_t a, std::int64_t b) { return bounded_count(bounded_count(a) + bounded_count(b)); }

}  // namespace

StepUsage usage_of(const wire::StepUsage& from) {
  return {bounded_count(from.user_us()),       bounded_count(from.system_us()),
          bounded_count(from.max_rss_bytes()), bounded_count(from.max_vm_bytes()),
          bounded_count(from.read_bytes()),    bounded_count(from.write_bytes()),
          bounded_count(from.gpu_busy_max()),  bounded_count(from.gpu_busy_sum()),
          bounded_count(from.gpu_looks()),     bounded_count(from.gpu_memory_max_bytes())};
}

wire::StepUsage to_wire(const StepUsage& from) {
  wire::StepUsage to;
  to.set_user_us(from.user_us);
  to.set_system_us(from.system_us);
  to.set_max_rss_bytes(from.max_rss_bytes);
  to.set_max_vm_bytes(from.max_vm_bytes);
  to.set_read_bytes(from.read_bytes);
  to.set_write_bytes(from.written_bytes);
  to.set_gpu_busy_max(from.gpu_busy_max);
  to.set_gpu_busy_sum(from.gpu_busy_sum);
  to.set_gpu_looks(from.gpu_looks);
  to.set_gpu_memory_max_bytes(from.gpu_memory_max_bytes);
  return to;
}

void add_usage(wire::StepUsage& sum, const wire::StepUsage& more) {
  sum.set_user_us(sum_of(sum.user_us(), more.user_us()));
  sum.set_system_us(sum_of(sum.system_us(), more.system_us()));
  sum.set_max_rss_bytes(std::max(sum.max_rss_bytes(), more.max_rss_bytes()));
  sum.set_max_vm_bytes(std::max(sum.max_vm_bytes(), more.max_vm_bytes()));
  sum.set_read_bytes(sum_of(sum.read_bytes(), more.read_bytes()));
  sum.set_write_bytes(sum_of(sum.write_bytes(), more.write_bytes()));
  sum.set_gpu_busy_max(std::max(sum.gpu_busy_max(), more.gpu_busy_max()));
  sum.set_gpu_busy_sum(sum_of(sum.gpu_busy_sum(), more.gpu_busy_sum()));
  sum.set_gpu_looks(sum_of(sum.gpu_looks(), more.gpu_looks()));
  sum.set_gpu_memory_max_bytes(std::max(sum.gpu_memory_max_bytes(), more.gpu_memory_max_bytes()));
}

ReportedStep reported_step(const wire::StepFact& from) {
  ReportedStep to;
  to.start.id = from.id();
  to.start.name = from.name();
  to.start.tasks = from.tasks();
  to.start.cpus = Cpus{from.cpus()};
  to.start.memory = Mebibytes{bounded_mebibytes(from.memory_mib())};
  to.start.at = bounded_time(from.started_at_us());
  to.start.srun_host = from.srun_host();
  to.start.srun_pid = from.srun_pid();
  to.start.distribution = from.distribution();
  to.start.time_limit_minutes = from.time_limit_minutes();
  to.start.ports = from.ports();
  if (const wire::StepWishes& asked = from.wishes(); from.has_wishes())
    to.start.wishes =
        SharedValue(StepWishes{asked.gres(), asked.tres_per_step(), asked.tres_per_node(), asked.tres_per_socket(),
                               asked.tres_per_task(), asked.cpus_per_tres(), asked.mem_per_tres()});
  to.nodes = from.nodes();
  if (!from.ended()) return to;
  StepEnd end;
  end.id = from.id();
  end.outcome = outcome_of(from);
  end.exit_code = from.exit_code();
  end.exit_signal = from.exit_signal();
  end.cancelled_by = UserId{from.cancelled_by()};
  end.usage = usage_of(from.usage());
  end.at = bounded_time(from.ended_at_us());
  to.end = end;
  return to;
}

}  // namespace millrace
