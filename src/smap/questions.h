// src/smap/questions.h - one round of questions to the controller, for a page of smap.
#pragma once

#include "client/session.h"
#include "smap/pages.h"

namespace millrace {

Result<SmapData> ask_for_page(Session& session, SmapView view);

}  // namespace millrace
