// src/platform/name_service.h - users and groups of this host, asked on a worker and remembered for some minutes.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ports/identity.h"
#include "ports/loop.h"

namespace millrace {

// Blocks, possibly for minutes. Not found is an answer; anything else that goes wrong is `unavailable`.
Result<UserIdentity> ask_name_service(UserId uid, GroupId gid);

// Owned by the loop; must outlive the worker's queue. Give it a worker of its own, so that a hanging name service holds
// up nobody else. Several questions about the same user are asked once.
class CachedIdentities final : public Identities {
 public:
  using Ask = std::move_only_function<Result<UserIdentity>(UserId, GroupId) const>;
  CachedIdentities(Loop& loop, Worker& worker, Duration keep = minutes(5), Ask ask = ask_name_service);

  void find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) override;

 private:
  using Key = std::pair<UserId, GroupId>;
  struct Entry {
    Time asked;
    Result<UserIdentity> answer;
  };
  void ask(Key key);
  void answered(Key key, Result<UserIdentity> answer);

  Loop& loop_;
  Worker& worker_;
  const Duration keep_;
  const Ask ask_;
  std::map<Key, Entry> known_;
  std::map<Key, std::vector<std::move_only_function<void(Result<UserIdentity>)>>> waiting_;
};

}  // namespace millrace
