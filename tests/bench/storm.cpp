// tests/bench/storm.cpp - clients that list all jobs in a loop, and what they get thrown away: a storm of squeue as the
// controller sees it, whose clients have machines of their own. Runs until it is told to end, then says how many
// answers came.
//   bench_storm --socket PATH --clients N
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "client.pb.h"
#include "wire/frame.h"

namespace {

using namespace millrace;

volatile sig_atomic_t over = 0;

struct Client {
  int fd = -1;
  FrameReader reader{reply_size_max};
};

// As a client that is started anew for every question does.
bool ask(Client& client, const std::string& path, const std::string& question) {
  if (client.fd >= 0) ::close(client.fd);
  client.reader = FrameReader{reply_size_max};
  client.fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(client.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  return ::send(client.fd, question.data(), question.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(question.size());
}

// The number of the request, then `more`, then the rows, which need not be read.
bool is_last(std::string_view message) { return message.substr(0, 4) != std::string_view{"\x08\x01\x10\x01", 4}; }

// False: the connection is of no use any more. `answered`: that was the whole answer.
bool read_some(Client& client, bool& answered) {
  static char buffer[1 << 18];
  const ssize_t count = ::recv(client.fd, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  client.reader.feed({buffer, static_cast<std::size_t>(count)});
  for (;;) {
    const auto message = client.reader.next();
    if (!message) return false;
    if (!*message) return true;
    if (is_last(**message)) answered = true;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  std::size_t count = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--socket") == 0) path = argv[i + 1];
    if (std::strcmp(argv[i], "--clients") == 0) count = std::strtoul(argv[i + 1], nullptr, 10);
  }
  if (path.empty() || count == 0) return std::fputs("bench_storm --socket PATH --clients N\n", stderr), 2;
  struct sigaction end{};
  end.sa_handler = [](int) { over = 1; };
  ::sigaction(SIGTERM, &end, nullptr);
  wire::Request request;
  request.set_protocol(protocol_version);
  request.set_number(1);
  request.mutable_query_jobs()->set_brief(true);
  const std::string question = frame(request.SerializeAsString());
  std::vector<Client> clients(count);
  std::uint64_t answers = 0;
  for (Client& client : clients)
    if (!ask(client, path, question)) return std::perror("bench_storm"), 1;
  while (over == 0) {
    std::vector<pollfd> watched;
    for (const Client& client : clients) watched.push_back({client.fd, POLLIN, 0});
    if (::poll(watched.data(), watched.size(), 1000) <= 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (watched[i].revents == 0) continue;
      bool answered = false;
      if (!read_some(clients[i], answered)) return std::fputs("bench_storm: an answer broke off\n", stderr), 1;
      if (!answered) continue;
      ++answers;
      if (answers == 1) std::puts("answered"), std::fflush(stdout);
      if (!ask(clients[i], path, question)) return std::perror("bench_storm"), 1;
    }
  }
  std::printf("{\"answers\": %llu}\n", static_cast<unsigned long long>(answers));
  return 0;
}
