// src/controller/requests/request_table.h - every kind of request: who may ask it, and who handles it.
#pragma once

#include <span>

#include "controller/clients.h"
#include "controller/requests/rights.h"

namespace millrace {

struct Services;

struct RequestRow {
  wire::Request::BodyCase request;
  // Needed at least. Of jobs and steps this is the right to name any at all; which ones is asked where they are known:
  // may_change (the owner, coordinators, operators) and may_act_as_owner (core/admission).
  Rank rank;
  void (*handle)(Services& services, const Asker& asker, const wire::Request& request);
};

std::span<const RequestRow> request_table();
const RequestRow* find_request(wire::Request::BodyCase request);  // null: we do not know it

// What is in no row is nobody's but root's.
inline Rank rank_needed(wire::Request::BodyCase request) {
  const RequestRow* row = find_request(request);
  return row ? row->rank : Rank::super;
}
// An operator counts as an administrator in what operators may ask at all.
inline bool operators_count(const RequestRow& row) { return row.rank < Rank::administers; }

}  // namespace millrace
