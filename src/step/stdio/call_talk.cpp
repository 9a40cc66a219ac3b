// src/step/stdio/call_talk.cpp - see call_talk.h.
#include "step/stdio/call_talk.h"

#include "task.pb.h"

namespace millrace {
namespace {

std::string framed(wire::StreamProof proof) {
  wire::FromTask message;
  *message.mutable_proof() = std::move(proof);
  return frame(message.SerializeAsString());
}

}  // namespace

std::string CallTalk::opening() const { return framed(proof_.opening()); }

Result<std::optional<std::string>> CallTalk::take(std::string_view bytes) {
  reader_.feed(bytes);
  const auto said = reader_.next();
  if (!said) return fail(Errc::refused, "what listens there is no srun: " + said.error().story);
  if (!*said) return std::optional<std::string>{};
  wire::ToTask message;
  if (!message.ParseFromArray((*said)->data(), static_cast<int>((*said)->size())) || !message.has_proof())
    return fail(Errc::refused, "what listens there is no srun");
  MR_TRY(wire::StreamProof own, proof_.answer(message.proof()));
  if (!reader_.is_empty()) return fail(Errc::refused, "srun said more than its proof");
  return std::optional{framed(std::move(own))};
}

}  // namespace millrace
