// src/controller/requests/rights.h - who may ask what: by kind of request, as the table of requests says, and by field
// that names somebody else.
//
// Ranks, each with the rights of those before it: a user; an operator and an administrator, who are made such by
// sacctmgr; root and SlurmUser. Coordinators are users who may change the jobs of their accounts.
//
// Only root and SlurmUser act as somebody else. Whatever runs or speaks as a user (a job, a step, an entry of a
// crontab, what is typed into a task, the file a job writes its output to, a token that proves an identity) is asked
// for by that user or by them: an operator who could do it would be root on every node. All of it is decided here, in
// the controller, whatever a client has checked.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "client.pb.h"
#include "core/admission/refusal.h"

namespace millrace {

enum class Rank : std::uint8_t { user, operates, administers, super };
Rank rank_of(const Actor& actor);

// Fields of requests that name a user or group. `rank`: needed where it names somebody else than the asker; a field of
// rank `user` only chooses among what the asker may see or change anyway.
struct FieldRight {
  std::string_view message, field;
  Rank rank;
};
std::span<const FieldRight> field_rights();

// Nothing: the request may be looked at. Otherwise what the asker is told.
std::optional<Refusal> lacking_right(const wire::Request& request, const Actor& actor);

}  // namespace millrace
