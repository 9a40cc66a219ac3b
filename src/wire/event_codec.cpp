// src/wire/event_codec.cpp - see event_codec.h. Events only; snapshots are in state_codec.cpp.
#include "wire/event_codec.h"

#include <utility>

#include "wire/record_reader.h"
#include "wire/record_writer.h"

namespace millrace {
namespace {

using namespace record_bytes;

// What a job of the log must have, whoever wrote it.
void complete(JobSubmitted& e) {
  if (!e.spec.owner) e.spec.owner = SharedValue(Owner{});
}
std::string_view complete(HetJobSubmitted& e) {
  if (e.components.size() < 2) return "a heterogeneous job without components";
  for (JobSubmitted& component : e.components) complete(component);
  return {};
}
void complete(CrontabSet& e) {
  for (JobSubmitted& job : e.submitted) complete(job);
}
std::string_view complete(HetJobPlaced& e) {
  return e.components.size() < 2 ? "a heterogeneous job without components" : std::string_view{};
}
void complete(auto&) {}

template <class Kind>
Result<Event> read_event(std::string_view bytes) {
  Kind event;
  if (!read_record(bytes, event)) return fail(Errc::corrupt, "not an event");
  if constexpr (std::is_void_v<decltype(complete(event))>) {
    complete(event);
  } else {
    if (const std::string_view wrong = complete(event); !wrong.empty()) return fail(Errc::corrupt, std::string{wrong});
  }
  return Event{std::move(event)};
}

using ReadEvent = Result<Event> (*)(std::string_view bytes);

template <std::size_t... Places>
ReadEvent reader_of(std::uint32_t tag, std::index_sequence<Places...>) {
  ReadEvent found = nullptr;
  (void)((std::variant_alternative_t<Places, EventKinds>::event.number == tag
              ? (found = &read_event<std::variant_alternative_t<Places, EventKinds>>, true)
              : false) ||
         ...);
  return found;
}

}  // namespace

std::string encode_event(const Event& event) {
  return std::visit(
      [](const auto& e) {
        std::string out;
        write_fields(e, out);
        wrap_message(out, 0, e.event.number);
        return out;
      },
      static_cast<const EventKinds&>(event));
}

Result<Event> decode_event(std::string_view bytes) {
  Raw raw;
  ReadEvent reader = nullptr;
  std::string_view inside;
  while (!bytes.empty()) {
    if (!next_field(bytes, raw)) return fail(Errc::corrupt, "not an event");
    if (raw.type != Raw::bytes_type) continue;
    if (const ReadEvent known = reader_of(raw.tag, std::make_index_sequence<std::variant_size_v<EventKinds>>{})) {
      reader = known;
      inside = raw.bytes;
    }
  }
  if (reader == nullptr) return fail(Errc::corrupt, "an event of a kind this release does not know");
  return reader(inside);
}

}  // namespace millrace
