// src/core/admission/parse_dependency.cpp - see parse_dependency.h.
#include "core/admission/parse_dependency.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "core/admission/job_selection.h"
#include "core/ledger/kept_jobs.h"
#include "core/model/sluid.h"

namespace millrace {
namespace {

struct KindName {
  std::string_view word;
  DependencyKind kind;
};
constexpr KindName kind_names[] = {
    {"after", DependencyKind::after},         {"afterany", DependencyKind::afterany},
    {"afterok", DependencyKind::afterok},     {"afternotok", DependencyKind::afternotok},
    {"aftercorr", DependencyKind::aftercorr},
};

std::optional<DependencyKind> kind_named(std::string_view word) {
  for (const KindName& row : kind_names)
    if (equals_ignoring_case(word, row.word)) return row.kind;
  return std::nullopt;
}

// 12 or 12_3 alone: the oldest way to write a dependency.
bool is_bare_job(std::string_view part) {
  return !part.empty() && (part.find_first_not_of("0123456789_") == std::string_view::npos ||
                           looks_like_sluid(part.substr(0, part.find('_'))));
}

// The jobs of one text: what is written twice is waited for once.
class DependencyList {
 public:
  explicit DependencyList(const State& state) : state_(state) {}
  void add(Dependency dependency) {
    if (written_.emplace(dependency.kind, dependency.target, dependency.task).second)
      list_.push_back(std::move(dependency));
  }
  std::optional<JobId> number_of(JobKey key) {
    if (const Job* job = state_.find_job(key)) return job->id;
    // Kept records are found by number alone. A text can name a thousand, so they are all looked at only once.
    if (!kept_) {
      kept_.emplace();
      for (const auto& [number, kept] : state_.kept) kept_->emplace(kept->job->key, kept->job->id);
    }
    const auto it = kept_->find(key);
    return it == kept_->end() ? std::nullopt : std::optional{it->second};
  }
  std::vector<Dependency> take() && { return std::move(list_); }

 private:
  const State& state_;
  std::vector<Dependency> list_;
  std::set<std::tuple<DependencyKind, JobKey, std::optional<std::uint32_t>>> written_;
  std::optional<std::map<JobKey, JobId>> kept_;
};

// Of a job that is over and hidden, and still known to accounting: what became of it is the answer.
std::expected<Dependency, Refusal> parse_kept(const State& state, Dependency dependency, std::string_view text) {
  const auto bad = [&](std::string why) {
    return refuse(RefusalCode::dependency, "dependency on '" + std::string{text} + "': " + why);
  };
  const KeptJob* kept = newest_kept(state, dependency.shown);
  if (!kept || state.find_job(kept->job->key)) return bad("no such job");
  const bool names_array = kept->array == dependency.shown;
  if (names_array && dependency.kind == DependencyKind::aftercorr && !dependency.task)
    return bad("no such job: its tasks are forgotten");
  dependency.target = names_array ? kept->job->array : kept->job->key;
  if (dependency.task && (!names_array || !find_kept(state, dependency))) return bad("no such array task");
  return dependency;
}

std::expected<Dependency, Refusal> parse_target(const State& state, DependencyKind kind, std::string_view text,
                                                DependencyList& list) {
  Dependency dependency;
  dependency.kind = kind;
  const auto bad = [&](std::string why) {
    return refuse(RefusalCode::dependency, "dependency on '" + std::string{text} + "': " + why);
  };
  std::string_view id = text;
  if (const std::size_t plus = id.find('+'); plus != std::string_view::npos) {
    const auto delay = parse_integer(id.substr(plus + 1));
    // Every kind takes one, as in Slurm; after waits for it, the others are over with the end of their job.
    if (!delay || *delay < 0 || *delay > 1'000'000) return bad("after + come minutes");
    dependency.delay_minutes = static_cast<std::uint32_t>(*delay);
    id = id.substr(0, plus);
  }
  if (const std::size_t bar = id.find('_'); bar != std::string_view::npos) {
    if (const std::string_view task = id.substr(bar + 1); task != "*") {
      const auto number = parse_integer(task);
      if (!number || *number < 0 || *number > UINT32_MAX) return bad("not an array task");
      dependency.task = static_cast<std::uint32_t>(*number);
    }
    id = id.substr(0, bar);
  }
  if (looks_like_sluid(id)) {
    const auto key = parse_sluid(id);
    if (!key) return refuse(RefusalCode::invalid_sluid, "dependency on '" + std::string{text} + "': SLUID is invalid");
    const auto known = list.number_of(JobKey{*key});
    if (!known) return bad("no such job");
    dependency.shown = *known;
  } else {
    const auto number = parse_integer(id);
    if (!number || *number <= 0 || *number > UINT32_MAX) return bad("not a job id");
    dependency.shown = JobId{static_cast<std::uint32_t>(*number)};
  }
  const Job* job = state.find_job(dependency.shown);
  if (!job) return parse_kept(state, std::move(dependency), text);
  // The number of an array means the whole array, also once its record belongs to its last task.
  const ArrayState* array = state.find_array(job->array);
  const bool names_array = array && array->id == dependency.shown;
  if (dependency.task) {
    if (!names_array || !array->spec.tasks.contains(*dependency.task)) return bad("no such array task");
    dependency.target = job->array;
  } else {
    dependency.target = names_array ? job->array : job->key;
  }
  return dependency;
}

std::unexpected<Refusal> too_many() {
  return refuse(RefusalCode::dependency, "a job waits for " + std::to_string(dependencies_most) +
                                             " others at most; use an array or an intermediate job");
}

}  // namespace

std::expected<Dependencies, Refusal> parse_dependencies(const State& state, std::string_view text) {
  Dependencies out;
  text = trim(text);
  if (text.empty()) return out;
  if (static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return c == ':' || c == ',' || c == '?'; })) >=
      2 * dependencies_most)
    return too_many();
  DependencyList list(state);
  out.any = text.find('?') != std::string_view::npos;
  if (out.any && text.find(',') != std::string_view::npos)
    return refuse(RefusalCode::dependency, "a dependency list uses either ',' (all) or '?' (any), not both");
  for (const std::string_view part : split(text, out.any ? '?' : ',')) {
    if (equals_ignoring_case(part, "singleton")) {
      Dependency own_name;
      own_name.kind = DependencyKind::singleton;
      list.add(std::move(own_name));
      continue;
    }
    if (!out.any && is_bare_job(part)) {
      auto one = parse_target(state, DependencyKind::afterany, part, list);
      if (!one) return std::unexpected(std::move(one).error());
      list.add(*std::move(one));
      continue;
    }
    const auto words = split(part, ':');
    if (equals_ignoring_case(words[0], "afterburstbuffer") || equals_ignoring_case(words[0], "expand"))
      return refuse(RefusalCode::dependency, "dependency '" + std::string{words[0]} + "' is not built yet in Millrace");
    const auto kind = kind_named(words[0]);
    if (!kind) {
      return refuse(RefusalCode::dependency,
                    "dependency '" + std::string{part} +
                        "' is not one of after, afterany, afterok, afternotok, aftercorr (with :job) or singleton");
    }
    if (words.size() < 2) return refuse(RefusalCode::dependency, "dependency '" + std::string{part} + "' names no job");
    for (std::size_t i = 1; i < words.size(); ++i) {
      auto one = parse_target(state, *kind, words[i], list);
      if (!one) return std::unexpected(std::move(one).error());
      list.add(*std::move(one));
    }
  }
  out.list = std::move(list).take();
  if (out.list.size() > dependencies_most) return too_many();
  return out;
}

// A user's jobs are looked through only where the cluster as a whole has more than one user may have.
std::expected<void, Refusal> check_dependency_room(const State& state, UserId uid, std::uint64_t more,
                                                   const DependencyLimits& limits) {
  if (more == 0 || state.dependents.size() + more <= limits.of_user) return {};
  const std::string instead = "; use an array, an intermediate job, or submit some of them later";
  if (more > dependencies_few && state.dependents.size() + more > limits.in_all)
    return refuse(RefusalCode::dependency, "the jobs of this cluster have " + std::to_string(state.dependents.size()) +
                                               " dependencies; " + std::to_string(limits.in_all) + " are the most" +
                                               instead);
  std::uint64_t own = 0;
  for (auto it = state.live_names.lower_bound({uid, 0, JobKey{0}});
       it != state.live_names.end() && (*it).first.uid == uid && own + more <= limits.of_user; ++it) {
    const Job& job = state.job((*it).first.key);
    if (job.dependencies && job.state == JobState::pending) own += job.dependencies->list.size();
  }
  if (own + more <= limits.of_user) return {};
  return refuse(RefusalCode::dependency, "waiting jobs of one user have " + std::to_string(limits.of_user) +
                                             " dependencies at most, all together" + instead);
}

}  // namespace millrace
