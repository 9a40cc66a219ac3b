// src/core/planner/suggest.h - what would let a waiting job start sooner: each change was tried on a copy of the plan.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/event.h"
#include "core/planner/trial.h"

namespace millrace {

// The smallest change of its kind: any larger one of the same kind would do as well.
struct Suggestion {
  std::string change;  // "with a time limit of up to 59 minutes"
  Time start;
  bool now = false;
  JobModified event;  // what was tried
};

// "2 hours 5 minutes", "1 task".
std::string span_words(Duration span);
std::string count_of(std::int64_t count, const std::string& what);

// The trials of one job that starts as in `as_is` (not set: never). Each kind of change is asked for by itself, when
// nothing is under way. State, job and memo stay where they are until all is done; the memo is for these trials alone.
class Suggesting {
 public:
  Suggesting(Trials& trials, const State& state, const Job& job, Time now, Trial as_is, Memo& memo)
      : trials_(trials), state_(state), job_(job), now_(now), as_is_(std::move(as_is)), memo_(memo) {}

  void shorter();
  void fewer_nodes();  // and tasks in proportion
  void fewer_tasks();
  void elsewhere() { elsewhere_from(0, 0); }
  std::vector<Suggestion> take();

 private:
  struct Change {
    JobModified event;
    std::string words;
  };
  using Making = std::function<Change(std::uint32_t)>;
  struct Search {
    Making make;
    std::uint32_t low, high;  // low does, high does not
    Trial best{};
  };
  void with(const JobModified& change, Trials::Then then);
  void largest(std::uint32_t least, std::uint32_t all, Making make);
  void halve(const std::shared_ptr<Search>& search);
  void elsewhere_from(std::uint32_t partition, std::size_t tried);
  void add(Change change, const Trial& found);

  Trials& trials_;
  const State& state_;
  const Job& job_;
  Time now_;
  const Trial as_is_;
  Memo& memo_;
  std::vector<Suggestion> found_;
};

}  // namespace millrace
