// tests/fuzz/driver.cpp - the short run, with any compiler: the corpus again, then inputs made from it by a fixed seed.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/prng.h"
#include "target.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MR_FUZZ_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define MR_FUZZ_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MR_FUZZ_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define MR_FUZZ_TSAN 1
#endif
#ifdef MR_FUZZ_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace millrace::fuzz {
namespace {

struct Limits {
  std::size_t length = 4096;
  unsigned seconds = 5;             // for one input
  std::uint64_t memory_mib = 1024;  // of the process
  std::uint64_t mutations = 2000;
  unsigned total_seconds = 4;  // mutations end then; the corpus is always run whole
};

// What runs now, for whoever finds the process dying.
std::string_view current_name, current_input;
char finding_path[512];

void keep_input(const char* why) {
  FILE* file = std::fopen(finding_path, "wb");
  if (file != nullptr) {
    std::fwrite(current_input.data(), 1, current_input.size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "fuzz %.*s: %s; the input of %zu bytes is in %s\n", static_cast<int>(current_name.size()),
               current_name.data(), why, current_input.size(), finding_path);
}

void died() { keep_input("a sanitizer ended it"); }
void on_signal(int number) {
  keep_input(number == SIGPROF ? "an input took too long" : "it crashed");
  signal(number == SIGPROF ? SIGABRT : number, SIG_DFL);
  raise(number == SIGPROF ? SIGABRT : number);
}

void set_traps(const Limits& limits) {
  for (const int number : {SIGPROF, SIGABRT}) signal(number, on_signal);
#ifdef MR_FUZZ_ASAN
  __sanitizer_set_death_callback(died);
#else
  static_cast<void>(died);
#ifndef MR_FUZZ_TSAN  // which reserves more addresses than any limit
  const rlimit memory{limits.memory_mib << 20, limits.memory_mib << 20};
  setrlimit(RLIMIT_AS, &memory);
#endif
  signal(SIGSEGV, on_signal);
#endif
  static_cast<void>(limits);
}

// Of the processor: others on the machine must not make an input fail.
void limit_time(unsigned seconds) {
  const itimerval timer{{}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void run_one(const Target& target, std::string_view input, const Limits& limits) {
  const std::string exact{input};  // of its own, so that a step beyond its end is noticed
  current_input = exact;
  limit_time(limits.seconds);
  target.run(exact);
  limit_time(0);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (static_cast<std::uint64_t>(usage.ru_maxrss) >> 10 > limits.memory_mib) {
    keep_input("it took more memory than its limit");
    std::_Exit(1);
  }
}

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<std::string> read_corpus(std::span<char*> paths) {
  std::vector<std::filesystem::path> files;
  for (const char* path : paths) {
    if (std::filesystem::is_directory(path))
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
        if (entry.is_regular_file()) files.push_back(entry.path());
    if (std::filesystem::is_regular_file(path)) files.emplace_back(path);
  }
  std::ranges::sort(files);
  std::vector<std::string> out;
  for (const auto& file : files) out.push_back(slurp(file));
  return out;
}

constexpr std::string_view words[] = {"4294967295", "18446744073709551616",
                                      "-1",         "0",
                                      "[1]",        "[",
                                      "(",          ")",
                                      ",",          "-",
                                      ":",          "%",
                                      "=",          "\n",
                                      " ",          "#",
                                      "&",          "\"",
                                      "\\",         "*"};

std::string mutate_bytes(const std::vector<std::string>& corpus, Prng& random, std::size_t length_max) {
  std::string out = corpus[random.below(corpus.size())];
  for (std::uint64_t rounds = 1 + random.below(5); rounds > 0; --rounds) {
    const std::size_t at = random.below(out.size() + 1);
    const std::size_t count = out.size() == at ? 0 : 1 + random.below(std::min<std::size_t>(out.size() - at, 64));
    switch (random.below(7)) {
      case 0:
        if (at < out.size()) out[at] = static_cast<char>(random.next());
        break;
      case 1:
        out.insert(at, words[random.below(std::size(words))]);
        break;
      case 2:
        out.erase(at, count);
        break;
      case 3: {  // again and again: what is not linear shows itself
        const std::string piece = out.substr(at, count);
        std::uint64_t times = random.chance(1, 20) ? length_max : 1 + random.below(8);
        for (; times > 0 && out.size() < length_max && !piece.empty(); --times) out.insert(at, piece);
        break;
      }
      case 4: {
        const std::string& other = corpus[random.below(corpus.size())];
        out.insert(at, other.substr(random.below(other.size() + 1)));
        break;
      }
      case 5:
        out.replace(at, count, words[random.below(std::size(words))]);
        break;
      default:
        out.resize(at);
    }
  }
  if (out.size() > length_max) out.resize(length_max);
  return out;
}

int run_short(const Target& target, const Limits& limits, std::span<char*> paths) {
  current_name = target.name;
  std::snprintf(finding_path, sizeof finding_path, "finding-%s", std::string{target.name}.c_str());
  set_traps(limits);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> corpus = read_corpus(paths);
  for (std::string& seed : made_seeds(target.name)) corpus.push_back(std::move(seed));
  run_one(target, {}, limits);
  for (const std::string& input : corpus) run_one(target, input, limits);
  if (corpus.empty()) corpus.emplace_back();
  std::uint64_t made = 0;
  for (; made < limits.mutations; ++made) {
    Prng random(made);
    std::string input;
    if (target.binary && made % 2 == 0) input = mutate_message(corpus[random.below(corpus.size())], made);
    if (input.empty()) input = mutate_bytes(corpus, random, limits.length);
    run_one(target, std::string_view{input}.substr(0, limits.length), limits);
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(limits.total_seconds)) break;
  }
  std::printf("fuzz %s: %zu inputs of the corpus, %llu made from them\n", std::string{target.name}.c_str(),
              corpus.size(), static_cast<unsigned long long>(made));
  return 0;
}

}  // namespace
}  // namespace millrace::fuzz

int main(int argc, char** argv) {
  using namespace millrace::fuzz;
  const Target* target = chosen(argc > 1 ? argv[1] : nullptr);
  if (target == nullptr) return 2;
  Limits limits;
  int at = 2;
  for (; at < argc && std::strncmp(argv[at], "--", 2) == 0; ++at) {
    const std::string_view word = argv[at];
    const auto value = [&](std::string_view name) { return word.starts_with(name) ? argv[at] + name.size() : nullptr; };
    if (const char* length = value("--length=")) limits.length = std::strtoull(length, nullptr, 10);
    if (const char* seconds = value("--seconds=")) limits.seconds = static_cast<unsigned>(std::atoi(seconds));
    if (const char* memory = value("--memory=")) limits.memory_mib = std::strtoull(memory, nullptr, 10);
    if (const char* mutations = value("--mutations=")) limits.mutations = std::strtoull(mutations, nullptr, 10);
  }
  return run_short(*target, limits, std::span(argv + at, static_cast<std::size_t>(argc - at)));
}
