// tests/fuzz/libfuzzer.cpp - the long run: libFuzzer drives the target that MR_FUZZ_TARGET names.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "target.h"

namespace {
const millrace::fuzz::Target* target = nullptr;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

// By the environment and not by an argument: libFuzzer starts itself again to minimise and to merge.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  target = millrace::fuzz::chosen(std::getenv("MR_FUZZ_TARGET"));
  if (target == nullptr) std::exit(2);
  if (const char* folder = std::getenv("MR_FUZZ_SEEDS")) {  // only writes what the target makes itself
    int number = 0;
    for (const std::string& seed : millrace::fuzz::made_seeds(target->name))
      std::ofstream(std::string{folder} + "/made-" + std::to_string(number++), std::ios::binary) << seed;
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max,
                                               unsigned seed) {
  if (target->binary && seed % 3 != 0) {
    const std::string changed = millrace::fuzz::mutate_message({reinterpret_cast<char*>(data), size}, seed);
    if (!changed.empty() && changed.size() <= size_max) {
      std::memcpy(data, changed.data(), changed.size());
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, size_max);
}
