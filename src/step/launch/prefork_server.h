// src/step/launch/prefork_server.h - a supervisor that is loaded before it is needed and forks one for each launch:
// exec costs more than all it does.
#pragma once

namespace millrace {

// Takes the agent's end of a socket per launch (SCM_RIGHTS) from `orders` and forks. Returns in each child with its
// socket, and in the prefork server itself only when the agent is gone, with -1: the children go on.
int serve_prefork(int orders);

}  // namespace millrace
