// src/controller/requests/queries.h - requests that only read: answered from the durable snapshot, large ones on a
// worker.
#pragma once

#include "controller/requests/handler.h"
#include "controller/requests/privacy.h"

namespace millrace {

class Queries : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;

 protected:
  void answer_at_once(RowWalk& walk) const;
  // Of rows that may be very many. `for_asker_only`: another who asks the same gets another answer.
  void ask_long(LongAnswers::Begin begin, bool for_asker_only = false);
  Privacy privacy() const;
  // With the names and groups of the asker, where they are needed.
  void as_user(bool needed, std::move_only_function<void(Services&, const Asker&, const UserIdentity&)> answer) const;
};

// queries.cpp, explaining.cpp, step_queries.cpp
class JobQueries final : public Queries {
 public:
  using Queries::Queries;
  void jobs(const wire::QueryJobs& ask);
  void steps(const wire::QuerySteps& ask);
  void script(const wire::GetScript& ask);
  void number(const wire::NumberJob& ask);
  void explain(const wire::ExplainJob& ask);

 private:
  void show_jobs(wire::QueryJobs ask, HiddenPartitions hidden);
  void show_steps(wire::QuerySteps ask, HiddenPartitions hidden);
  // With what the asker does not see unless he asks for it, where that is wanted.
  void beside_hidden(bool wanted, std::move_only_function<void(JobQueries&, HiddenPartitions)> answer);
};

// site_queries.cpp
class SiteQueries final : public Queries {
 public:
  using Queries::Queries;
  void nodes(const wire::QueryNodes& ask);
  void partitions(const wire::QueryPartitions& ask);
  void reservations(const wire::QueryReservations& ask);  // reservation_commands.cpp
  void licences();
  void topology();
  void config();
  void ping();
  void diagnostics(const wire::QueryDiagnostics& ask);
};

// account_queries.cpp
class AccountQueries final : public Queries {
 public:
  using Queries::Queries;
  void accounts();
  void priorities();
  void transactions();
};

}  // namespace millrace
