// src/controller/requests/services.h - what requests of people may use of the controller.
#pragma once

#include <functional>

#include "controller/loop/node_links.h"
#include "controller/loop/node_orders.h"
#include "controller/loop/scheduling.h"
#include "controller/readers/readers.h"
#include "controller/requests/askers.h"
#include "controller/requests/fair_queue.h"
#include "controller/requests/fair_turns.h"
#include "controller/requests/fair_worker.h"
#include "controller/requests/long_answers.h"
#include "controller/steps/step_inquiries.h"
#include "controller/steps/step_traffic.h"

namespace millrace {

// Parts of the controller that have work to do for people.
struct RequestParts {
  NodeLinks& links;
  NodeOrders& orders;
  StepTraffic& steps;
  StepInquiries& inquiries;
  Scheduling& scheduling;
  Readers& readers;
  Diagnostics& diagnostics;
  // The configuration was read again.
  std::function<void(const Reconfiguration&)> reconfigured;
};

// Where work waits that does not fit one turn of the loop. Users take turns in each.
struct RequestQueues {
  explicit RequestQueues(Loop& loop, FairWorker& worker, Clients& clients)
      : turns(loop), long_changes(loop), query_worker(worker), long_answers(loop, worker, clients) {}
  FairTurns turns;         // requests, each carried out in a turn of its own
  FairTurns long_changes;  // of very many records
  FairQueue script_reads{1};
  FairWorker& query_worker;
  LongAnswers long_answers;

  void client_left(ClientId client) {
    turns.client_left(client);
    long_changes.client_left(client);
    query_worker.client_left(client);
    script_reads.client_left(client);
    long_answers.client_left(client);
  }
};

struct Services : Context, RequestParts {
  Services(const Context& context, RequestParts parts, RequestQueues& q, Askers& a)
      : Context(context), RequestParts(std::move(parts)), queues(q), askers(a) {}
  RequestQueues& queues;
  Askers& askers;

  ReadView read_view() const { return {commit.durable(), links.observed(), scheduling.report(), loop.now()}; }
};

}  // namespace millrace
