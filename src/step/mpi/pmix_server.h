// src/step/mpi/pmix_server.h - the PMIx server of one node's tasks, a process of its own beside the supervisor
// (docs/adr/0008).
#pragma once

namespace millrace {

// `socket` leads to the supervisor, which says first what there is to serve. Returns when it is gone.
int serve_pmix(int socket);

}  // namespace millrace
