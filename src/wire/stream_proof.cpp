// src/wire/stream_proof.cpp - see stream_proof.h.
#include "wire/stream_proof.h"

#include "base/constant_time.h"
#include "base/sha256.h"
#include "wire/random.h"

namespace millrace {
namespace {

void put(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

// With its length before it: no two lists of fields make the same text.
void put(std::string& out, std::string_view field) {
  put(out, static_cast<std::uint64_t>(field.size()));
  out += field;
}

std::string code_of(std::string_view secret, std::string_view role, std::string_view node_nonce,
                    std::string_view srun_nonce, const StreamParty& node) {
  std::string text;
  put(text, "millrace stream proof 1");
  put(text, role);
  put(text, node_nonce);
  put(text, srun_nonce);
  put(text, std::uint64_t{node.job_id});
  put(text, node.step ? std::uint64_t{*node.step} + 1 : std::uint64_t{0});
  put(text, node.node);
  return hmac_sha256_of(secret, text);
}

Result<void> check_secret(const std::string& secret) {
  if (secret.size() >= stream_secret_min) return {};
  return fail(Errc::refused, "the secret of the step has " + std::to_string(secret.size()) + " bytes, at least " +
                                 std::to_string(stream_secret_min) + " are needed");
}

Result<void> check_nonce(const wire::StreamProof& message) {
  if (message.nonce().size() == proof_nonce_size) return {};
  return fail(Errc::refused, "the peer sent no challenge");
}

}  // namespace

CallerProof::CallerProof(std::string secret, StreamParty self)
    : CallerProof(std::move(secret), std::move(self), random_bytes(proof_nonce_size)) {}
CallerProof::CallerProof(std::string secret, StreamParty self, std::string nonce)
    : secret_(std::move(secret)), self_(std::move(self)), nonce_(std::move(nonce)) {}

wire::StreamProof CallerProof::opening() const {
  wire::StreamProof out;
  out.set_nonce(nonce_);
  out.set_job_id(self_.job_id);
  if (self_.step) out.set_step(*self_.step);
  out.set_node_name(self_.node);
  return out;
}

Result<wire::StreamProof> CallerProof::answer(const wire::StreamProof& theirs) const {
  MR_TRY_VOID(check_secret(secret_));
  MR_TRY_VOID(check_nonce(theirs));
  if (!equal_in_constant_time(theirs.code(), code_of(secret_, "srun", nonce_, theirs.nonce(), self_)))
    return fail(Errc::refused, "who listens there does not know the secret of the step");
  wire::StreamProof out;
  out.set_code(code_of(secret_, "node", nonce_, theirs.nonce(), self_));
  return out;
}

SrunProof::SrunProof(std::string secret) : SrunProof(std::move(secret), random_bytes(proof_nonce_size)) {}
SrunProof::SrunProof(std::string secret, std::string nonce) : secret_(std::move(secret)), nonce_(std::move(nonce)) {}

Result<wire::StreamProof> SrunProof::answer(const wire::StreamProof& opening) {
  MR_TRY_VOID(check_secret(secret_));
  MR_TRY_VOID(check_nonce(opening));
  if (opening.node_name().size() > proof_node_name_max) return fail(Errc::refused, "the name of the node is too long");
  their_nonce_ = opening.nonce();
  peer_.job_id = opening.job_id();
  if (opening.has_step()) peer_.step = opening.step();
  peer_.node = opening.node_name();
  wire::StreamProof out;
  out.set_nonce(nonce_);
  out.set_code(code_of(secret_, "srun", their_nonce_, nonce_, peer_));
  return out;
}

Result<void> SrunProof::check(const wire::StreamProof& theirs) const {
  if (their_nonce_.empty()) return fail(Errc::refused, "the peer has not begun");
  if (equal_in_constant_time(theirs.code(), code_of(secret_, "node", their_nonce_, nonce_, peer_))) return {};
  return fail(Errc::refused, "the peer does not know the secret of the step");
}

}  // namespace millrace
