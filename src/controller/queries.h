// src/controller/queries.h - one request that only reads: answered from the durable snapshot, large ones on a worker.
#pragma once

#include "controller/controller.h"
#include "controller/privacy.h"

namespace millrace {

class Queries final {
 public:
  Queries(Controller& controller, const Asker& asker, const wire::Request& request) : c_(controller), asker_(asker), request_(request) {}
  bool handle();  // false: not a query

 private:
  void jobs(wire::QueryJobs ask);
  void nodes(const wire::QueryNodes& ask);
  void partitions(const wire::QueryPartitions& ask);
  void script(const wire::GetScript& ask);
  void config();
  void licences();
  void topology();
  void ping();
  void diagnostics(const wire::QueryDiagnostics& ask);
  void steps(wire::QuerySteps ask);  // step_requests.cpp
  void reservations(const wire::QueryReservations& ask);
  void explain_job(const wire::ExplainJob& ask);
  void accounts();    // these two: account_queries.cpp
  void priorities();
  void transactions();
  wire::Reply reply() const;
  std::string whole_answer(RowWalk& walk) const;
  void ask_long(LongAnswers::Begin begin);  // of rows that may be very many
  Privacy privacy() const;
  void refuse(RefusalCode code) const;
  void as_user(bool needed, std::move_only_function<void(Controller&, const Asker&, const UserIdentity&)> answer) const;

  Controller& c_;
  const Asker& asker_;
  const wire::Request& request_;
};

}  // namespace millrace
