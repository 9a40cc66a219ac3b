// tests/fuzz/small_controller.h - a controller on simulated time over the small cluster, with its agents; no process,
// file or socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace millrace::fuzz {

class SmallController {
 public:
  SmallController();
  ~SmallController();
  SmallController(const SmallController&) = delete;

  void request(std::uint32_t uid, std::string_view bytes);           // of a client
  void from_agent(const std::string& node, std::string_view bytes);  // the numbers of the session are put right
  void run();                                                        // a few seconds

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::fuzz
