// tests/fuzz/fuzz_exchange.cpp - what nodes of a parallel program send to srun, where they meet.
#include "mpi/exchange_hub.h"
#include "target.h"
#include "task.pb.h"

using namespace millrace;

FUZZ_BINARY(exchange) {
  wire::MpiFromNode message;
  if (!message.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  ExchangeHub hub;
  for (const std::uint32_t node : {0u, 1u, 0u}) hub.take(node, message);
  fuzz::use(hub.take_outgoing());
  fuzz::use(hub.take_abort());
}
