// src/apps/agent_parts.h - what the agent's process is put together from besides the libraries: descriptors of its
// loop, ways to its controllers, a node's line.
#pragma once

#include <unistd.h>

#include <climits>
#include <memory>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "agent/readiness.h"
#include "config/configuration.h"
#include "platform/dialer.h"
#include "platform/event_loop.h"

namespace millrace {

inline std::string beside_this_program(const char* name) {
  char self[PATH_MAX]{};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string path(self, length > 0 ? static_cast<std::size_t>(length) : 0);
  path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  return path + name;
}

inline std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

// The loop's descriptors, as src/agent wants to see them.
class LoopReadiness final : public Readiness {
 public:
  explicit LoopReadiness(EventLoop& loop) : loop_(loop) {}
  std::unique_ptr<Watch> watch(int descriptor, Task readable, Task writable) override {
    struct LoopWatch final : Watch {
      LoopWatch(EventLoop& loop, int fd, Task in, Task out) : inner(loop, fd, std::move(in), std::move(out)) {}
      void want_readable() override { inner.want_readable(); }
      void want_writable() override { inner.want_writable(); }
      DescriptorWatch inner;
    };
    return std::make_unique<LoopWatch>(loop_, descriptor, std::move(readable), std::move(writable));
  }

 private:
  EventLoop& loop_;
};

// Each dial tries the next controller: the one that leads answers.
class ControllerDialer final : public Dialer {
 public:
  ControllerDialer(EventLoop& loop, Worker& resolver, const Configuration& configuration, const std::string& node,
                   const TlsDialer::MakeFace& face) {
    LinkLimits limits;
    limits.receive_max = reply_size_max;  // relayed replies
    for (const ControllerHost& host : configuration.controllers)
      dialers_.push_back(
          std::make_unique<TlsDialer>(loop, resolver, host.address, configuration.controller_port, node, face, limits));
  }
  std::unique_ptr<Link> dial(LinkHandler& handler) override {
    return dialers_[next_++ % dialers_.size()]->dial(handler);
  }

 private:
  std::vector<std::unique_ptr<TlsDialer>> dialers_;
  std::size_t next_ = 0;
};

inline wire::Inventory inventory_of(const ConfiguredNode& node) {
  wire::Inventory inventory;
  inventory.set_cpus(node.cpus);
  inventory.set_boards(node.boards);
  inventory.set_sockets(node.sockets);
  inventory.set_cores_per_socket(node.cores_per_socket);
  inventory.set_threads_per_core(node.threads_per_core);
  inventory.set_memory_mib(static_cast<std::uint64_t>(node.memory.value));
  inventory.set_tmp_disk_mib(static_cast<std::uint64_t>(node.tmp_disk.value));
  return inventory;
}

}  // namespace millrace
