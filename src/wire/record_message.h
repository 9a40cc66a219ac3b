// src/wire/record_message.h - records of the ledger as messages of schema/client.proto, which have the fields and
// numbers of the records' own lists.
#pragma once

#include "wire/record_reader.h"
#include "wire/record_writer.h"

namespace millrace {

template <class Message, HasFields T>
void put(const T& from, Message& to) {
  to.ParseFromString(record_bytes::bytes_of(from));
}

template <HasFields T, class Message>
T get(const Message& from) {
  T to;
  record_bytes::read_record(from.SerializeAsString(), to);
  return to;
}

}  // namespace millrace
