// src/isolation/device_program.h - device fencing of cgroup v2: a small program the kernel asks at each open of a
// device.
#pragma once

#include <linux/bpf.h>

#include <string>
#include <vector>

#include "isolation/cgroup.h"

namespace millrace {

// Refuses these devices and allows all others.
std::vector<bpf_insn> device_program(const std::vector<DeviceNumber>& denied);
// Works until the cgroup is removed. Programs of cgroups above are asked too.
Result<void> deny_devices(const std::string& cgroup, const std::vector<DeviceNumber>& denied);

}  // namespace millrace
