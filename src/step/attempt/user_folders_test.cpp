// src/step/attempt/user_folders_test.cpp - folders that root makes for a user: whatever the user has put in their
// place, root neither waits for it nor gives it away.
#include "step/attempt/spool.h"
#include "step/attempt/supervisor_harness.h"

namespace millrace {
namespace {

// What --x11 and --container make for a user: only where there is nothing yet.
class FolderTest : public SupervisorTest {
 protected:
  Result<std::string> make() {
    const std::string before = std::filesystem::current_path();
    const auto spool = AttemptSpool::enter(spool_);
    auto made = spool->make_folder("x11", order_.identity().uid(), order_.identity().gid(), {"Xauthority", "cookie"});
    std::filesystem::current_path(before);
    return made;
  }
  uid_t owner_of(const std::string& path) {
    struct stat facts{};
    EXPECT_EQ(lstat(path.c_str(), &facts), 0) << path;
    return facts.st_uid;
  }
};

TEST_F(FolderTest, Is_the_users_with_what_we_put_into_it) {
  ASSERT_TRUE(make());
  EXPECT_EQ(read_text(spool_ + "/x11/Xauthority"), "cookie");
  EXPECT_EQ(owner_of(spool_ + "/x11"), order_.identity().uid());
  EXPECT_EQ(owner_of(spool_ + "/x11/Xauthority"), order_.identity().uid());
}

TEST_F(FolderTest, With_a_pipe_in_its_place_hangs_nobody) {
  mkdir((spool_ + "/x11").c_str(), 0777);
  mkfifo((spool_ + "/x11/Xauthority").c_str(), 0666);
  EXPECT_FALSE(make());
}

TEST_F(FolderTest, With_a_hard_link_in_its_place_gives_nothing_away) {
  std::ofstream(root_ + "/foreign") << "words";
  mkdir((spool_ + "/x11").c_str(), 0777);
  ASSERT_EQ(link((root_ + "/foreign").c_str(), (spool_ + "/x11/Xauthority").c_str()), 0);
  EXPECT_FALSE(make());
  EXPECT_EQ(owner_of(root_ + "/foreign"), geteuid());
  EXPECT_EQ(read_text(root_ + "/foreign"), "words");
}

TEST_F(FolderTest, With_a_symbolic_link_in_its_place_gives_nothing_away) {
  mkdir((root_ + "/foreign").c_str(), 0755);
  ASSERT_EQ(symlink((root_ + "/foreign").c_str(), (spool_ + "/x11").c_str()), 0);
  EXPECT_FALSE(make());
  EXPECT_EQ(owner_of(root_ + "/foreign"), geteuid());
  EXPECT_FALSE(std::filesystem::exists(root_ + "/foreign/Xauthority"));
}

}  // namespace
}  // namespace millrace
