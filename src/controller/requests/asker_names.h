// src/controller/requests/asker_names.h - names of those who asked lately, whose rights by sacctmgr are those of the
// name. They age: a number may be given to somebody else, who is not to have the rights of the one before.
#pragma once

#include <map>
#include <string>

#include "base/quantity.h"

namespace millrace {

class AskerNames {
 public:
  // To be looked up (again) before the request is carried out. Times are of the clock that nobody sets.
  bool wants(UserId uid, Time steady) const;
  void learn(UserId uid, std::string name, Time steady);
  void forget(UserId uid) { known_.erase(uid); }
  // Nobody answered: what was known of it, or that it is nobody in particular, is good for a minute more.
  void postpone(UserId uid, Time steady);
  // All are looked up again; until somebody answers they are who they were.
  void doubt_all();
  // However old it is: whoever asks now has been looked up for it, as far as somebody answered. Null: not known.
  const std::string* find(UserId uid) const;
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::string name;
    Time since;
  };
  std::map<UserId, Known> known_;
};

}  // namespace millrace
