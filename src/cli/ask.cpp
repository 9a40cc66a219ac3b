// src/cli/ask.cpp - see ask.h.
#include "cli/ask.h"

namespace millrace {

Result<wire::Reply> ask_all(Session& session, wire::Request& request) {
  MR_TRY(wire::Reply whole, session.call(request));
  bool more = whole.more();
  while (more && !whole.has_failure()) {
    MR_TRY(const wire::Reply part, session.next(seconds(60)));
    more = part.more();
    whole.MergeFrom(part);
  }
  if (whole.has_failure()) return fail(Errc::refused, whole.failure().text());
  return whole;
}

}  // namespace millrace
