// src/ports/identity.h - users and groups as the host's name service knows them; asking may take minutes, so never on a
// loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace millrace {

struct UserIdentity {
  UserId uid;
  GroupId gid;
  std::string user_name;
  std::string group_name;
  std::vector<std::uint32_t> groups;  // all of them, the primary one included
};

constexpr GroupId login_group{UINT32_MAX};  // instead of a proved one: that which the user has at a login

class Identities {
 public:
  virtual ~Identities() = default;
  // Answers on the loop, at once when the answer is cached. `gid` is the one the kernel proved for the asking process.
  virtual void find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) = 0;
};

}  // namespace millrace
