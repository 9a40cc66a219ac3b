// src/controller/requests/refusals.h - a refusal as a client gets it.
#pragma once

#include <string>
#include <utility>

#include "client.pb.h"
#include "core/admission/refusal.h"

namespace millrace {

inline void put_refusal(const Refusal& refusal, wire::Failure& out) {
  out.set_code(static_cast<std::uint32_t>(refusal.code));
  out.set_text(slurm_text(refusal.code));
  for (const std::string& note : refusal.notes) out.add_notes(note);
}

inline wire::Reply refusal_reply(std::uint64_t number, RefusalCode code, std::string note = {}) {
  wire::Reply out;
  out.set_number(number);
  put_refusal(refuse(code, std::move(note)).error(), *out.mutable_failure());
  return out;
}

}  // namespace millrace
