// tests/bench/calibrate.cpp - how fast is this machine right now? A fixed loop on one core and on two, and synced 4 kB
// writes, so that numbers from different machines, or from a machine that others use too, can be compared.
//   calibrate DIRECTORY
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// xorshift: every step needs the one before, so nothing can be left out or done at once.
std::uint64_t spin(std::uint64_t steps) {
  std::uint64_t x = 88172645463325252u;
  for (std::uint64_t i = 0; i < steps; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

constexpr std::uint64_t steps = 300'000'000;
constexpr int syncs = 400;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: calibrate DIRECTORY\n", stderr), 2;
  volatile std::uint64_t sink = 0;
  auto begin = Clock::now();
  sink = spin(steps);
  const double one = seconds_since(begin);
  begin = Clock::now();
  {
    std::jthread other([] {
      volatile std::uint64_t own = spin(steps);
      static_cast<void>(own);
    });
    sink = spin(steps);
  }
  const double two = seconds_since(begin);
  static_cast<void>(sink);

  const std::string path = std::string{argv[1]} + "/calibrate.data";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || fallocate(fd, 0, 0, 4096L * syncs) != 0) return std::perror(path.c_str()), 1;
  const std::string block(4096, 'x');
  begin = Clock::now();
  for (int i = 0; i < syncs; ++i)
    if (pwrite(fd, block.data(), block.size(), 4096L * i) != 4096 || fdatasync(fd) != 0)
      return std::perror("fdatasync"), 1;
  const double synced = seconds_since(begin);
  close(fd);
  unlink(path.c_str());
  std::printf(
      "{\"loop_one_core_s\": %.3f, \"loop_two_cores_s\": %.3f, \"fdatasync_per_second\": %.0f, \"fdatasync_us\": "
      "%.0f}\n",
      one, two, syncs / synced, synced / syncs * 1e6);
}
