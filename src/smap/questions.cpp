// src/smap/questions.cpp - see questions.h.
#include "smap/questions.h"

#include "cli/ask.h"

namespace millrace {

Result<SmapData> ask_for_page(Session& session, SmapView view) {
  SmapData data;
  wire::Request nodes;
  nodes.mutable_query_nodes();
  MR_TRY(wire::Reply answer, ask_all(session, nodes));
  data.nodes = std::move(*answer.mutable_nodes());
  wire::Request more;
  switch (view) {
    case SmapView::jobs:
      more.mutable_query_jobs()->set_brief(true);
      more.mutable_query_jobs()->set_without_hidden(true);
      break;
    case SmapView::partitions:
      more.mutable_query_partitions()->set_without_hidden(true);
      break;
    case SmapView::reservations:
      more.mutable_query_reservations();
      break;
    case SmapView::network:
      more.mutable_query_topology();
      break;
  }
  MR_TRY(wire::Reply second, ask_all(session, more));
  if (second.has_jobs()) data.jobs = std::move(*second.mutable_jobs());
  if (second.has_partitions()) data.partitions = std::move(*second.mutable_partitions());
  if (second.has_reservations()) data.reservations = std::move(*second.mutable_reservations());
  if (second.has_topology()) data.topology = std::move(*second.mutable_topology());
  return data;
}

}  // namespace millrace
