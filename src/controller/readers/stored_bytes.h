// src/controller/readers/stored_bytes.h - how much of the controller's memory the arguments, lists and texts of each
// user's jobs take.
//
// The number of jobs is bounded, and so is the size of each; their product is more than a machine has. Of each part of
// a job's specification the first `ordinary_bytes` are not counted. Beyond that all jobs of a user, as long as they are
// known, have `of_user_max`, and all users together `of_all_max`. A part that tasks of an array share counts once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "controller/readers/reader.h"

namespace millrace {

class StoredBytes final : public Reader {
 public:
  static constexpr std::size_t ordinary_bytes = 4u << 10, of_user_max = 64u << 20, of_all_max = 1u << 30;

  void recovered(const State& state) override;
  void advanced(const Advance& step) override;

  // So much more than is ordinary.
  static std::size_t beyond_ordinary(std::size_t bytes) { return bytes > ordinary_bytes ? bytes - ordinary_bytes : 0; }
  static std::size_t beyond_ordinary(const JobSpec& spec);
  // In words why so much more of this user is too much; nothing: it is not.
  std::optional<std::string> refusal(UserId user, std::size_t more) const;

 private:
  struct Stored {
    UserId user;
    std::size_t bytes = 0;
    std::size_t holders = 0;
  };
  void hold(const JobSpec& spec);
  void release(const JobSpec& spec);

  std::map<const void*, Stored> large_;  // parts that the durable state holds
  std::map<UserId, std::size_t> of_user_;
  std::size_t all_ = 0;
};

}  // namespace millrace
