// src/wire/stream_proof.h - how a node and the srun it calls prove to each other that both know the secret of their
// step, without sending it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "task.pb.h"

namespace millrace {

// The node calls; who listens there may be anybody who bound the port after srun died. Three messages, each a frame:
//   node -> srun   its nonce, job, step and name
//   srun -> node   its nonce, HMAC(secret, "srun", both nonces, job, step, name)
//   node -> srun   HMAC(secret, "node", both nonces, job, step, name)
// The role is in the code, so that none can be sent back to its maker; both nonces are fresh, so that none can be used
// again. A side that is not convinced says nothing more and closes. What follows on the connection is neither encrypted
// nor authenticated message by message: who can change packets on the way still can.

constexpr std::size_t proof_nonce_size = 32;
constexpr std::size_t proof_frame_max = 1024;     // of each of the three messages
constexpr std::size_t stream_secret_min = 16;     // a shorter one could be guessed
constexpr std::size_t proof_node_name_max = 512;  // keeps the first message below its limit

struct StreamParty {
  std::uint32_t job_id = 0;
  std::optional<std::uint32_t> step;  // none: that of srun's own job
  std::string node;
  bool operator==(const StreamParty&) const = default;
};

// The side that calls. Nonces are given in tests only.
class CallerProof {
 public:
  CallerProof(std::string secret, StreamParty self);
  CallerProof(std::string secret, StreamParty self, std::string nonce);
  wire::StreamProof opening() const;
  // To what srun says: our own proof, once srun's is good.
  Result<wire::StreamProof> answer(const wire::StreamProof& theirs) const;

 private:
  std::string secret_;
  StreamParty self_;
  std::string nonce_;
};

// The side that is called; one for each connection.
class SrunProof {
 public:
  explicit SrunProof(std::string secret);
  SrunProof(std::string secret, std::string nonce);
  Result<wire::StreamProof> answer(const wire::StreamProof& opening);  // the first message
  Result<void> check(const wire::StreamProof& theirs) const;           // the second
  const StreamParty& peer() const { return peer_; }                    // true once checked

 private:
  std::string secret_;
  std::string nonce_, their_nonce_;
  StreamParty peer_;
};

}  // namespace millrace
