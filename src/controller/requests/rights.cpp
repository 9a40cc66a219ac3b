// src/controller/requests/rights.cpp - see rights.h.
#include "controller/requests/rights.h"

#include <algorithm>

#include "base/assert.h"
#include "controller/requests/request_table.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;

constexpr FieldRight fields[] = {
    {"JobDescription", "as_uid", Rank::super},
    {"JobDescription", "as_gid", Rank::super},
    {"SetCrontab", "uid", Rank::super},
    {"IssueToken", "user", Rank::super},
    {"QueryCrontab", "uid", Rank::operates},
    {"CancelJobs", "user", Rank::user},
    {"QueryJobs", "uid", Rank::user},
    {"QuerySteps", "uid", Rank::user},
    {"ClearTriggers", "uid", Rank::user},
    {"AnnotateRecord", "user", Rank::user},
    {"Reserve", "users", Rank::user},  // who may use it; the request is an operator's
    {"Reserve", "groups", Rank::user},
    {"JobExtras", "mail_user", Rank::user},  // who is written to
    {"Trigger", "uid", Rank::user},          // set by the controller, never taken from a request
};

Rank rank_of_field(std::string_view message, std::string_view field) {
  const auto* row =
      std::ranges::find_if(fields, [&](const FieldRight& f) { return f.message == message && f.field == field; });
  MR_ASSERT(row != std::end(fields));
  return row->rank;
}

struct Named {
  std::string_view message, field;
  const char* what;
};

// The first field of this request that names somebody else and needs more than a user's rank.
std::optional<Named> names_another(const wire::Request& request, const Actor& actor) {
  const auto of_job = [&](const wire::JobDescription& job) -> std::optional<Named> {
    if (job.has_as_uid()) return Named{"JobDescription", "as_uid", "submit for another user or group"};
    if (job.has_as_gid()) return Named{"JobDescription", "as_gid", "submit for another user or group"};
    return std::nullopt;
  };
  const auto of_submission = [&](const wire::SubmitJob& ask) {
    auto named = of_job(ask.job());
    for (const wire::JobDescription& job : ask.more_components())
      if (!named) named = of_job(job);
    return named;
  };
  switch (request.body_case()) {
    case B::kSubmit:
      return of_submission(request.submit());
    case B::kCreateStep:
      return of_job(request.create_step().step());
    case B::kSetCrontab: {
      const wire::SetCrontab& ask = request.set_crontab();
      std::optional<Named> named;
      if (ask.has_uid() && ask.uid() != actor.uid.value)
        named = Named{"SetCrontab", "uid", "change another user's crontab"};
      for (const wire::CronEntry& entry : ask.entries())
        if (!named) named = of_submission(entry.job());
      return named;
    }
    case B::kQueryCrontab:
      if (request.query_crontab().has_uid() && request.query_crontab().uid() != actor.uid.value)
        return Named{"QueryCrontab", "uid", "see another user's crontab"};
      return std::nullopt;
    case B::kIssueToken:
      if (!request.issue_token().user().empty()) return Named{"IssueToken", "user", "make a token for another user"};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

const char* who(Rank rank) {
  switch (rank) {
    case Rank::user:
      return "a user";
    case Rank::operates:
      return "an operator or administrator";
    case Rank::administers:
      return "an administrator";
    case Rank::super:
      break;
  }
  return "root or SlurmUser";
}

}  // namespace

Rank rank_of(const Actor& actor) {
  if (actor.is_super) return Rank::super;
  if (actor.is_operator) return Rank::operates;
  return actor.is_admin ? Rank::administers : Rank::user;
}

std::span<const FieldRight> field_rights() { return fields; }

std::optional<Refusal> lacking_right(const wire::Request& request, const Actor& actor) {
  const Rank rank = rank_of(actor);
  if (const Rank needed = rank_needed(request.body_case()); rank < needed)
    return Refusal{RefusalCode::access_denied, {std::string{"only "} + who(needed) + " may do this"}};
  const auto named = names_another(request, actor);
  if (!named) return std::nullopt;
  if (const Rank needed = rank_of_field(named->message, named->field); rank < needed)
    return Refusal{RefusalCode::access_denied, {std::string{"only "} + who(needed) + " may " + named->what}};
  return std::nullopt;
}

}  // namespace millrace
