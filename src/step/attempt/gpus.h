// src/step/attempt/gpus.h - the gpus of an attempt on this node as their makers' libraries call them, for all of it and
// for each task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/cpu_bind.h"
#include "step/environment/environment.h"

namespace millrace::wire {
class Isolation;
}  // namespace millrace::wire

namespace millrace {

class Gpus {
 public:
  Gpus() = default;
  Gpus(const wire::LaunchPlan& plan, const wire::Isolation& isolation);

  // Variables of the node's processes. A job without gpus on a node that has some is shown none.
  void show(Environment& environment) const;
  // Those of one task, by --gpu-bind or its gpus per task. `cpus`: where it runs, as the kernel counts.
  bool is_told() const { return bind_.verbose; }  // --gpu-bind=verbose: srun is told what each task sees
  Result<void> show_task(Environment& environment, std::uint32_t local_rank,
                         const std::vector<std::uint32_t>& cpus) const;

 private:
  struct Gpu {
    std::uint32_t number = 0;  // over all gpus of the node
    std::string name;          // what *_VISIBLE_DEVICES wants
    std::string near_cpus;
  };
  void set(Environment& environment, const std::vector<std::size_t>& chosen) const;
  std::vector<std::size_t> chosen_for(std::uint32_t local_rank, const std::vector<std::uint32_t>& cpus) const;
  std::vector<std::size_t> near_to(const std::vector<std::uint32_t>& cpus) const;

  std::vector<Gpu> gpus_;
  GpuBind bind_;
  std::string problem_;  // with the binding
  std::uint32_t variables_ = 0;
  bool node_has_gpus_ = false, is_step_ = false;
  bool job_is_told_ = false;  // of its gpus: a step has some of them
};

}  // namespace millrace
