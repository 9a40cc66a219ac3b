// src/step/stdio/call_talk.h - what a node and the srun it calls say to each other until both have proved the secret,
// as bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/frame.h"
#include "wire/stream_proof.h"

namespace millrace {

class CallTalk {
 public:
  CallTalk(std::string secret, const StreamParty& self) : proof_(std::move(secret), self) {}

  std::string opening() const;  // framed, as all that is sent
  // What who answered says: our own proof once its is good, nothing yet, or why it is not the srun of this step.
  Result<std::optional<std::string>> take(std::string_view bytes);

 private:
  CallerProof proof_;
  FrameReader reader_{proof_frame_max};
};

}  // namespace millrace
