// src/controller/requests/askers.h - who asks: the rights that sacctmgr gives to the name of a user, and names that are
// looked up without keeping anybody waiting.
//
// Rights by sacctmgr are those of a name, and names come from a service that may be slow or away. So a request of
// somebody whose name is not known (or known for long) waits for it, but only where anybody has such rights at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "controller/loop/context.h"
#include "controller/requests/asker_names.h"
#include "controller/requests/fair_turns.h"
#include "core/admission/refusal.h"

namespace millrace {

class Askers final {
 public:
  // Whom a name service kept waiting takes his turn among `turns` when it answers, if he is still there.
  Askers(const Context& context, FairTurns& turns) : c_(context), turns_(turns) {}

  bool knows(const Asker& asker);             // what rights it has
  void learn(const Asker& asker, Task then);  // later, as far as somebody answers
  // By sacctmgr; the name is that of the asker, where it was looked up.
  Actor actor_of(const Asker& asker, bool operators_too) const;
  void look_up(const Asker& asker, UserId uid, GroupId gid,
               std::move_only_function<void(const Result<UserIdentity>&)> then);
  // A compute node may name whom it likes. Those it names do not keep others waiting for the name service.
  // False: too many of them are being looked up.
  bool name(const Asker& asker, std::move_only_function<void(const UserIdentity&)> then);
  void doubt_all() { names_.doubt_all(); }

 private:
  bool has_offices();  // somebody has rights by sacctmgr

  const Context& c_;
  FairTurns& turns_;
  AskerNames names_;                                       // looked up since somebody has rights by sacctmgr
  std::size_t plain_lookups_ = 0;                          // names that are asked for on the word of compute nodes
  std::optional<std::pair<std::uint64_t, bool>> offices_;  // by version of the accounts
};

}  // namespace millrace
