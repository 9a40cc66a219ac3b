// src/client/session.h - one client's conversation with the controller over the unix socket of its own host; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/result.h"
#include "wire/frame.h"
#include "wire/reply_parts.h"

namespace millrace::wire {
class Reply;
class Request;
class SubmitJob;
}  // namespace millrace::wire

namespace millrace {

// What Slurm says when the controller cannot be talked to; programs look for these words.
constexpr const char* connect_failure_text = "Unable to contact slurm controller (connect failure)";
constexpr const char* receive_failure_text = "Unable to contact slurm controller (receive failure)";
constexpr const char* timed_out_text = "Socket timed out on send/recv operation";

struct SessionOptions {
  std::string socket_path;         // tried first; then the same with ".relay"
  Duration timeout = seconds(10);  // MessageTimeout: an answer must begin within this
  Duration patience = seconds(2);  // how long to go on trying while nobody listens, e.g. during a restart
  // Whom slurm.conf names: another cluster that answers there does nothing of what it is asked. Empty: whoever it is.
  std::string cluster{};
  std::uint16_t controller_port = 0;
  std::function<void(const std::string&)> tell{};  // for those who want to see what is said to whom; empty: nobody
};

// Thread-compatible: one session per thread. Connects on first use; after an error the next call connects again.
class Session {
 public:
  explicit Session(SessionOptions options) : options_(std::move(options)), reader_(reply_size_max) {}
  ~Session() { disconnect(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Result<void> connect();
  void disconnect();

  // Sends and waits for the (first) reply. Errors: unavailable when nothing was sent; outcome_unknown when the request
  // left us and no answer came, so it may or may not have happened. Story: one of the texts above.
  Result<wire::Reply> call(wire::Request& request);
  // Sends without waiting; next() or take_ready() then give the replies, which may take as long as a job runs.
  Result<void> send(wire::Request& request);
  // The next reply to the last send() or call(). Waits up to `wait`; nothing: for as long as it takes.
  Result<wire::Reply> next(std::optional<Duration> wait);
  // A reply that is already here, without waiting; nothing when there is none yet. For loops that poll descriptor().
  Result<std::optional<wire::Reply>> take_ready();

  // call() for submissions: gives the request a key when it has none and, when the answer is lost, connects again and
  // asks again with the same key until the time-out is over, so that one job comes of it.
  Result<wire::Reply> submit(wire::SubmitJob ask);

  int descriptor() const { return fd_; }
  // Which addresses were tried and what each said, after a failed connect.
  const std::string& trouble() const { return trouble_; }

 private:
  void tell(const char* what, std::uint64_t number, std::size_t bytes) const;
  Result<void> try_connect(const std::string& path);
  Result<void> send_all(const std::string& bytes, std::int64_t deadline_us);
  Result<bool> fill(std::optional<std::int64_t> deadline_us);  // false: time is over
  Result<std::optional<wire::Reply>> parse_one();
  bool is_turned_away();

  SessionOptions options_;
  FrameReader reader_;
  ReplyJoiner joiner_;
  int fd_ = -1;
  std::uint64_t number_ = 0;
  bool reset_ = false;
  std::string refusal_;  // an encoded reply of one that turned us away
  std::string trouble_;
  std::string connected_to_;
};

}  // namespace millrace
