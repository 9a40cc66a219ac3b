// src/controller/loop/spare_room.cpp - see spare_room.h.
#include "controller/loop/spare_room.h"

namespace millrace {

bool SpareRoom::has_room_for(const std::vector<Event>& events) {
  const bool room = commit_.has_room(events);
  if (room == !short_) return room;
  short_ = !room;
  lines_.complain(room ? "there is room on the disk of the event log again"
                       : "the disk of the event log is full: no job is started before there is room again");
  return room;
}

}  // namespace millrace
