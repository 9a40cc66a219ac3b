// src/controller/loop/departed_users.cpp - see departed_users.h.
#include "controller/loop/departed_users.h"

#include <memory>
#include <utility>

namespace millrace {
namespace {

constexpr Duration patience = seconds(5);  // then the job starts as the user it was submitted by

}  // namespace

void DepartedUsers::check(UserId uid, GroupId gid, std::move_only_function<void(bool departed)> done) {
  struct Question {
    std::move_only_function<void(bool)> done;
    Loop::TimerId timer = 0;
  };
  auto question = std::make_shared<Question>(std::move(done));
  const auto answer = [question](bool departed) {
    if (auto once = std::exchange(question->done, nullptr)) once(departed);
  };
  identities_.find(uid, gid, [&loop = loop_, question, answer](const Result<UserIdentity>& found) {
    if (question->timer != 0) loop.cancel(question->timer);
    answer(!found && found.error().code == Errc::not_found);
  });
  if (question->done) question->timer = loop_.after(patience, [answer] { answer(false); });
}

}  // namespace millrace
