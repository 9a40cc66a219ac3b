// src/controller/queries.h - one request that only reads: answered from the durable snapshot, large ones on a worker.
#pragma once

#include "controller/controller.h"
#include "controller/privacy.h"
#include "controller/refusals.h"

namespace millrace {

class Queries final {
 public:
  Queries(Controller& controller, const Asker& asker, const wire::Request& request)
      : c_(controller), asker_(asker), request_(request) {}
  bool handle();  // false: not a query

 private:
  void jobs(wire::QueryJobs ask, HiddenPartitions hidden);
  void nodes(const wire::QueryNodes& ask);
  void partitions(const wire::QueryPartitions& ask);
  void script(const wire::GetScript& ask);
  void number(const wire::NumberJob& ask);
  void config();
  void licences();
  void topology();
  void ping();
  void diagnostics(const wire::QueryDiagnostics& ask);
  void steps(wire::QuerySteps ask, HiddenPartitions hidden);  // step_requests.cpp
  void reservations(const wire::QueryReservations& ask);
  void explain_job(const wire::ExplainJob& ask);
  void accounts();  // these two: account_queries.cpp
  void priorities();
  void transactions();
  wire::Reply reply() const;
  void answer_at_once(RowWalk& walk) const;
  // Of rows that may be very many. `for_asker_only`: another who asks the same gets another answer.
  void ask_long(LongAnswers::Begin begin, bool for_asker_only = false);
  // With what the asker does not see unless he asks for it, where that is wanted.
  void beside_hidden(bool wanted, std::move_only_function<void(Queries&, HiddenPartitions)> answer);
  bool is_admin() const;
  Privacy privacy() const;
  void refuse(RefusalCode code) const { refuse(Refusal{code, {}}); }
  void refuse(const Refusal& refusal) const;
  void as_user(bool needed, std::move_only_function<void(Controller&, const Asker&, const UserIdentity&)> answer) const;

  Controller& c_;
  const Asker& asker_;
  const wire::Request& request_;
};

}  // namespace millrace
