// src/platform/name_service.cpp - see name_service.h.
#include "platform/name_service.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "platform/descriptor.h"

namespace millrace {

namespace {

constexpr std::size_t cache_max = 10'000;  // users of a large site; beyond that the oldest answers go

// The C library's *_r calls want a buffer and do not say how large: it grows until they are content.
template <class Record, class Call>
Result<bool> with_buffer(Record& record, std::string& buffer, const std::string& doing, Call call) {
  buffer.resize(4096);
  for (;;) {
    Record* found = nullptr;
    const int error = call(&record, buffer.data(), buffer.size(), &found);
    if (error == 0) return found != nullptr;
    if (error == EINTR) continue;
    if (error == ERANGE && buffer.size() < (64u << 20)) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    // Some name services say "no such entry" this way.
    if (error == ENOENT || error == ESRCH) return false;
    return fail_errno(Errc::unavailable, doing, error);
  }
}

std::vector<std::uint32_t> groups_of(const std::string& user, gid_t gid) {
  int count = 64;
  std::vector<gid_t> groups;
  do {
    groups.resize(static_cast<std::size_t>(count));
  } while (::getgrouplist(user.c_str(), gid, groups.data(), &count) < 0 && count > static_cast<int>(groups.size()));
  groups.resize(static_cast<std::size_t>(count));
  return {groups.begin(), groups.end()};
}

}  // namespace

Result<UserIdentity> ask_name_service(UserId uid, GroupId gid) {
  const std::string who = "user id " + std::to_string(uid.value);
  passwd user{};
  std::string buffer;
  MR_TRY(const bool known,
         with_buffer(user, buffer, who, [&](passwd* record, char* bytes, std::size_t size, passwd** found) {
           return ::getpwuid_r(uid.value, record, bytes, size, found);
         }));
  if (!known) return fail(Errc::not_found, who + ": no such user on this host");
  if (gid == login_group) gid = GroupId{user.pw_gid};
  UserIdentity identity{uid, gid, user.pw_name, {}, {}};
  const gid_t own_group = user.pw_gid;
  group primary{};
  MR_TRY(const bool named, with_buffer(primary, buffer, "group id " + std::to_string(gid.value),
                                       [&](group* record, char* bytes, std::size_t size, group** found) {
                                         return ::getgrgid_r(gid.value, record, bytes, size, found);
                                       }));
  identity.group_name = named ? primary.gr_name : std::to_string(gid.value);
  identity.groups = groups_of(identity.user_name, gid.value);
  // After newgrp the proved group is another than the login group, of which the user is a member all the same.
  if (std::ranges::find(identity.groups, own_group) == identity.groups.end()) identity.groups.push_back(own_group);
  return identity;
}

CachedIdentities::CachedIdentities(Loop& loop, Worker& worker, Duration keep, Ask ask)
    : loop_(loop), worker_(worker), keep_(keep), ask_(std::move(ask)) {}

void CachedIdentities::find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) {
  const Key key{uid, gid};
  if (const auto it = known_.find(key); it != known_.end()) {
    const Duration age = loop_.steady() - it->second.asked;
    if (Duration{0} <= age && age < keep_) return done(it->second.answer);
  }
  auto& queue = waiting_[key];
  queue.push_back(std::move(done));
  if (queue.size() == 1) ask(key);
}

void CachedIdentities::ask(Key key) {
  struct Question {
    Result<UserIdentity> answer = fail(Errc::unavailable, "not asked");
  };
  auto question = std::make_shared<Question>();
  worker_.run([this, key, question] { question->answer = ask_(key.first, key.second); },
              [this, key, question] { answered(key, std::move(question->answer)); });
}

void CachedIdentities::answered(Key key, Result<UserIdentity> answer) {
  // "Not found" is kept too; a name service that is down is asked again by the next one who wants to know.
  // Numbers that are nobody's, of which there are many, do not push out users.
  if (answer || (answer.error().code == Errc::not_found && known_.size() < cache_max / 2)) {
    if (known_.size() >= cache_max)
      std::erase_if(known_, [&](const auto& entry) { return loop_.steady() - entry.second.asked >= keep_; });
    if (known_.size() >= cache_max)
      known_.erase(std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second.asked; }));
    known_.insert_or_assign(key, Entry{loop_.steady(), answer});
  }
  auto waiting = waiting_.extract(key);
  for (auto& done : waiting.mapped()) done(answer);
}

}  // namespace millrace
