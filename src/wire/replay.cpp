// src/wire/replay.cpp - see replay.h.
#include "wire/replay.h"

#include <algorithm>
#include <stdexcept>

#include "core/ledger/apply.h"
#include "wire/event_codec.h"

namespace millrace {
namespace {

// What apply() asserts beyond what is asked before becomes words as long as this lives.
class AssertionsThrow final {
 public:
  AssertionsThrow() : before_(on_failed_assertion) {
    on_failed_assertion = [](const char* what) { throw std::logic_error(what); };
  }
  ~AssertionsThrow() { on_failed_assertion = before_; }
  AssertionsThrow(const AssertionsThrow&) = delete;
  AssertionsThrow& operator=(const AssertionsThrow&) = delete;

 private:
  void (*before_)(const char*);
};

// The state is worth nothing when there are words.
std::optional<std::string> apply_or_say(State& state, const Event& event) {
  try {
    const AssertionsThrow guard;
    apply(state, event);
    return std::nullopt;
  } catch (const std::exception& wrong) {
    return std::string{"it is against what the ledger takes for granted: "} + wrong.what();
  }
}

constexpr std::size_t kept_every = 4096;

std::unexpected<Error> told_of(std::uint64_t index, const Event& event, const std::string& why) {
  return fail(Errc::corrupt,
              "event " + std::to_string(index) + " (" + std::string{kind_of(event)} + ") cannot have happened: " + why);
}

}  // namespace

Result<State> replay(const Recovered& recovered, std::vector<SkippedEvent>* skipped) {
  State snapshot;
  if (recovered.snapshot_index > 0) {
    MR_TRY(snapshot,
           in_context(decode_state(recovered.snapshot), "snapshot " + std::to_string(recovered.snapshot_index)));
    if (snapshot.version != recovered.snapshot_index)
      return fail(Errc::corrupt, "snapshot is of another version than its name says");
  }
  State state = snapshot;
  // To begin again from when an event could not be applied: copying a state costs little, but not nothing.
  State base = std::move(snapshot);
  std::size_t base_at = 0;
  for (std::size_t at = 0; at < recovered.events.size(); ++at) {
    const std::uint64_t index = state.version + 1;
    MR_TRY(const Event event, in_context(decode_event(recovered.events[at]), "event " + std::to_string(index)));
    auto why = why_impossible(state, event);
    if (!why && (why = apply_or_say(state, event))) {
      state = base;
      for (std::size_t again = base_at; again < at; ++again)
        millrace::apply(state, *decode_event(recovered.events[again]));
    }
    if (why) {
      auto told = told_of(index, event, *why);
      if (!skipped) return told;
      skipped->push_back({index, std::move(told.error().story)});
      ++state.version;
    } else if (const auto* known = skipped ? std::get_if<RecordsPutAside>(&event) : nullptr) {
      std::erase_if(*skipped, [&](const SkippedEvent& each) {
        return std::ranges::find(known->skipped, each.index) != known->skipped.end();
      });
    }
    if (!why && at - base_at < kept_every) continue;
    base = state;
    base_at = at + 1;
  }
  return state;
}

}  // namespace millrace
