// src/wire/state_codec.cpp - snapshots: the tables of a state as bytes; indexes are made again when it is read.
//
// A snapshot is one message; its fields are those of State::fields. Requests and owners are written once, before the
// first job that has them, and jobs name them by position: equal ones are shared in memory, and stay so.
#include <map>
#include <set>
#include <utility>

#include "core/ledger/invariants.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/rebuild.h"
#include "core/ledger/references.h"
#include "wire/event_codec.h"
#include "wire/record_reader.h"
#include "wire/record_writer.h"

namespace millrace {
namespace {

using namespace record_bytes;

constexpr std::uint32_t owners_tag = 9, specs_tag = 10;
constexpr std::uint32_t spec_of_job = 3, owner_of_job = 4, job_of_kept = 2, owner_of_spec = 1;
constexpr std::uint32_t node_index_end = 1u << 24;  // lists by node are as long as the highest number

using Jobs = SharedMap<JobKey, SharedValue<Job>>;
using Kept = SharedMap<KeptNumber, SharedValue<KeptJob>>;
using Tallies = SharedMap<JobKey, StepTally>;

template <class T>
const T& row_of(const T& value) {
  return value;
}
template <class T>
const T& row_of(const SharedValue<T>& value) {
  return *value;
}

// A map whose rows are records; the others are indexes.
template <class T>
inline constexpr bool is_table = false;
template <class Key, class Value>
inline constexpr bool is_table<SharedMap<Key, Value>> =
    HasFields<std::remove_cvref_t<decltype(row_of(std::declval<Value>()))>>;

// Its key is one of its own fields.
template <class Key, class Row>
concept HasItsKey = requires(const Row& row) { requires std::is_same_v<std::remove_cvref_t<decltype(row.id)>, Key>; };

// A step as its job's list has it.
struct KnownStep {
  Attempt attempt;
  StepStart start;
  std::optional<StepEnd> end;  // not set: it runs
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "attempt", self.attempt);
    visit(2, "start", self.start);
    visit(3, "end", self.end);
  }
};
struct StepsOfJob {
  JobKey key;
  Attempt attempt;
  std::uint32_t next_id = 0;
  std::vector<KnownStep> steps;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "next_id", self.next_id);
    visit(4, "steps", self.steps);
  }
};

// What is worth a row: of most of an association's use only what live jobs hold, which follows from them.
bool is_stored(const auto&) { return true; }
bool is_stored(const Use& use) { return use.as_of.is_set(); }

class StateWriter {
 public:
  StateWriter(const State& state, std::string& out) : state_(state), out_(out) {}

  template <class T>
  void operator()(std::uint32_t tag, std::string_view, const T& value) {
    if (tag == 0) return;
    if constexpr (std::is_same_v<T, Jobs>) {
      for (const auto& [key, job] : value) put_job(tag, *job, places_of(*job));
    } else if constexpr (std::is_same_v<T, Kept>) {
      for (const auto& [number, kept] : value) put_kept(tag, number, *kept);
    } else if constexpr (std::is_same_v<T, Tallies>) {
      for (const auto& [key, tally] : value) put_steps(tag, key, tally);
    } else if constexpr (std::is_same_v<T, SharedValue<SwitchTree>>) {
      if (!value->empty()) put_present(out_, tag, value->facts());
    } else if constexpr (is_table<T>) {
      for (const auto& [key, row] : value) put_row(tag, key, row_of(row));
    } else {
      Writer{out_}.put(tag, value);
    }
  }

 private:
  struct Places {
    std::uint32_t spec, owner;
  };

  template <class Key, class Row>
  void put_row(std::uint32_t tag, const Key& key, const Row& row) {
    if (!is_stored(row)) return;
    const std::size_t start = out_.size();
    if constexpr (HasFields<Key>)
      write_fields(key, out_);
    else if constexpr (!HasItsKey<Key, Row>)
      Writer{out_}.put(1, key);
    write_fields(row, out_);
    wrap_message(out_, start, tag);
  }

  Places places_of(const Job& job) {
    const auto [owner, new_owner] =
        owners_.try_emplace(job.spec->owner.get(), static_cast<std::uint32_t>(owners_.size()));
    if (new_owner) put_present(out_, owners_tag, *job.spec->owner);
    const bool shared = job.array.value != 0;  // all others are written where they are met
    const auto known = shared ? specs_.find(job.spec.get()) : specs_.end();
    if (known != specs_.end()) return {known->second, owner->second};
    const std::size_t start = out_.size();
    write_fields(*job.spec, out_, owner_of_spec);
    wrap_message(out_, start, specs_tag);
    if (shared) specs_.emplace(job.spec.get(), spec_count_);
    return {spec_count_++, owner->second};
  }

  void put_job(std::uint32_t tag, const Job& job, Places places) {
    const std::size_t start = out_.size();
    Writer{out_}.put(spec_of_job, places.spec);
    Writer{out_}.put(owner_of_job, places.owner);
    write_fields(job, out_);
    wrap_message(out_, start, tag);
  }

  void put_kept(std::uint32_t tag, KeptNumber number, const KeptJob& kept) {
    const Places places = places_of(*kept.job);
    const std::size_t start = out_.size();
    Writer{out_}.put(1, number);
    write_fields(kept, out_);
    put_job(job_of_kept, *kept.job, places);
    wrap_message(out_, start, tag);
  }

  void put_steps(std::uint32_t tag, JobKey key, const StepTally& tally) {
    const std::size_t start = out_.size();
    write_fields(StepsOfJob{key, tally.attempt, tally.next_id, {}}, out_);
    for (auto it = state_.steps.lower_bound({key, {}, 0}); it != state_.steps.end() && (*it).first.job == key; ++it) {
      const Step& step = *(*it).second;
      KnownStep known{(*it).first.attempt, step.start, {}};
      if (!step.is_running()) known.end = step.end;
      put_present(out_, 4, known);
    }
    wrap_message(out_, start, tag);
  }

  const State& state_;
  std::string& out_;
  std::map<const Owner*, std::uint32_t> owners_;   // by identity only; the order of output is that of first use
  std::map<const JobSpec*, std::uint32_t> specs_;  // of arrays
  std::uint32_t spec_count_ = 0;
};

class StateReader {
 public:
  explicit StateReader(State& state) : state_(state) {}

  Result<void> read(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!next_field(bytes, raw_)) return fail(Errc::corrupt, "not a snapshot of a state");
      if (raw_.tag == owners_tag || raw_.tag == specs_tag)
        take_shared();
      else
        State::fields(state_, *this);
      if (!wrong_.empty()) return fail(Errc::corrupt, std::string{wrong_});
    }
    return {};
  }

  Result<void> finish() {
    if (state_.tres_names->empty()) state_.tres_names = SharedValue(first_tres_names());
    if (!topology_.empty()) {
      std::map<std::string, NodeIndex, std::less<>> names;
      for (const auto& [index, node] : state_.nodes) names.emplace(node->def->name, index);
      state_.topology = SharedValue(SwitchTree(std::move(topology_), names));
    }
    state_.jobs = Jobs::from_sorted(std::move(jobs_));
    for (const auto& [number, kept] : kept_) index_kept(state_, number, *kept);
    state_.kept = Kept::from_sorted(std::move(kept_));
    if (const auto wrong = dangling_reference(state_)) return fail(Errc::corrupt, "snapshot: " + *wrong);
    add_up_shares(state_);
    state_.steps = SharedMap<StepKey, SharedValue<Step>>::from_sorted(std::move(steps_));
    state_.running_steps = SharedMap<StepKey, Nothing>::from_sorted(std::move(running_));
    rebuild_indexes(state_);
    return {};
  }

  template <class T>
  void operator()(std::uint32_t tag, std::string_view, T&& value) {
    using Table = std::remove_cvref_t<T>;
    if (tag == 0 || tag != raw_.tag) return;
    if constexpr (std::is_same_v<Table, Jobs>) {
      take_job();
    } else if constexpr (std::is_same_v<Table, Kept>) {
      take_kept();
    } else if constexpr (std::is_same_v<Table, Tallies>) {
      take_steps();
    } else if constexpr (std::is_same_v<Table, SharedValue<SwitchTree>>) {
      check(read_record(raw_.bytes, topology_));
    } else if constexpr (is_table<Table>) {
      take_row(value);
    } else {
      Taker taker{raw_};
      taker.take(value);
      check(taker.well);
    }
  }

 private:
  void check(bool well, std::string_view wrong = "not a snapshot of a state") {
    if (!well && wrong_.empty()) wrong_ = wrong;
  }

  template <class Key, class Value>
  void take_row(SharedMap<Key, Value>& table) {
    using Row = std::remove_cvref_t<decltype(row_of(std::declval<Value>()))>;
    Key key{};
    Row row;
    std::size_t amounts = 0;
    check(read_record(raw_.bytes, row, [&](const Raw& other) {
      Taker taker{other};
      if constexpr (HasFields<Key>) {
        Key::fields(key, taker);
      } else {
        if (other.tag == 1) taker.take(key);
      }
      if constexpr (std::is_same_v<Row, Use>) {
        if (other.tag == 3 && amounts < row.usage.size()) taker.take(row.usage[amounts++]);
      }
      return taker.well;
    }));
    if constexpr (HasItsKey<Key, Row>) key = row.id;
    if constexpr (std::is_same_v<Row, Node>) {
      if (key.value >= node_index_end) return check(false, "snapshot: a node of a number that is none");
      if (!row.def) row.def = SharedValue(NodeDef{});
    }
    if constexpr (std::is_same_v<Row, Value>)
      table.set(key, std::move(row));
    else
      table.set(key, Value(std::move(row)));
  }

  void take_shared() {
    if (raw_.tag == owners_tag) {
      Owner owner;
      check(read_record(raw_.bytes, owner));
      owners_.push_back(SharedValue(std::move(owner)));
      state_.owners.set(owners_.back()->uid, owners_.back());
    } else {
      JobSpec spec;
      check(read_record(raw_.bytes, spec));
      specs_.push_back(SharedValue(std::move(spec)));
    }
  }

  // With its request, which was read before.
  bool read_job(std::string_view bytes, Job& job) {
    std::uint64_t spec = 0, owner = 0;
    const bool well = read_record(bytes, job, [&](const Raw& other) {
      if (other.tag == spec_of_job) spec = other.number;
      if (other.tag == owner_of_job) owner = other.number;
      return true;
    });
    if (!well) return false;
    if (spec >= specs_.size() || owner >= owners_.size()) {
      check(false, "snapshot: a job without its request");
      return false;
    }
    if (!specs_[spec]->owner) specs_[spec].edit().owner = owners_[owner];
    job.spec = specs_[spec];
    return true;
  }

  void take_job() {
    Job job;
    if (!read_job(raw_.bytes, job)) return check(false);
    const JobKey key = job.key;
    if (!jobs_.empty() && key <= jobs_.back().first) return check(false, "snapshot: jobs out of order");
    jobs_.emplace_back(key, SharedValue(std::move(job)));
  }

  void take_kept() {
    KeptJob kept;
    KeptNumber number;
    Job job;
    bool has_job = false;
    const bool well = read_record(raw_.bytes, kept, [&](const Raw& other) {
      if (other.tag == 1) number = from_number<KeptNumber>(other.number);
      if (other.tag == job_of_kept && other.type == Raw::bytes_type) return has_job = read_job(other.bytes, job);
      return true;
    });
    if (!well || !has_job) return check(false, "snapshot: a kept run without its job");
    for (SharedValue<Step>& step : kept.steps) step.edit().end.id = step->start.id;
    kept.job = SharedValue(std::move(job));
    if (!kept_.empty() && number <= kept_.back().first) return check(false, "snapshot: kept runs out of order");
    kept_.emplace_back(number, SharedValue(std::move(kept)));
  }

  void take_steps() {
    StepsOfJob job;
    check(read_record(raw_.bytes, job));
    StepTally tally{job.attempt, job.next_id, 0, {}};
    for (KnownStep& known : job.steps) {
      Step step{std::move(known.start), known.end.value_or(StepEnd{})};
      step.end.id = step.start.id;
      if (tally.nodes && *tally.nodes == *step.start.nodes) step.start.nodes = tally.nodes;
      if (step.start.id != interactive_step) tally.nodes = step.start.nodes;
      const StepKey key{job.key, known.attempt, step.start.id};
      if (!steps_.empty() && key <= steps_.back().first) return check(false, "snapshot: steps out of order");
      if (step.is_running())
        running_.emplace_back(key, Nothing{});
      else
        ++tally.ended;
      steps_.emplace_back(key, SharedValue(std::move(step)));
    }
    state_.step_tallies.set(job.key, std::move(tally));
  }

  State& state_;
  Raw raw_;
  std::string_view wrong_;
  Topology topology_;
  std::vector<SharedValue<Owner>> owners_;
  std::vector<SharedValue<JobSpec>> specs_;
  std::vector<std::pair<JobKey, SharedValue<Job>>> jobs_;
  std::vector<std::pair<KeptNumber, SharedValue<KeptJob>>> kept_;
  std::vector<std::pair<StepKey, SharedValue<Step>>> steps_;
  std::vector<std::pair<StepKey, Nothing>> running_;
};

}  // namespace

std::string encode_state(const State& state) {
  std::string bytes;
  State::fields(state, StateWriter(state, bytes));
  return bytes;
}

Result<State> decode_state(std::string_view bytes) {
  State state;
  Policy nothing;
  Clear{}.clear(nothing);
  state.policy = SharedValue(std::move(nothing));
  state.tres_names = SharedValue(TresNames{});
  StateReader reader(state);
  MR_TRY_VOID(reader.read(bytes));
  MR_TRY_VOID(reader.finish());
  return state;
}

}  // namespace millrace
