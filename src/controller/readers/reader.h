// src/controller/readers/reader.h - who acts on facts once they are durable: mail, triggers, crontabs, programs of the
// site and their like.
//
// The controller calls its readers on the loop, one after the other, in the order of their list (readers.h):
//   recovered  once, at the start, with what the log held: the epoch and the configuration of this run are decided, and
//              not durable yet. What is true then is old news: who tells
//              somebody of what happens tells nothing of it. A run that died between a fact and what follows from it
//              is made good where the fact itself is remembered in the ledger, and only there.
//   advanced   after each step of the durable state, never twice for a fact and never out of order.
//   time       once a second.
//   clock_set  somebody has set the clock; times in the ledger have moved already, in what is decided.
// A reader may decide facts from inside a call. They become durable later, and come back as a step of their own, so it
// must see by the state that it has done its work. It never waits: what takes a while is a program or a worker's.
#pragma once

#include "controller/loop/context.h"
#include "controller/views/views.h"

namespace millrace {

class Reader {
 public:
  virtual ~Reader() = default;
  virtual void recovered(const State&) {}
  virtual void advanced(const Advance& step) = 0;
  virtual void time(Time) {}
  virtual void clock_set(Duration) {}
};

}  // namespace millrace
