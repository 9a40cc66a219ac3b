// src/isolation/device_program.cpp - see device_program.h; written through bpf(2), because a library for six
// instructions would be more than the supervisor itself.
#include "isolation/device_program.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace millrace {
namespace {

constexpr std::uint8_t kind = BPF_REG_2, major_number = BPF_REG_3, minor_number = BPF_REG_4, answer = BPF_REG_0;

bpf_insn instruction(int code, std::uint8_t to, std::uint8_t from, std::size_t offset, std::uint32_t number) {
  bpf_insn out{};
  out.code = static_cast<std::uint8_t>(code);
  out.dst_reg = to & 0xf;
  out.src_reg = from & 0xf;
  out.off = static_cast<std::int16_t>(offset);
  out.imm = static_cast<std::int32_t>(number);
  return out;
}
bpf_insn load(std::uint8_t to, std::size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, offset, 0);
}
bpf_insn set(std::uint8_t to, std::uint32_t number) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}
bpf_insn skip_unless(std::uint8_t what, std::uint32_t number, std::size_t count) {
  return instruction(BPF_JMP32 | BPF_JNE | BPF_K, what, 0, count, number);
}
bpf_insn leave() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

long call_bpf(int command, bpf_attr& attributes) { return syscall(SYS_bpf, command, &attributes, sizeof attributes); }

}  // namespace

std::vector<bpf_insn> device_program(const std::vector<DeviceNumber>& denied) {
  std::vector<bpf_insn> program{load(kind, offsetof(bpf_cgroup_dev_ctx, access_type)),
                                instruction(BPF_ALU64 | BPF_AND | BPF_K, kind, 0, 0, 0xffff),
                                load(major_number, offsetof(bpf_cgroup_dev_ctx, major)),
                                load(minor_number, offsetof(bpf_cgroup_dev_ctx, minor))};
  for (const DeviceNumber& device : denied) {
    program.push_back(skip_unless(kind, device.block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR, 4));
    program.push_back(skip_unless(major_number, device.major, 3));
    program.push_back(skip_unless(minor_number, device.minor, 2));
    program.push_back(set(answer, 0));
    program.push_back(leave());
  }
  program.push_back(set(answer, 1));
  program.push_back(leave());
  return program;
}

Result<void> deny_devices(const std::string& cgroup, const std::vector<DeviceNumber>& denied) {
  const auto failed = [&](const char* doing) {
    return fail(Errc::io, std::string{doing} + " the device program of " + cgroup + ": " + std::strerror(errno));
  };
  const std::vector<bpf_insn> program = device_program(denied);
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<std::uintptr_t>(program.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
  attributes.license = reinterpret_cast<std::uintptr_t>("GPL");
  const int loaded = static_cast<int>(call_bpf(BPF_PROG_LOAD, attributes));
  if (loaded < 0) return failed("load");
  const int folder = open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::memset(&attributes, 0, sizeof attributes);
  attributes.target_fd = static_cast<std::uint32_t>(folder);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(loaded);
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;
  const bool attached = folder >= 0 && call_bpf(BPF_PROG_ATTACH, attributes) == 0;
  const int problem = errno;
  if (folder >= 0) close(folder);
  close(loaded);
  errno = problem;
  if (!attached) return failed("attach");
  return {};
}

}  // namespace millrace
