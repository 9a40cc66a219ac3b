// tests/unit_main.cpp - main() of the unit tests: a test that hangs ends its program, with its name.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/patience_fixture.h"

namespace millrace {
namespace {

std::string hangs;  // what to say of the test that runs now; made before it, because a signal handler makes nothing

void say_and_abort(int) {
  [[maybe_unused]] const auto said = write(STDERR_FILENO, hangs.data(), hangs.size());
  std::abort();
}

// Twice what a single wait may take, so that a wait can say itself what did not happen.
class TestLimits final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    hangs = std::string("[  FAILED  ] ") + test.test_suite_name() + "." + test.name() + ": it hangs\n";
    alarm(static_cast<unsigned>(2 * patience_ms() / 1'000));
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

}  // namespace
}  // namespace millrace

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  signal(SIGALRM, millrace::say_and_abort);
  testing::UnitTest::GetInstance()->listeners().Append(new millrace::TestLimits);
  return RUN_ALL_TESTS();
}
