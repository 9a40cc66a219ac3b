// src/step/stdio/stream_call.h - a call to srun: found, connected and proved on both sides, without ever blocking.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job.pb.h"
#include "step/stdio/call_talk.h"

namespace millrace {

struct StreamAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};
// As the process writes them that asks for the name: each as its length and its bytes. The first comes last.
std::vector<StreamAddress> read_addresses(std::string_view found);

// Who answers is nobody until it has proved the secret: at most one small frame is read from it, nothing but a nonce is
// told to it, and it has a minute. The caller polls fd() for events(), passes what comes to handle() and the time to
// on_time(), and takes the socket once the call has been answered.
class StreamCall {
 public:
  enum class State : std::uint8_t { under_way, answered, failed };
  StreamCall(const wire::StdioEndpoint& peer, const StreamParty& self, std::int64_t now_us);
  StreamCall(const StreamCall&) = delete;
  StreamCall& operator=(const StreamCall&) = delete;
  ~StreamCall();

  State state() const { return state_; }
  const std::string& problem() const { return problem_; }  // once it has failed
  int fd() const { return finder_fd_ >= 0 ? finder_fd_ : fd_; }
  short events() const { return finder_fd_ < 0 && !connected_ ? POLLOUT : POLLIN; }
  std::int64_t deadline_us() const { return deadline_us_; }
  void handle(std::int64_t now_us);  // something has happened at fd()
  void on_time(std::int64_t now_us);
  int take_socket();  // answered: the caller's from now on

 private:
  void begin(const wire::StdioEndpoint& peer, std::int64_t now_us);
  void begin_finding();
  void read_found(std::int64_t now_us);
  void connect_next(std::int64_t now_us);
  void on_connected(std::int64_t now_us);
  void read_proof();
  void fail_with(const std::string& why);
  void end_finder();

  std::string host_;
  std::uint32_t port_;
  std::string where_;
  CallTalk talk_;
  State state_ = State::under_way;
  std::string problem_;
  std::int64_t deadline_us_;
  pid_t finder_ = -1;  // a process that asks for the addresses of a name: the answer may never come
  int finder_fd_ = -1;
  std::string found_;
  std::vector<StreamAddress> addresses_;  // those not tried yet, the next last
  std::string last_problem_ = "no address";
  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace millrace
