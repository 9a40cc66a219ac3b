// src/mpi/pmi_server.h - answers PMI-1 and PMI-2 of one node's tasks. Knows no sockets: bytes in, bytes out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/pmi_table.h"
#include "mpi/pmi_wire.h"
#include "task.pb.h"

namespace millrace {

struct PmiFacts {
  std::string name;                          // of the job to its tasks, and of the only table of keys
  std::uint32_t size = 1;                    // tasks of the step
  std::uint32_t universe = 1;                // how many there could be
  std::uint32_t members = 1;                 // nodes with tasks
  std::string process_mapping;               // "(vector,(0,2,4))"
  std::vector<std::uint32_t> ranks;          // of this node
  std::size_t table_bytes_max = 256u << 20;  // of all keys and values: they are ours, not the memory of the job
};

// What a step of so many tasks may have in memory of ours, on a node for keys and values and, where it has one node,
// for exchanges: MPICH and Intel MPI put some hundred bytes for each task, the most of a UCX with many devices are some
// KiB.
constexpr std::size_t pmi_bytes_max(std::uint64_t tasks) {
  constexpr std::uint64_t least = 4u << 20, of_task = 16u << 10, most = 256u << 20, tasks_counted = most / of_task;
  return std::min(least + std::min(tasks, tasks_counted) * of_task, most);
}

class PmiServer {
 public:
  explicit PmiServer(PmiFacts facts);

  void take(std::uint32_t rank, std::string_view bytes);  // what this task wrote
  void hear(const wire::MpiToNode& message);              // from the other nodes
  void task_ended(std::uint32_t rank, bool failed);

  std::vector<std::pair<std::uint32_t, std::string>> take_replies() {
    reply_bytes_ = 0;
    return std::exchange(replies_, {});
  }
  std::vector<wire::MpiFromNode> take_outgoing() { return std::exchange(outgoing_, {}); }

 private:
  struct Client {
    PmiReader reader;
    bool begun = false, finalized = false, gone = false, in_fence = false;
    std::string fence_thread;  // PMI-2 clients want their thread's number back
  };
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  void obey(std::uint32_t rank, Client& client, const PmiCommand& command);
  void obey_pmi1(std::uint32_t rank, Client& client, const PmiCommand& command);
  void obey_pmi2(std::uint32_t rank, Client& client, const PmiCommand& command);
  void reply(std::uint32_t rank, std::string_view name, Pairs pairs, std::string_view thread = {});
  void begin(std::uint32_t rank, Client& client, const PmiCommand& command);
  // Empty, or what is wrong with it.
  std::string check(const PmiTable& table, std::string_view key, std::string_view value) const;
  std::string put(std::string_view key, std::string_view value);  // the same
  std::optional<std::string> find(std::string_view key) const;
  std::optional<std::string> job_attribute(std::string_view key) const;
  bool has_room(const PmiTable& table, std::string_view key, std::string_view value) const;
  void put_node_attribute(std::string_view key, std::string_view value);
  std::string wait_for_attribute(std::uint32_t rank, std::string_view key, std::string_view thread);
  void enter_fence(std::uint32_t rank, Client& client, std::string_view thread);
  void join_if_all_in();
  void leave_fence();
  void ask_name(std::uint32_t rank, wire::MpiName::Kind kind, std::string_view name, std::string_view value,
                std::string_view thread);
  void abort(std::uint32_t rank, std::uint32_t code, std::string text);

  PmiFacts facts_;
  std::map<std::uint32_t, Client> clients_;
  PmiTable table_;  // what every task can see
  PmiTable fresh_;  // put since the last fence
  PmiTable node_attributes_;
  struct Waiting {
    std::uint32_t rank;
    std::string thread;
  };
  std::multimap<std::string, Waiting, std::less<>> waiting_for_attribute_;
  struct NameAsked {
    std::uint32_t rank;
    wire::MpiName::Kind kind;
    std::string thread;
  };
  std::map<std::uint64_t, NameAsked> names_asked_;
  std::uint64_t next_name_ = 1;
  bool joined_ = false;
  bool aborted_ = false;
  std::vector<std::pair<std::uint32_t, std::string>> replies_;
  std::size_t reply_bytes_ = 0;  // in replies_
  std::vector<wire::MpiFromNode> outgoing_;
};

// The node of each task, as MPICH wants it: "(vector,(first node,nodes,tasks on each),...)".
std::string process_mapping(const std::vector<std::uint32_t>& node_of_task);

}  // namespace millrace
