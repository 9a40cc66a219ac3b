// src/step/launch/task_prolog_test.cpp - what the output of a task prolog does.
#include "step/launch/task_prolog.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(TaskProlog, Lines_change_the_environment_and_speak) {
  Environment environment;
  environment.set("GONE", "x");
  environment.set("GONE_TOO", "y");
  EXPECT_EQ(
      obey_prolog_output(
          "export A=1 2\n  export  B = two\nunset GONE\nprint hello  there\nexport =x\nnoise\nprint last", environment),
      "hello  there\nlast\n");
  EXPECT_EQ(environment.get("A"), "1 2");
  EXPECT_EQ(environment.get("B"), "two");
  EXPECT_EQ(environment.get("GONE"), "");
  EXPECT_EQ(environment.get("GONE_TOO"), "y");
}

}  // namespace
}  // namespace millrace
