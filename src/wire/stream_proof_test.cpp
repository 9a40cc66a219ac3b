// src/wire/stream_proof_test.cpp - who does not know the secret gets nowhere, whatever it sends, repeats or reflects.
#include "wire/stream_proof.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

const std::string secret(32, 's');
const StreamParty node{12, 0, "n1"};

TEST(StreamProof, Both_are_convinced_and_the_secret_is_in_no_message) {
  const CallerProof caller(secret, node);
  SrunProof listener(secret);
  const auto first = caller.opening();
  const auto second = listener.answer(first);
  ASSERT_TRUE(second);
  const auto third = caller.answer(*second);
  ASSERT_TRUE(third);
  EXPECT_TRUE(listener.check(*third));
  EXPECT_EQ(listener.peer(), node);
  for (const auto& message : {first, *second, *third}) {
    EXPECT_EQ(message.SerializeAsString().find(secret), std::string::npos);
    EXPECT_LE(message.ByteSizeLong(), proof_frame_max);
  }
}

TEST(StreamProof, Another_secret_convinces_neither_side) {
  const CallerProof caller(secret, node);
  SrunProof stranger(std::string(32, 't'));
  EXPECT_FALSE(caller.answer(*stranger.answer(caller.opening())));
  SrunProof listener(secret);
  const CallerProof strange_caller(std::string(32, 't'), node);
  const auto challenge = listener.answer(strange_caller.opening());
  EXPECT_FALSE(strange_caller.answer(*challenge));
  wire::StreamProof guess;
  EXPECT_FALSE(listener.check(guess));
  guess.set_code(std::string(32, '\0'));
  EXPECT_FALSE(listener.check(guess));
}

TEST(StreamProof, What_was_said_once_is_worth_nothing_on_another_connection) {
  const CallerProof caller(secret, node);
  SrunProof listener(secret);
  const auto challenge = listener.answer(caller.opening());
  const auto proof = caller.answer(*challenge);
  // The same bytes to the next caller, and to the next connection of srun.
  EXPECT_FALSE(CallerProof(secret, node).answer(*challenge));
  SrunProof next(secret);
  ASSERT_TRUE(next.answer(caller.opening()));
  EXPECT_FALSE(next.check(*proof));
}

TEST(StreamProof, A_proof_sent_back_to_its_maker_is_refused) {
  // The attacker answers with what the other side sends: same nonces in both places, so that only the role differs.
  const std::string nonce(proof_nonce_size, 'n');
  const CallerProof caller(secret, node, nonce);
  SrunProof listener(secret, nonce);
  const auto challenge = listener.answer(caller.opening());
  ASSERT_TRUE(caller.answer(*challenge));
  EXPECT_FALSE(listener.check(*challenge));
  EXPECT_FALSE(caller.answer(caller.opening()));
  wire::StreamProof reflected = *caller.answer(*challenge);
  reflected.set_nonce(nonce);
  EXPECT_FALSE(caller.answer(reflected));
}

TEST(StreamProof, It_holds_for_the_job_step_and_node_that_were_named) {
  const CallerProof caller(secret, node);
  for (const StreamParty& other : {StreamParty{13, 0, "n1"}, StreamParty{12, 1, "n1"}, StreamParty{12, {}, "n1"},
                                   StreamParty{12, 0, "n2"}, StreamParty{12, 0, ""}}) {
    wire::StreamProof changed = caller.opening();
    changed.set_job_id(other.job_id);
    changed.clear_step();
    if (other.step) changed.set_step(*other.step);
    changed.set_node_name(other.node);
    SrunProof listener(secret);
    EXPECT_FALSE(caller.answer(*listener.answer(changed)));
  }
}

TEST(StreamProof, Messages_that_lack_something_are_refused) {
  SrunProof listener(secret);
  wire::StreamProof opening = CallerProof(secret, node).opening();
  EXPECT_FALSE(listener.check(opening)) << "before the first message there is nothing to check";
  opening.set_nonce("short");
  EXPECT_FALSE(listener.answer(opening));
  opening.set_nonce(std::string(proof_nonce_size, 'n'));
  opening.set_node_name(std::string(proof_node_name_max + 1, 'x'));
  EXPECT_FALSE(listener.answer(opening));
  EXPECT_FALSE(CallerProof(secret, node).answer({}));
}

TEST(StreamProof, A_secret_that_could_be_guessed_proves_nothing) {
  for (const std::string weak : {"", "fifteen bytes.."}) {
    const CallerProof caller(weak, node);
    SrunProof listener(weak);
    EXPECT_FALSE(listener.answer(caller.opening()));
    SrunProof other(secret);
    EXPECT_FALSE(caller.answer(*other.answer(caller.opening())));
  }
}

}  // namespace
}  // namespace millrace
