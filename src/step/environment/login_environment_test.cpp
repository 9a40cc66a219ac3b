// src/step/environment/login_environment_test.cpp - what a login has goes under what the job has.
#include "step/environment/login_environment.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LoginEnvironment, Goes_under_the_variables_of_the_job) {
  Environment environment;
  environment.set("A", "job");
  constexpr char printed[] = "A=login\0B=two\nlines\0_=x\0SHLVL=1\0not a name=1\0EMPTY=\0";
  add_login_variables({printed, sizeof printed - 1}, environment);
  EXPECT_EQ(environment.get("A"), "job");
  EXPECT_EQ(environment.get("B"), "two\nlines");
  EXPECT_EQ(environment.get("SHLVL"), "");
  EXPECT_EQ(environment.entries().size(), 3u);
}

TEST(LoginEnvironment, Is_asked_of_the_users_shell) {
  Environment environment;
  ASSERT_TRUE(load_login_environment("L20", environment));
  EXPECT_NE(environment.get("HOME"), "");
  EXPECT_NE(environment.get("PATH"), "");
  EXPECT_EQ(environment.get("PWD"), "") << "of the shell that was asked";
}

}  // namespace
}  // namespace millrace
