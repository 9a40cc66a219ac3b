// src/controller/loop/context.h - what every part of the controller uses. It outlives them.
#pragma once

#include "controller/clients.h"
#include "controller/loop/clock_watch.h"
#include "controller/loop/commit.h"
#include "controller/loop/daemon_lines.h"
#include "controller/loop/spare_room.h"
#include "controller/settings.h"
#include "ports/identity.h"
#include "ports/loop.h"
#include "ports/programs.h"

namespace millrace {

struct Context {
  Loop& loop;
  Commit& commit;
  Clients& clients;
  Identities& identities;
  Programs* programs;  // null: nothing can be run, and nothing is waited for
  const ControllerSettings& settings;
  const ControllerHooks& hooks;
  DaemonLines& lines;
  SpareRoom& room;
  ClockWatch& clock;
};

}  // namespace millrace
