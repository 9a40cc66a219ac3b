// src/controller/requests/requests.h - requests of people, from the moment they are read until a handler has them.
//
// Users take turns: where others have asked before, a request is carried out in a later turn of the loop. The table
// (request_table.h) says who may ask it and who handles it. What a client wanted ends with the client.
#pragma once

#include "controller/requests/services.h"

namespace millrace {

class Requests final {
 public:
  Requests(const Context& context, RequestParts parts, FairWorker& query_worker);
  void take(const Asker& asker, wire::Request request);
  void client_left(ClientId client);
  void reconfigured() { askers_.doubt_all(); }

 private:
  void begin(const Asker& asker, const wire::Request& request);
  void carry_out(const Asker& asker, const wire::Request& request);

  RequestQueues queues_;
  Askers askers_;
  Services services_;
};

}  // namespace millrace
