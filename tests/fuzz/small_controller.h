// tests/fuzz/small_controller.h - a controller on simulated time over the small cluster, with its agents; no process,
// file or socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client.pb.h"
#include "core/ledger/state.h"

namespace millrace::fuzz {

class SmallController {
 public:
  SmallController();
  explicit SmallController(State state);  // with other records than the small cluster's own
  ~SmallController();
  SmallController(const SmallController&) = delete;

  wire::Reply request(std::uint32_t uid, std::string_view bytes);    // of a client; the last answer to it
  void from_agent(const std::string& node, std::string_view bytes);  // the numbers of the session are put right
  const State& durable() const;
  State replayed() const;     // what the state it began with and its log come to
  void run();                 // a few seconds
  void fill_disk(bool full);  // no room but the reserve

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::fuzz
