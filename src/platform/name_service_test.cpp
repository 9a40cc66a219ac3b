// src/platform/name_service_test.cpp - users are found, remembered, and asked for once.
#include "platform/name_service.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "platform/loop_fixture.h"
#include "platform/worker.h"

namespace millrace {
namespace {

struct NameServiceTest : LoopTest {
  ThreadWorker worker{loop, "names"};
};

TEST_F(NameServiceTest, Root_is_known_everywhere) {
  const auto root = ask_name_service(UserId{0}, GroupId{0});
  ASSERT_TRUE(root) << root.error().story;
  EXPECT_EQ(root->user_name, "root");
  EXPECT_EQ(root->group_name, "root");
  EXPECT_TRUE(std::ranges::count(root->groups, 0u));
}

TEST_F(NameServiceTest, Unknown_user_is_not_found) {
  const auto nobody = ask_name_service(UserId{3'999'999'999u}, GroupId{0});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::not_found);
}

TEST_F(NameServiceTest, Proved_group_without_a_name_is_kept_by_number) {
  const auto root = ask_name_service(UserId{0}, GroupId{3'999'999'998u});
  ASSERT_TRUE(root);
  EXPECT_EQ(root->group_name, "3999999998");
  EXPECT_TRUE(std::ranges::count(root->groups, 3'999'999'998u));
  EXPECT_TRUE(std::ranges::count(root->groups, 0u));
}

TEST_F(NameServiceTest, Questions_about_one_user_are_asked_once_and_then_remembered) {
  std::atomic<int> asked = 0;
  std::optional<ThreadWorker> own;
  CachedIdentities identities(loop, own.emplace(loop), minutes(5),
                              [&](UserId uid, GroupId gid) -> Result<UserIdentity> {
                                ++asked;
                                return UserIdentity{uid, gid, "someone", "all", {gid.value}};
                              });
  int answers = 0;
  const auto count = [&](Result<UserIdentity> answer) {
    EXPECT_TRUE(answer);
    ++answers;
    loop.stop();
  };
  identities.find(UserId{7}, GroupId{8}, count);
  identities.find(UserId{7}, GroupId{8}, count);
  EXPECT_EQ(answers, 0);
  run_until([&] { return answers == 2; });
  identities.find(UserId{7}, GroupId{8}, count);
  EXPECT_EQ(answers, 3);  // at once
  EXPECT_EQ(asked, 1);
  own.reset();
}

TEST_F(NameServiceTest, Name_service_that_is_down_is_asked_again) {
  std::atomic<int> asked = 0;
  std::optional<ThreadWorker> own;
  CachedIdentities identities(loop, own.emplace(loop), minutes(5), [&](UserId, GroupId) -> Result<UserIdentity> {
    ++asked;
    return fail(Errc::unavailable, "down");
  });
  int answers = 0;
  for (int i = 0; i < 2; ++i) {
    identities.find(UserId{7}, GroupId{8}, [&](Result<UserIdentity> answer) {
      EXPECT_FALSE(answer);
      ++answers;
      loop.stop();
    });
    run_until([&] { return answers == i + 1; });
  }
  EXPECT_EQ(asked, 2);
  own.reset();
}

}  // namespace
}  // namespace millrace
