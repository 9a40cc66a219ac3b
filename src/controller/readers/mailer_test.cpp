// src/controller/readers/mailer_test.cpp - mail goes out a few at a time, and what is too much is dropped and said.
#include "controller/readers/mailer.h"

#include <gtest/gtest.h>

#include <map>

namespace millrace {
namespace {

class HeldPrograms final : public Programs {
 public:
  std::vector<std::string> find(const std::string& pattern) override { return {pattern}; }
  Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) override {
    runs.push_back(std::move(what));
    ends[runs.size()] = std::move(ended);
    return runs.size();
  }
  void kill(Id) override {}
  void end_first(ProgramEnd how = {}) {
    auto ended = std::move(ends.begin()->second);
    ends.erase(ends.begin());
    ended(how);
  }
  std::vector<ProgramRun> runs;
  std::map<Id, std::move_only_function<void(const ProgramEnd&)>> ends;
};

OutgoingMail mail(int number) { return {"/bin/mail", "anna", "subject " + std::to_string(number), {"A=1"}}; }

TEST(Mailer, Calls_the_program_as_mail_is_called) {
  HeldPrograms programs;
  Mailer mailer(&programs, [](const std::string&) {});
  mailer.send(mail(1));
  ASSERT_EQ(programs.runs.size(), 1u);
  EXPECT_EQ(programs.runs[0].program, "/bin/mail");
  EXPECT_EQ(programs.runs[0].arguments, (std::vector<std::string>{"-s", "subject 1", "anna"}));
  EXPECT_EQ(programs.runs[0].environment, std::vector<std::string>{"A=1"});
  EXPECT_GT(programs.runs[0].limit, Duration{0});
}

TEST(Mailer, Runs_a_few_at_a_time_and_drops_what_is_too_much) {
  HeldPrograms programs;
  std::vector<std::string> said;
  Mailer mailer(&programs, [&](const std::string& text) { said.push_back(text); });
  for (int i = 0; i < static_cast<int>(Mailer::waiting_max + Mailer::at_a_time) + 20; ++i) mailer.send(mail(i));
  EXPECT_EQ(programs.runs.size(), Mailer::at_a_time);
  EXPECT_EQ(said.size(), 1u) << "once, not for each of them";
  while (!programs.ends.empty()) programs.end_first();
  EXPECT_EQ(programs.runs.size(), Mailer::waiting_max + Mailer::at_a_time);
}

TEST(Mailer, A_program_that_fails_is_said_and_the_next_mail_goes_out) {
  HeldPrograms programs;
  std::vector<std::string> said;
  Mailer mailer(&programs, [&](const std::string& text) { said.push_back(text); });
  for (int i = 0; i < 6; ++i) mailer.send(mail(i));
  programs.end_first({.exit_code = 1, .words = "no route"});
  EXPECT_EQ(said, std::vector<std::string>{"mail to anna: /bin/mail exited with 1: no route"});
  EXPECT_EQ(programs.runs.size(), 5u);
  Mailer nobody(nullptr, [](const std::string&) {});
  nobody.send(mail(1));
}

}  // namespace
}  // namespace millrace
