// src/controller/requests/requests.cpp - see requests.h.
#include "controller/requests/requests.h"

#include "controller/requests/refusals.h"
#include "controller/requests/request_table.h"
#include "controller/requests/rights.h"

namespace millrace {

Requests::Requests(const Context& context, RequestParts parts, FairWorker& query_worker)
    : queues_(context.loop, query_worker, context.clients),
      askers_(context, queues_.turns),
      services_(context, std::move(parts), queues_, askers_) {}

void Requests::take(const Asker& asker, wire::Request request) {
  queues_.turns.add(asker, asker.client, [this, asker, request = std::move(request)] {
    begin(asker, request);
    return false;
  });
}

void Requests::begin(const Asker& asker, const wire::Request& request) {
  const Services& s = services_;
  s.clock.look();
  const Time before = s.loop.steady();
  const auto what = [&] {
    return std::string{"Processing RPC: "} + call_name(request.body_case()).name +
           " from UID=" + std::to_string(asker.uid.value) + " client " + std::to_string(asker.client);
  };
  Log& log = s.lines.log();
  log.debug2(what);
  log.about(DebugFlag::audit_rpcs, what);
  log.about(DebugFlag::protocol, [&] {
    return std::string{call_name(request.body_case()).name} + " of " + std::to_string(request.ByteSizeLong()) +
           " bytes from UID=" + std::to_string(asker.uid.value);
  });
  if (askers_.knows(asker))
    carry_out(asker, request);
  else
    askers_.learn(asker, [this, asker, request] { carry_out(asker, request); });
  s.diagnostics.answered(request, asker.uid, s.loop.steady() - before);
  if (!asker.plain_user && s.diagnostics.wants_name(asker.uid))
    s.identities.find(asker.uid, asker.gid,
                      [&diagnostics = s.diagnostics, uid = asker.uid](Result<UserIdentity> identity) {
                        if (identity) diagnostics.is_called(uid, identity->user_name);
                      });
}

void Requests::carry_out(const Asker& asker, const wire::Request& request) {
  const RequestRow* row = find_request(request.body_case());
  if (!row)
    return services_.clients.reply(asker.client,
                                   refusal_reply(request.number(), RefusalCode::not_supported, "unknown request"));
  const Actor actor = askers_.actor_of(asker, operators_count(*row));
  if (const auto refusal = lacking_right(request, actor)) {
    wire::Reply out;
    out.set_number(request.number());
    put_refusal(*refusal, *out.mutable_failure());
    return services_.clients.reply(asker.client, out);
  }
  row->handle(services_, asker, request);
}

void Requests::client_left(ClientId client) {
  services_.lines.log().debug3([&] { return "client " + std::to_string(client) + " is gone"; });
  services_.steps.client_left(client);
  queues_.client_left(client);
  services_.inquiries.client_left(client);
  services_.readers.clients.client_left(client);
}

}  // namespace millrace
