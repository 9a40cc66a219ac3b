// src/agent/accelerator_watch_test.cpp - a process that looks at accelerators may hang, die or talk nonsense.
#include "agent/accelerator_watch.h"

#include <gtest/gtest.h>

#include "base/patience_fixture.h"
#include "platform/event_loop.h"

namespace millrace {
namespace {

struct NoReadiness final : Readiness {
  std::unique_ptr<Watch> watch(int, Task, Task) override { return nullptr; }
};

struct AcceleratorWatchTest : testing::Test {
  EventLoop loop;
  NoReadiness readiness;
  std::string said;
  int seen = 0;
  bool look(const char* script, int limit_ms) {
    AcceleratorWatch watch(loop, readiness,
                           {"/bin/sh",
                            {"-c", script},
                            [this](std::string_view text) { said = text; },
                            [this](const wire::AcceleratorReport&) { ++seen; }});
    return watch.first_look(limit_ms);
  }
};

TEST_F(AcceleratorWatchTest, One_that_hangs_is_not_waited_for_for_ever) {
  EXPECT_FALSE(look("exec sleep 1000", 50));
  EXPECT_EQ(said, "accelerators are not watched for a while: the first look has not ended");
}

TEST_F(AcceleratorWatchTest, One_that_dies_is_noticed) {
  EXPECT_FALSE(look("exit 1", patience_ms()));
  EXPECT_EQ(said, "accelerators are not watched for a while: the process that looks at them ended");
}

TEST_F(AcceleratorWatchTest, Nonsense_is_not_believed) {
  EXPECT_FALSE(look("echo 0123456789abcdef; exec sleep 1000", patience_ms()));
  EXPECT_EQ(seen, 0);
}

TEST_F(AcceleratorWatchTest, A_report_is_seen) {
  EXPECT_TRUE(look("printf 'MR\\001\\000\\000\\000\\000\\000'; exec sleep 1000", patience_ms()));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace millrace
