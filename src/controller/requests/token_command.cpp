// src/controller/requests/token_command.cpp - scontrol token: a proof of identity for the HTTP interface, which checks
// it.
#include "controller/requests/handlers.h"
#include "wire/token.h"

namespace millrace {

static constexpr std::uint32_t usual_lifespan_seconds = 1800;

void DaemonCommands::issue_token(const wire::IssueToken& ask) {
  const auto rules = c_.hooks.token_rules();
  if (!rules) return refuse_with(RefusalCode::no_token, rules.error().story);
  if (!actor_.is_super && rules->only_administrators)
    return refuse_with(RefusalCode::access_denied,
                       "AuthAltParameters=disable_token_creation: only root or SlurmUser may make tokens");
  const std::uint32_t lifespan =
      ask.lifespan_seconds() == 0 ? std::min(usual_lifespan_seconds, rules->longest_seconds) : ask.lifespan_seconds();
  if (lifespan > rules->longest_seconds && !actor_.is_admin)
    return refuse_with(RefusalCode::no_token,
                       "max_token_lifespan is " + std::to_string(rules->longest_seconds) + " seconds");
  const std::int64_t now = c_.loop.now().value / 1'000'000;
  const auto give = [&c = c_, client = asker_.client, head = reply(), key = rules->key, now,
                     lifespan](const std::string& user) {
    wire::Reply out = head;
    out.mutable_token()->set_token(make_token(key, user, now, now + lifespan));
    c.clients.reply(client, out);
  };
  if (!ask.user().empty()) return give(ask.user());
  c_.identities.find(asker_.uid, asker_.gid,
                     [&c = c_, client = asker_.client, number = request_.number(), give](Result<UserIdentity> who) {
                       if (who) return give(who->user_name);
                       c.clients.reply(client, refusal_reply(number, RefusalCode::no_token, who.error().story));
                     });
}

}  // namespace millrace
