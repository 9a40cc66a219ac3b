// src/controller/loop/departed_users.h - does a job's user still exist when it starts? A name service that is slow to
// say delays nothing for long.
#pragma once

#include <functional>

#include "ports/identity.h"
#include "ports/loop.h"

namespace millrace {

class DepartedUsers {
 public:
  DepartedUsers(Loop& loop, Identities& identities) : loop_(loop), identities_(identities) {}
  // Once, at once when it is known: true only where the name service says that there is no such user.
  void check(UserId uid, GroupId gid, std::move_only_function<void(bool departed)> done);

 private:
  Loop& loop_;
  Identities& identities_;
};

}  // namespace millrace
