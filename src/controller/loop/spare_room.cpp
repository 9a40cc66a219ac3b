// src/controller/loop/spare_room.cpp - see spare_room.h.
#include "controller/loop/spare_room.h"

namespace millrace {

bool SpareRoom::has_room_for(const std::vector<Event>& events) {
  const Room room = commit_.room(events);
  const bool is_full = room == Room::reserve_only;
  if (is_full != short_ && room != Room::asked) {
    short_ = is_full;
    lines_.complain(is_full ? "the disk of the event log is full: no job is started before there is room again"
                            : "there is room on the disk of the event log again");
  }
  return room == Room::enough;
}

}  // namespace millrace
