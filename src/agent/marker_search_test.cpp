// src/agent/marker_search_test.cpp - environments as long as their owners like, and no sweep reads them all.
#include "agent/marker_search.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace millrace {
namespace {

using namespace std::string_literals;

constexpr std::size_t endless = std::size_t{1} << 40;

// Zeros up to `size`, with a text at some place.
class Environ {
 public:
  Environ(std::size_t size, std::size_t at, const std::string& text) : fd_(memfd_create("environ", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size)), 0);
    EXPECT_EQ(pwrite(fd_, text.data(), text.size(), static_cast<off_t>(at)), static_cast<ssize_t>(text.size()));
  }
  Environ(const Environ&) = delete;
  Environ& operator=(const Environ&) = delete;
  ~Environ() { close(fd_); }
  int fd() const { return fd_; }
  std::size_t read_so_far() const { return static_cast<std::size_t>(lseek(fd_, 0, SEEK_CUR)); }

 private:
  int fd_;
};

bool is_7(std::string_view folder) { return folder == "/spool/7.0"; }

TEST(MarkerSearch, Variable_is_found_wherever_an_honest_process_has_it) {
  const std::string variable = "A=1\0MILLRACE_ATTEMPT=/spool/7.0"s;
  MarkerSearch search;
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{16380}, MarkerSearch::bytes_of_process_max - variable.size() - 1}) {
    Environ environ(at + variable.size(), at, variable);
    EXPECT_TRUE(search.names_one(environ.fd(), 1, is_7)) << at;
    Environ other(at + variable.size(), at, "A=1\0MILLRACE_ATTEMPT=/spool/7.1"s);
    EXPECT_FALSE(search.names_one(other.fd(), 1, is_7)) << at;
    Environ within(at + variable.size(), at, "A=1\0XILLRACE_ATTEMPT=/spool/7.0"s);
    EXPECT_FALSE(search.names_one(within.fd(), 1, is_7)) << at;
  }
  EXPECT_EQ(search.cut_short(), 0u);
}

TEST(MarkerSearch, Environment_without_end_is_read_as_far_as_an_honest_one_goes) {
  Environ environ(endless, MarkerSearch::bytes_of_process_max, "MILLRACE_ATTEMPT=/spool/7.0");
  MarkerSearch search;
  EXPECT_FALSE(search.names_one(environ.fd(), 1, is_7));
  EXPECT_LE(environ.read_so_far(), MarkerSearch::bytes_of_process_max + 1);
  EXPECT_EQ(search.cut_short(), 1u);
}

TEST(MarkerSearch, Nothing_is_read_behind_what_was_found) {
  Environ environ(endless, 100, "MILLRACE_ATTEMPT=/spool/7.0"s);
  MarkerSearch search;
  EXPECT_TRUE(search.names_one(environ.fd(), 1, is_7));
  EXPECT_LE(environ.read_so_far(), 64u << 10);
}

TEST(MarkerSearch, Who_has_used_up_a_sweep_hides_nobody_elses_processes) {
  MarkerSearch search;
  std::size_t read = 0;
  for (int i = 0; i < 40; ++i) {
    Environ environ(endless, endless - 100, "X=1");
    EXPECT_FALSE(search.names_one(environ.fd(), 1, is_7));
    read += environ.read_so_far();
  }
  EXPECT_LE(read, MarkerSearch::bytes_of_user_max + 40 * (MarkerSearch::bytes_at_least + 1));
  EXPECT_EQ(search.cut_short(), 40u);
  const std::string variable = "MILLRACE_ATTEMPT=/spool/7.0";
  Environ short_one(4000, 3000, variable);
  EXPECT_TRUE(search.names_one(short_one.fd(), 1, is_7)) << "the same user's, of usual length";
  Environ long_one(1u << 20, 1'000'000, variable);
  EXPECT_TRUE(search.names_one(long_one.fd(), 2, is_7)) << "another user's";
}

TEST(MarkerSearch, Variables_of_the_name_without_end_are_not_all_judged) {
  std::string heap;
  for (int i = 0; i < 1000; ++i) heap += "MILLRACE_ATTEMPT=/spool/8.0"s + '\0';
  Environ environ(heap.size(), 0, heap);
  MarkerSearch search;
  int judged = 0;
  EXPECT_FALSE(search.names_one(environ.fd(), 1, [&](std::string_view) { return ++judged < 0; }));
  EXPECT_EQ(judged, MarkerSearch::variables_max);
}

TEST(MarkerSearch, Small_files_have_small_caps) {
  Environ file(endless, 0, "123 (a) S 1");
  EXPECT_EQ(read_at_most(file.fd(), 4096).size(), 4096u);
}

}  // namespace
}  // namespace millrace
