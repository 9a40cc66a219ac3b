// src/cli/ask.cpp - see ask.h.
#include "cli/ask.h"

namespace millrace {

Result<wire::Reply> ask_all(Session& session, wire::Request& request, std::vector<std::string>* notes) {
  MR_TRY(wire::Reply whole, session.call(request));
  bool more = whole.more();
  while (more && !whole.has_failure()) {
    MR_TRY(const wire::Reply part, session.next(seconds(60)));
    more = part.more();
    whole.MergeFrom(part);
  }
  if (!whole.has_failure()) return whole;
  if (notes != nullptr) notes->assign(whole.failure().notes().begin(), whole.failure().notes().end());
  return fail(Errc::refused, whole.failure().text());
}

}  // namespace millrace
