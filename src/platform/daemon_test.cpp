// src/platform/daemon_test.cpp - what a daemon refuses before it begins.
#include "platform/daemon.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "platform/loop_fixture.h"

namespace millrace {
namespace {

TEST(Daemon, A_state_directory_that_others_may_write_to_is_refused) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/state";
  ASSERT_TRUE(make_private_directory(path));
  struct stat entry{};
  ASSERT_EQ(::stat(path.c_str(), &entry), 0);
  EXPECT_EQ(entry.st_mode & 0777, 0700u);
  for (const mode_t mode : {0755, 0750}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(make_private_directory(path)) << mode;
  }
  for (const mode_t mode : {0777, 01777, 0770, 0702}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto made = make_private_directory(path);
    ASSERT_FALSE(made) << mode;
    EXPECT_NE(made.error().story.find("chmod go-w"), std::string::npos) << made.error().story;
  }
}

TEST(Daemon, A_state_directory_of_another_user_is_refused_and_one_of_root_is_not) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/state";
  ASSERT_TRUE(make_private_directory(path));
  // Only root can make one that is somebody else's; for others it is they who are somebody else.
  const bool root = ::geteuid() == 0;
  const unsigned user = root ? 0 : ::geteuid() + 1;
  if (root) {
    EXPECT_TRUE(make_private_directory(path, 54321));
    ASSERT_EQ(::chown(path.c_str(), 54321, 0), 0);
    EXPECT_TRUE(make_private_directory(path, 54321));
  }
  const auto made = make_private_directory(path, user);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().story.find("who could put other files there"), std::string::npos) << made.error().story;
  EXPECT_NE(made.error().story.find("chown -R "), std::string::npos) << made.error().story;
}

TEST(Daemon, Inherited_descriptors_are_closed_and_standard_ones_are_not) {
  const pid_t child = fork();
  if (child == 0) {
    const int left = open("/dev/null", O_RDONLY);
    close_inherited_descriptors();
    _exit(fcntl(left, F_GETFD) == -1 && fcntl(2, F_GETFD) != -1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Daemon, A_pid_file_is_removed_only_by_the_process_it_names) {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/daemon.pid";
  {
    PidFile file;
    ASSERT_TRUE(file.write(path));
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  {
    PidFile file;
    ASSERT_TRUE(file.write(path));
    std::ofstream{path} << "1\n";  // another daemon, meanwhile
  }
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace millrace
