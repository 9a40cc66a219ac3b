// src/cli/node_player.h - a supervisor's side of srun's port, for tests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "job.pb.h"
#include "task.pb.h"
#include "wire/frame.h"
#include "wire/stream_proof.h"

namespace millrace {

// Calls, proves as well as it can that it knows `secret`, says that it has two tasks, and then `messages`.
inline void play_node(const wire::StdioEndpoint& endpoint, const std::vector<wire::FromTask>& messages,
                      const std::string& secret) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(endpoint.port()));
  inet_pton(AF_INET, endpoint.host().c_str(), &address.sin_addr);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto say = [&](const wire::FromTask& message) {
    const std::string bytes = frame(message.SerializeAsString());
    [[maybe_unused]] const ssize_t ignored = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  };
  const CallerProof proof(secret, {21, {}, "n1"});
  wire::FromTask message;
  *message.mutable_proof() = proof.opening();
  say(message);
  FrameReader reader(proof_frame_max);
  wire::ToTask answer;
  char buffer[4096];
  for (ssize_t count = 0; !answer.has_proof() && (count = read(fd, buffer, sizeof buffer)) > 0;) {
    reader.feed({buffer, static_cast<std::size_t>(count)});
    const auto bytes = reader.next();
    if (bytes && *bytes) answer.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size()));
  }
  // One that does not know the secret cannot answer; it says what it would like to all the same.
  if (const auto own = proof.answer(answer.proof())) *message.mutable_proof() = *own;
  say(message);
  message.mutable_hello()->set_tasks(2);
  message.mutable_hello()->set_node_name("n1");
  say(message);
  for (const wire::FromTask& each : messages) say(each);
  shutdown(fd, SHUT_WR);
  while (read(fd, buffer, sizeof buffer) > 0) continue;
  close(fd);
}

}  // namespace millrace
