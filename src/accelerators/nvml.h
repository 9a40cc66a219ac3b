// src/accelerators/nvml.h - NVIDIA's gpus by NVIDIA's management library, loaded when asked for; a machine without it
// has none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accelerators/accelerator.h"
#include "base/result.h"

namespace millrace {

class Nvml {
 public:
  // `library` empty: looked for where drivers put it. `root` is where /proc and /dev are looked for.
  static Result<std::unique_ptr<Nvml>> load(const std::string& library, std::string root);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Everything, asked anew. Errors that the driver told of since load() stay a gpu's trouble until the machine is
  // restarted.
  Result<std::vector<Accelerator>> list();

 private:
  struct Calls;
  explicit Nvml(std::unique_ptr<Calls> calls, std::string root);
  void watch_errors();
  void take_errors();
  void describe(void* device, Accelerator& out) const;
  void add_instances(void* device, std::uint32_t minor, const Accelerator& whole, std::vector<Accelerator>& out) const;
  std::string trouble_of(void* device) const;

  std::unique_ptr<Calls> calls_;
  std::string root_;
  void* events_ = nullptr;
  std::vector<std::pair<std::string, std::uint64_t>> errors_;  // unique id, XID
};

// An XID that a program's own mistake can cause says nothing about the gpu.
bool is_hardware_error(std::uint64_t xid);

}  // namespace millrace
