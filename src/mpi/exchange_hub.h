// src/mpi/exchange_hub.h - the middle of the star in which the nodes of a parallel program meet: exchanges, messages to
// one node, names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "task.pb.h"

namespace millrace {

// Lives in srun, which every node of a step is connected to; where the step has one node only, in its supervisor.
class ExchangeHub {
 public:
  ExchangeHub() = default;  // of srun's: its memory is the user's own
  explicit ExchangeHub(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  struct Outgoing {
    std::uint32_t node = 0;
    wire::MpiToNode message;
  };
  void take(std::uint32_t node, const wire::MpiFromNode& message);
  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }
  std::optional<wire::MpiAbort> take_abort() { return std::exchange(abort_, {}); }

 private:
  bool has_room(std::uint32_t node, std::size_t size);  // and takes it; else the step is aborted
  void join(std::uint32_t node, const wire::MpiJoin& join);
  void pass_on(std::uint32_t from, const wire::MpiDirect& direct);
  void answer(std::uint32_t node, const wire::MpiName& ask);
  wire::MpiToNode& to(std::uint32_t node);

  struct Exchange {
    std::map<std::uint32_t, std::string> members;  // by the node what it brought
    std::size_t bytes = 0;
  };
  std::map<std::string, Exchange> open_;
  std::map<std::string, std::string> names_;
  std::size_t bytes_max_ = 256u << 20;
  std::size_t bytes_ = 0;  // of open exchanges and names
  std::vector<Outgoing> outgoing_;
  std::optional<wire::MpiAbort> abort_;
};

}  // namespace millrace
