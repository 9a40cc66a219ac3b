// src/accelerators/accelerator.h - what a machine's accelerators are and how they are doing, whoever made them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

enum class AcceleratorMaker : std::uint8_t { nvidia, amd, intel };

// One that can be given to a job: a gpu, or an instance of one that was divided (MIG).
struct Accelerator {
  AcceleratorMaker maker{};
  std::string model;               // as a type of slurm.conf could name it: nvidia_h200, nvidia_h200_1g.18gb
  std::string unique_id;           // GPU-..., MIG-...
  std::string pci;                 // 0000:3b:00.0
  std::vector<std::string> files;  // all a job must be able to open
  std::string cpus;                // near to it, as the kernel counts: 0-31; empty: not known
  bool instance = false;           // jobs call it by its unique_id, not by a number
  std::uint64_t memory_mib = 0;
  std::vector<std::uint32_t> links;  // to each device of the list; 0: none

  // How it is doing
  std::uint32_t busy_percent = 0;
  std::uint64_t used_mib = 0;
  std::uint32_t celsius = 0, watts = 0;
  std::string trouble;  // why no job should get it; empty: none
};

// "NVIDIA H200" -> "nvidia_h200": one word that slurm.conf can hold.
std::string model_word(std::string_view name);

}  // namespace millrace
