// src/platform/socket_test.cpp - who gets a socket's path when several want it.
#include "platform/socket.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace millrace {
namespace {

bool is_served(const std::string& path) {
  const Descriptor client{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(Socket, Of_those_who_begin_to_listen_at_one_moment_one_does_and_can_be_reached) {
  std::string folder = (std::filesystem::temp_directory_path() / "socket-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/s";
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> go = false;
    std::vector<Result<Descriptor>> sockets;
    for (int i = 0; i < 6; ++i) sockets.emplace_back(fail(Errc::refused, ""));
    std::vector<std::thread> threads;
    for (auto& socket : sockets)
      threads.emplace_back([&] {
        while (!go) continue;
        socket = listen_unix(path, 0666);
      });
    go = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::ranges::count_if(sockets, [](const auto& socket) { return socket.has_value(); }), 1);
    EXPECT_TRUE(is_served(path));
    EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millrace
