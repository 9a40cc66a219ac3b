// src/cli/scontrol_token.cpp - scontrol token and takeover.
#include "base/text.h"
#include "cli/ask.h"
#include "cli/scontrol.h"

namespace millrace {

int scontrol_token(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::IssueToken& ask = *request.mutable_issue_token();
  for (const std::string_view word : words) {
    const std::string_view key = word.substr(0, word.find('=')),
                           value = word.size() > key.size() ? word.substr(key.size() + 1) : std::string_view{};
    const auto seconds = parse_integer(value);
    if (equals_ignoring_case(key, "username") && !value.empty())
      ask.set_user(std::string{value});
    else if (equals_ignoring_case(key, "lifespan") && equals_ignoring_case(value, "infinite"))
      ask.set_lifespan_seconds(INT32_MAX);
    else if (equals_ignoring_case(key, "lifespan") && seconds && *seconds > 0 && *seconds <= INT32_MAX)
      ask.set_lifespan_seconds(static_cast<std::uint32_t>(*seconds));
    else
      return say_plain("invalid token option: " + std::string{word} + "; lifespan=SECONDS and username=NAME are right"),
             1;
  }
  const auto reply = self.ask(request);
  if (reply) return print("SLURM_JWT=" + reply->token().token() + '\n');
  say_plain("Error fetching token: " + reply.error().story);
  return 1;
}

int scontrol_take_over(Scontrol&, const Words&) {
  say_plain("slurm_takeover error: no backup controller is configured");
  return 1;
}

}  // namespace millrace
