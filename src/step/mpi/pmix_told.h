// src/step/mpi/pmix_told.h - what the PMIx server of this node's tasks has said to the supervisor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "task.pb.h"

namespace millrace {

// The server runs as the job's user, so it may say anything. Once, that it is ready, with an environment for each task
// of this node, or why it will not be; nothing else before that. Then which of them have begun and finalized, and what
// is for other nodes. Whatever names another task is dropped.
class PmixTold {
 public:
  explicit PmixTold(const std::vector<std::uint32_t>& ranks) : ranks_(ranks.begin(), ranks.end()) {}

  bool take(std::string_view bytes);  // false: nothing that a server says; it is of no use any more
  bool is_ready() const { return ready_; }
  const std::string& problem() const { return problem_; }
  const std::vector<std::string>* environment(std::uint32_t rank) const;  // null: it knows nothing of this task
  std::optional<std::uint32_t> unfinished_task() const;                   // one that has begun and not finalized
  bool is_unfinished(std::uint32_t rank) const { return connected_.contains(rank) && !finalized_.contains(rank); }
  void abort(std::uint32_t rank, const std::string& text);  // the first one counts
  std::vector<wire::MpiFromNode> take_outgoing() {
    outgoing_bytes_ = 0;
    return std::exchange(outgoing_, {});
  }
  std::size_t outgoing_bytes() const { return outgoing_bytes_; }  // that were not taken yet

 private:
  std::set<std::uint32_t> ranks_;
  bool ready_ = false, aborted_ = false;
  std::string problem_;
  std::map<std::uint32_t, std::vector<std::string>> environments_;
  std::set<std::uint32_t> connected_, finalized_;
  std::vector<wire::MpiFromNode> outgoing_;
  std::size_t outgoing_bytes_ = 0;
};

}  // namespace millrace
