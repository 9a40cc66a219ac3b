// tests/fuzz/fuzz_pmi.cpp - what tasks write in PMI-1 and PMI-2, a rank before each piece, what the PMIx server of a
// job says, and what other nodes say.
#include "mpi/exchange_hub.h"
#include "mpi/pmi_server.h"
#include "mpi/pmi_wire.h"
#include "step/mpi/pmix_told.h"
#include "target.h"
#include "task.pb.h"

using namespace millrace;

FUZZ_TEXT(pmi) {
  fuzz::use(format_pmi1(parse_pmi1(input)));
  fuzz::use(format_pmi2(parse_pmi2(input)));
  PmiServer server({"job", 4, 4, 2, "(vector,(0,2,2))", {0, 1}});
  fuzz::Pieces pieces(input);
  while (!pieces.empty()) {
    const std::uint32_t rank = pieces.byte() & 1;
    server.take(rank, std::string{pieces.until('\x01')});
    fuzz::use(server.take_replies());
    for (const wire::MpiFromNode& message : server.take_outgoing()) {
      if (!message.has_join()) continue;
      wire::MpiToNode part;  // of the other node: the same
      part.mutable_part()->set_exchange(message.join().exchange());
      part.mutable_part()->set_data(message.join().data());
      server.hear(part);
      part.mutable_part()->set_data("");
      part.mutable_part()->set_last(true);
      server.hear(part);
    }
  }
  server.task_ended(0, true);
  fuzz::use(server.take_outgoing());
}

FUZZ_BINARY(mpi_to_node) {
  PmiServer server({"job", 4, 4, 2, "(vector,(0,2,2))", {0, 1}});
  server.take(0, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier_in\n");
  server.take(1, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=lookup_name service=a\n");
  wire::MpiToNode message;
  if (!message.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  server.hear(message);
  server.hear(message);
  fuzz::use(server.take_replies());
}

FUZZ_SEEDS(from_pmix) {
  wire::FromPmix ready, name, connected;
  ready.mutable_ready()->add_tasks()->set_task(1);
  ready.mutable_ready()->mutable_tasks(0)->add_environment("PMIX_RANK=1");
  name.mutable_mpi()->mutable_name()->set_name("a");
  connected.set_connected(1);
  return {ready.SerializeAsString(), name.SerializeAsString(), connected.SerializeAsString()};
}

FUZZ_BINARY(from_pmix) {
  PmixTold told({0, 1});
  told.take(input);
  told.take(input);
  for (const std::uint32_t rank : {0u, 1u, 2u}) {
    fuzz::use(told.environment(rank));
    told.abort(rank, "ended");
  }
  fuzz::must(told.unfinished_task().value_or(0) <= 1, "a task of another node is not heard of");
  ExchangeHub hub;
  for (const wire::MpiFromNode& message : told.take_outgoing()) hub.take(0, message);
  fuzz::use(hub.take_outgoing());
}
