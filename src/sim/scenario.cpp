// src/sim/scenario.cpp - see scenario.h.
#include "sim/scenario.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/hostlist.h"
#include "base/text.h"
#include "controller/loop/config_facts.h"
#include "controller/loop/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/accept_preemption.h"
#include "core/admission/cancel_job.h"
#include "core/admission/change_partition.h"
#include "core/admission/create_node.h"
#include "core/admission/expire.h"
#include "core/admission/modify_job.h"
#include "core/admission/power_nodes.h"
#include "core/admission/report_node.h"
#include "core/admission/reserve.h"
#include "core/admission/submit_het_job.h"
#include "core/admission/suspend_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/compare.h"
#include "core/ledger/invariants.h"
#include "core/model/assign.h"
#include "core/model/gres_text.h"
#include "core/planner/pass.h"
#include "sim/scenario_accounts.h"
#include "sim/scenario_cluster.h"
#include "sim/scenario_explain.h"
#include "sim/scenario_job.h"
#include "sim/scenario_power.h"
#include "sim/scenario_programs.h"
#include "sim/scenario_requests.h"
#include "wire/event_codec.h"
#include "wire/event_text.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;

struct Line {
  int number = 0;
  std::int64_t at = 0;
  Words words;
};

struct Happened {
  std::int64_t at = 0;
  std::string what;  // "start a n0", "end a completed", "refused c ..."
};

Words words_of(std::string_view line) {
  Words out;
  for (const std::string_view word : split(line, ' '))
    if (!trim(word).empty()) out.emplace_back(trim(word));
  return out;
}

class Scenario {
 public:
  Result<void> read(std::string_view text);
  void run();
  std::vector<std::string> verdict() const;

 private:
  Result<void> read_line(int number, const Words& words);
  void configure();
  void act(const Line& line);
  void submit(const Words& words);
  void name_dependencies(std::string& dependency) const;
  void reserve(const Words& words);
  void note_nodes_of(const Reservation& reservation);
  void note_details(const std::string& name, const JobPlaced& placed);
  void shrunk(const JobShrunk& e);
  void happen(const std::vector<Event>& events);
  void started(const JobPlaced& placed);
  void restart();
  const Job* find_named(const std::string& name) const;
  void note(std::string what) { happened_.push_back({now_, std::move(what)}); }
  void plan_until_quiet();
  void end_what_is_over();
  void end_each();
  void end_programs();
  void see_to_power();
  void register_node(NodeIndex index);
  void note_power(const NodesPowered& e);
  void may_begin(JobKey key, bool waited);
  void end_on_nodes(const Job& job, const ReportEnd& how);
  std::string name_of(const Job& job) const;
  void check_reasons();
  std::int64_t next_time() const;

  std::vector<Line> lines_, expectations_;
  std::vector<NodeDef> nodes_;
  std::vector<PartitionDef> partitions_;
  Policy policy_;
  Topology topology_;
  State state_;
  std::int64_t now_ = 0;
  std::uint32_t depth_ = 500;
  std::map<std::string, JobId> names_;
  ScenarioUsers users_;
  std::map<JobKey, std::string> shown_;
  std::map<JobKey, PlannedRun> planned_;
  std::map<JobKey, std::int64_t> ends_;  // when a running job's own work is done
  ProgramTimes program_times_;
  ScenarioPower power_;
  std::map<JobKey, std::int64_t> left_;  // of a suspended one: how much of it is left
  std::vector<Happened> happened_;
  std::vector<Finding> findings_;
  std::optional<Memo> memo_{std::in_place};
  std::vector<std::string> problems_;
};

Result<void> Scenario::read(std::string_view text) {
  policy_.requeue_delay_seconds = 0;
  policy_.max_job_count = 1'000'000;
  policy_.max_array_size = 100'001;
  policy_.return_to_service = 2;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (const std::size_t hash = line.find('#'); hash != std::string_view::npos) line = line.substr(0, hash);
    const Words words = words_of(line);
    if (words.empty()) continue;
    MR_TRY_VOID(in_context(read_line(number, words), "line " + std::to_string(number)));
  }
  configure();
  return {};
}

Result<void> Scenario::read_line(int number, const Words& words) {
  const auto second = [](const std::string& word) -> std::optional<std::int64_t> {
    return word.starts_with("t=") ? parse_integer(std::string_view{word}.substr(2)) : std::nullopt;
  };
  MR_TRY(const bool about_priority, read_priority_line(words, policy_, partitions_));
  if (about_priority) return {};
  MR_TRY(const bool about_cluster, read_cluster_line(words, {nodes_, partitions_, policy_, topology_, power_, depth_}));
  if (about_cluster) return {};
  if (words[0] == "sacctmgr") {
    lines_.push_back({number, 0, words});
  } else if (words[0] == "expect" && words.size() > 2 && second(words[1])) {
    expectations_.push_back({number, *second(words[1]), {words.begin() + 2, words.end()}});
  } else if (second(words[0]) && words.size() > 1) {
    lines_.push_back({number, *second(words[0]), {words.begin() + 1, words.end()}});
  } else {
    return fail(Errc::invalid, "not a scenario line: '" + words[0] + "'");
  }
  return {};
}

void Scenario::configure() {
  PartitionDef main;
  main.name = "main";
  main.all_nodes = true;
  main.is_default = true;
  for (const NodeDef& node : nodes_) main.nodes.push_back(node.name);
  partitions_.insert(partitions_.begin(), main);
  happen({ControllerStarted{Epoch{1}, at_second(0)},
          ClusterConfigured{nodes_, partitions_, policy_, at_second(0), topology_}});
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].kind == NodeKind::normal) register_node(NodeIndex{i});
}

void Scenario::register_node(NodeIndex index) {
  const NodeDef& def = *state_.node(index).def;
  Inventory has{def.cpus, def.memory, {}, {}, {}, {}, {}, {}, {}};
  if (now_ > 0) has.agent_started_at = at_second(now_);
  happen(decide_register(state_, {index, "boot", std::move(has), "spool"}, at_second(now_)));
}

void Scenario::note_power(const NodesPowered& e) {
  for (const NodeIndex index : e.nodes) {
    note("power " + state_.node(index).def->name + " " + power_word(e.change));
    power_.boots.erase(index);
    if (e.change == PowerChange::coming_up && !power_.broken.contains(state_.node(index).def->name))
      power_.boots[index] = now_ + power_.boot;
  }
}

// Its own time begins when nothing is waited for any more.
void Scenario::may_begin(JobKey key, bool waited) {
  const Job* job = state_.find_job(key);
  if (!waited || !job || job->state != JobState::running || job->boots || job->program != JobProgram::none) return;
  const PlannedRun& planned = planned_[job->array.value != 0 ? job->array : leader_of(*job)];
  if (!job->is_component()) ends_[key] = now_ + planned.programs.prolog + planned.run;
  note("ready " + name_of(*job));
}

void Scenario::see_to_power() {
  std::vector<NodeIndex> up;
  for (const auto& [index, at] : power_.boots)
    if (at <= now_) up.push_back(index);
  for (const NodeIndex index : up) {
    power_.boots.erase(index);
    std::vector<JobKey> waiting;
    for (const JobKey key : state_.node(index).jobs)
      for (const JobKey each : whole_of(state_.job(key)))
        if (state_.job(each).boots) waiting.push_back(each);
    register_node(index);
    note("power " + state_.node(index).def->name + " on");
    for (const JobKey key : waiting) may_begin(key, true);
  }
  for (auto events = decide_power(state_, at_second(now_)); !events.empty();
       events = decide_power(state_, at_second(now_)))
    happen(events);
}

std::string Scenario::name_of(const Job& job) const {
  const auto it = shown_.find(job.array.value != 0 ? job.array : leader_of(job));
  const std::string name = it == shown_.end() ? std::to_string(job.id.value) : it->second;
  if (job.het) return name + "+" + std::to_string(job.het->offset);
  return job.array_task ? name + "_" + std::to_string(*job.array_task) : name;
}

void Scenario::started(const JobPlaced& placed) {
  const Job& job = state_.job(placed.key);
  std::vector<std::string> nodes;
  for (const NodeShare& share : placed.shares) nodes.push_back(state_.node(share.node).def->name);
  note("start " + name_of(job) + " " + compress_hostlist(nodes));
  note_details(name_of(job), placed);
  left_.erase(placed.key);
  const PlannedRun& planned = planned_[job.array.value != 0 ? job.array : leader_of(job)];
  // A further component has nothing to do of its own: it ends when it is told to.
  ends_[placed.key] = job.program == JobProgram::prolog || job.boots || job.is_component()
                          ? INT64_MAX
                          : now_ + planned.programs.prolog + planned.run;
  if (!power_.note_fate(placed.key, nodes.front())) ends_[placed.key] = now_ + 1;
}

void Scenario::happen(const std::vector<Event>& events) {
  for (const Event& event : events) {
    // What the event is about, and what goes with it: their ends are told.
    std::vector<JobKey> alive, booting;
    std::visit(
        [&](const auto& e) {
          if constexpr (requires { e.key; })
            if (const Job* job = state_.find_job(e.key))
              for (const JobKey key : whole_of(*job))
                if (state_.job(key).state != JobState::ended) alive.push_back(key);
        },
        event);
    for (const JobKey key : alive)
      if (state_.job(key).boots) booting.push_back(key);
    apply(state_, event);
    if (const auto broken = broken_law(state_))
      problems_.push_back("t=" + std::to_string(now_) + " law broken: " + *broken);
    if (const auto* placed = std::get_if<JobPlaced>(&event)) started(*placed);
    if (const auto* placed = std::get_if<HetJobPlaced>(&event))
      for (const JobPlaced& component : placed->components) started(component);
    for (const JobKey key : booting)
      may_begin(key, true);  // a component that went may have been all that was waited for
    if (const auto* e = std::get_if<NodesPowered>(&event)) note_power(*e);
    const auto stopped = [&](JobKey key) {
      note("suspend " + name_of(state_.job(key)));
      left_.try_emplace(key, ends_[key] - now_);
      ends_[key] = INT64_MAX;
    };
    const auto resumed = [&](JobKey key) {
      note("resume " + name_of(state_.job(key)));
      ends_[key] = now_ + left_[key];
      left_.erase(key);
    };
    if (const auto* e = std::get_if<JobProgramEnded>(&event)) {
      const Job* job = state_.find_job(e->key);
      const PlannedRun& planned = planned_[job->array.value != 0 ? job->array : job->key];
      if (job->state == JobState::running && !job->boots) ends_[e->key] = now_ + planned.programs.prolog + planned.run;
      if (job->state == JobState::running && !job->boots) note("ready " + name_of(*job));
    }
    if (const auto* e = std::get_if<JobLostNode>(&event))
      note("lose " + name_of(state_.job(e->key)) + " " + state_.node(e->node).def->name);
    if (const auto* e = std::get_if<JobShrunk>(&event)) shrunk(*e);
    if (const auto* e = std::get_if<JobSuspended>(&event)) stopped(e->key);
    if (const auto* e = std::get_if<JobResumed>(&event)) resumed(e->key);
    if (const auto* e = std::get_if<TimeSliceTurned>(&event)) {
      for (const JobKey key : e->suspended) stopped(key);
      for (const JobKey key : e->resumed) resumed(key);
    }
    for (const JobKey key : alive)
      if (const Job* job = state_.find_job(key); job && job->state == JobState::ended)
        for (const std::string& words : end_in_words(name_of(*job), *job)) note(words);
  }
}

// The nodes it gives up have nothing of it to end here.
void Scenario::shrunk(const JobShrunk& e) {
  for (const NodeIndex node : e.nodes) {
    note("give_up " + name_of(state_.job(e.key)) + " " + state_.node(node).def->name);
    happen(decide_end(state_, {e.key, e.attempt, node, AttemptEnd::exited, 0, 0}, e.at));
  }
}

// What a start is made of, for those who expect it: tasks, CPUs, devices by node, and licences.
void Scenario::note_details(const std::string& name, const JobPlaced& placed) {
  for (const NodeShare& share : placed.shares) {
    const NodeDef& def = *state_.node(share.node).def;
    note("tasks " + name + " " + def.name + " " + std::to_string(share.tasks));
    if (!share.detail) continue;
    note("cpus " + name + " " + def.name + " " + format_bits(share.detail->cpus));
    note("devices " + name + " " + def.name + " " + format_share(def, share.detail->devices, share.detail->gres));
  }
  if (!placed.licences.empty()) note("licences " + name + " " + format_licences(placed.licences));
}

// dep=afterok:a names jobs by their scenario name.
void Scenario::name_dependencies(std::string& dependency) const {
  for (const auto& [name, id] : names_) {
    const std::string from = ":" + name;
    for (std::size_t at = 0; (at = dependency.find(from, at)) != std::string::npos; ++at) {
      const std::size_t end = at + from.size();
      const bool whole =
          end == dependency.size() || std::string_view{":,?_+"}.find(dependency[end]) != std::string_view::npos;
      if (whole) dependency.replace(at, from.size(), ":" + std::to_string(id.value));
    }
  }
}

// submit NAME KEY=VALUE ... [: KEY=VALUE ...]: what stands after a ':' is a further component of a heterogeneous job.
void Scenario::submit(const Words& words) {
  std::vector<SubmitJob> asks;
  std::vector<PlannedRun> planned;
  std::optional<ScenarioJob> leader;
  for (std::size_t from = 2; from <= words.size();) {
    const std::size_t until = static_cast<std::size_t>(
        std::find(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), ":") - words.begin());
    ScenarioJob component;
    read_job(words[1], std::span(words).subspan(from, until - from), users_, component, problems_);
    name_dependencies(component.ask.dependency);
    if (leader) component.ask.spec.owner = leader->ask.spec.owner;
    asks.push_back(component.ask);
    planned.push_back(component.planned);
    if (!leader) leader = std::move(component);
    from = until + 1;
  }
  const auto decision = decide(state_, asks, Actor{leader->owner.uid, leader->owner.uid.value == 0}, at_second(now_));
  if (!decision) {
    note("refused " + words[1] + " " + slurm_text(decision.error().code));
    for (const std::string& why : decision.error().notes) note("why " + words[1] + " " + why);
    return;
  }
  names_[words[1]] = decision->id;
  const JobKey key = state_.next_key;
  shown_[key] = words[1];
  for (std::size_t i = 0; i < planned.size(); ++i) planned_[JobKey{key.value + i}] = planned[i];
  happen(decision->events);
}

// As after a crash: all that is known comes from a snapshot.
void Scenario::restart() {
  const auto decoded = decode_state(encode_state(state_));
  const auto other = decoded ? first_difference(state_, *decoded) : decoded.error().story;
  if (other) return problems_.push_back("t=" + std::to_string(now_) + " a snapshot gives another state: " + *other);
  state_ = *decoded;
  memo_.emplace();
}

const Job* Scenario::find_named(const std::string& name) const {
  const std::size_t plus = name.find('+');
  const auto named = names_.find(name.substr(0, plus));
  if (named == names_.end()) return nullptr;
  const auto offset =
      plus == std::string::npos ? 0 : parse_integer(std::string_view{name}.substr(plus + 1)).value_or(0);
  return state_.find_job(JobId{named->second.value + static_cast<std::uint32_t>(offset)});
}

void Scenario::reserve(const Words& words) {
  const auto ask = read_reservation(words, at_second(now_));
  if (!ask) return problems_.push_back(ask.error().story);
  const auto decision = state_.find_reservation(ask->name)
                            ? decide_change_reservation(state_, *ask, Actor{UserId{0}, true}, at_second(now_))
                            : decide_reserve(state_, *ask, Actor{UserId{0}, true}, at_second(now_));
  if (!decision) return note("refused " + words[1] + " " + slurm_text(decision.error().code));
  happen(decision->events);
  note_nodes_of(*state_.find_reservation(decision->name));
}

void Scenario::note_nodes_of(const Reservation& reservation) {
  std::vector<std::string> names;
  for (const std::uint32_t node : reservation.nodes) names.push_back(state_.node(NodeIndex{node}).def->name);
  note("reserved " + reservation.name + " " + compress_hostlist(names));
}

void Scenario::act(const Line& line) {
  const Words& words = line.words;
  const Actor root{UserId{0}, true};
  const Time now = at_second(now_);
  if (words[0] == "submit") return submit(words);
  if (words[0] == "restart") return restart();
  if (words[0] == "sacctmgr") {
    const auto events = sacctmgr_events(state_, {words.begin() + 1, words.end()}, now);
    if (!events) return problems_.push_back("line " + std::to_string(line.number) + ": " + events.error().story);
    return happen(*events);
  }
  if (words.size() < 2)
    return problems_.push_back("line " + std::to_string(line.number) + ": what is '" + words[0] + "' about?");
  const auto done = [&](const Decision& decision) {
    if (decision)
      happen(*decision);
    else
      note("refused " + words[1] + " " + slurm_text(decision.error().code));
  };
  if (words[0] == "reserve") return reserve(words);
  if (words[0] == "partition") {  // made or changed, in the words of scontrol
    const auto def = partition_from_words(state_, words[1], {words.begin() + 2, words.end()}, {});
    if (!def) return problems_.push_back("line " + std::to_string(line.number) + ": " + def.error().story);
    return done(decide_set_partition(state_, *def, !state_.find_partition(words[1]), root, now));
  }
  if (words[0] == "unpartition") return done(decide_delete_partition(state_, words[1], root, now));
  if (words[0] == "unreserve") return done(decide_remove_reservation(state_, words[1], root, now));
  if (read_health(words, power_)) return;
  if (words[0] == "create") {
    NodeDef def = nodes_.front();
    def.name = words[1];
    for (std::size_t i = 2; i < words.size(); ++i)
      if (const auto known = read_node_word(words[i], def); !known || !*known)
        return problems_.push_back("unknown node key '" + words[i] + "'");
    return done(decide_create_node(state_, def, root, now));
  }
  if (words[0] == "register" || words[0] == "delete" || is_power_word(words[0]) || words[0] == "future") {
    const auto node = state_.find_node(words[1]);
    if (!node) return problems_.push_back("no node " + words[1]);
    if (words[0] == "register") return register_node(*node);
    if (words[0] == "delete") return done(decide_delete_node(state_, *node, root, now));
    return done(decide_change_node(state_, {*node, words[0], ""}, root, now));
  }
  if (words[0] == "drain" || words[0] == "undrain" || words[0] == "resume" || words[0] == "down" ||
      words[0] == "node") {
    const auto node = state_.find_node(words[1]);
    if (!node) return problems_.push_back("no node " + words[1]);
    ChangeNode ask{*node, words[0] == "node" ? "" : words[0],
                   words[0] == "drain" || words[0] == "down" ? "scenario" : ""};
    for (std::size_t i = 2; i < words.size(); ++i)
      if (!read_node_change(words[i], ask.change, now))
        return problems_.push_back("unknown node key '" + words[i] + "'");
    return done(decide_change_node(state_, ask, root, now));
  }
  std::string base = words[1], tasks;
  if (const std::size_t bar = base.find('_'); bar != std::string::npos)
    tasks = base.substr(bar + 1), base = base.substr(0, bar);
  if (const std::size_t plus = base.find('+'); plus != std::string::npos)
    tasks = base.substr(plus), base = base.substr(0, plus);
  const auto selected = select_jobs(state_, {names_[base], tasks});
  if (!selected) return note("refused " + words[1] + " " + slurm_text(selected.error().code));
  for (const SelectedJob& which : *selected) {
    if (words[0] != "update" && follows_leader(state_.job(which.key), which)) continue;
    if (words[0] == "cancel")
      done(decide_cancel(state_, which, root, now));
    else if (words[0] == "hold")
      done(decide_hold(state_, which, false, root, now));
    else if (words[0] == "release")
      done(decide_release(state_, which, root, now));
    else if (words[0] == "requeue")
      done(decide_requeue(state_, which, false, root, now));
    else if (words[0] == "suspend")
      done(decide_suspend(state_, which, root, now));
    else if (words[0] == "continue")
      done(decide_resume(state_, which, root, now));
    else if (words[0] == "update") {
      ModifyJob ask;
      for (std::size_t i = 2; i < words.size(); ++i) {
        const auto parts = split(words[i], '=');
        const auto count = static_cast<std::uint32_t>(parse_integer(parts.back()).value_or(0));
        if (parts[0] == "limit")
          ask.change.time_limit_minutes = (count + 59) / 60;
        else if (parts[0] == "priority")
          ask.change.priority = count;
        else if (parts[0] == "cpus")
          ask.change.cpus_per_task = count;
        else if (parts[0] == "all_cpus")
          ask.min_cpus = count;
        else if (parts[0] == "reset_accrue")
          ask.reset_accrue = true;
        else if (parts[0] == "site")
          ask.extras = [points = static_cast<std::int32_t>(parse_integer(parts.back()).value_or(0))](
                           JobExtras& extras) { extras.site_factor = points; };
        else if (parts[0] == "nodes" && words[i].find_first_of(",:") != std::string::npos)
          ask.wishes.node_counts = std::string{parts.back()};
        else if (parts[0] == "nodes")
          ask.change.min_nodes = ask.change.max_nodes = count;
        else if (parts[0] == "throttle")
          ask.change.array_throttle = count;
        else if (parts[0] == "partition")
          ask.partition = std::string{parts.back()};
        else if (parts[0] == "nodelist")
          ask.required_nodes = std::string{parts.back()};
        else if (!read_wish(parts[0], std::string{words[i]}.substr(std::min(parts[0].size() + 1, words[i].size())),
                            ask.wishes))
          problems_.push_back("unknown update key '" + words[i] + "'");
      }
      done(decide_modify(state_, which, ask, root, now));
    } else {
      problems_.push_back("line " + std::to_string(line.number) + ": unknown action '" + words[0] + "'");
    }
  }
}

// An end may be that of others too: of the components of a heterogeneous job, or of its leader.
void Scenario::end_what_is_over() {
  for (std::uint64_t before = state_.version + 1; before != state_.version;) {
    before = state_.version;
    end_each();
  }
}

void Scenario::end_each() {
  std::vector<JobKey> active;
  for (const auto& [key, nothing] : state_.active) active.push_back(key);
  for (const JobKey key : active) {
    for (auto events = decide_leave_unpowered(state_, key, at_second(now_)); !events.empty();
         events = decide_leave_unpowered(state_, key, at_second(now_)))
      happen(events);
    if (!state_.active.contains(key) || !state_.job(key).is_on_nodes()) continue;
    const Job& job = state_.job(key);
    const PlannedRun& planned = planned_[job.array.value != 0 ? job.array : job.key];
    const bool prolog_failed = planned.programs.prolog_fails && job.attempt.value == 0 &&
                               job.state == JobState::running && job.program == JobProgram::none &&
                               now_ >= job.started_at.seconds() - 1'000'000 + planned.programs.prolog;
    const bool killed = job.state == JobState::completing;
    if (job.program == JobProgram::epilog || (!killed && !prolog_failed && ends_[key] > now_)) continue;
    const bool short_of_memory = !killed && planned.out_of_memory;
    const AttemptEnd end = prolog_failed                    ? AttemptEnd::prolog_failed
                           : power_.ill_fated.contains(key) ? AttemptEnd::launch_failed
                           : short_of_memory                ? AttemptEnd::out_of_memory
                                                            : AttemptEnd::exited;
    const std::uint32_t exit_code = killed || short_of_memory ? 0 : planned.exit_code;
    const std::uint32_t exit_signal = killed ? 15u : short_of_memory ? 125u : 0u;
    end_on_nodes(job, {key, job.attempt, {}, end, exit_code, exit_signal, {}, planned.programs.epilog_fails});
  }
}

// Where an epilog takes a while, the nodes are free only after it.
void Scenario::end_on_nodes(const Job& job, const ReportEnd& how) {
  const JobKey key = job.key;
  const std::int64_t takes = planned_[job.array.value != 0 ? job.array : job.key].programs.epilog;
  const std::vector<NodeShare> shares = job.placement->shares;
  for (const NodeShare& share : shares) {
    ReportEnd here = how;
    here.node = share.node;
    here.words = "nothing of it began";  // said of a failed launch only
    if (takes > 0 && !share.exited) {
      happen(decide_exit(state_, here, at_second(now_)));
      program_times_.epilog[key] = now_ + takes;
    } else if (takes == 0 || program_times_.epilog[key] <= now_) {
      happen(decide_end(state_, here, at_second(now_)));
    }
  }
}

// What the controller runs: begun when it is first seen to be wanted, done when its time is over.
void Scenario::end_programs() {
  std::vector<JobProgramEnded> over;
  for (const auto& [key, nothing] : state_.active) {
    const Job& job = state_.job(key);
    if (job.program == JobProgram::none) continue;
    const PlannedPrograms& planned = planned_[job.array.value != 0 ? job.array : job.key].programs;
    const bool prolog = job.program == JobProgram::prolog;
    const auto due = program_times_.controller
                         .try_emplace({key, job.attempt, job.program},
                                      now_ + (prolog ? planned.controller_prolog : planned.controller_epilog))
                         .first;
    if (due->second <= now_)
      over.push_back({key, job.attempt, job.program,
                      prolog && planned.controller_prolog_fails && job.attempt.value == 0, at_second(now_)});
  }
  for (const JobProgramEnded& end : over) happen(decide_program_end(state_, end));
}

void Scenario::plan_until_quiet() {
  for (bool again = true; again;) {
    again = false;
    happen(decide_resumptions(state_, at_second(now_)));
    for (const Event& event : decide_replacements(state_, at_second(now_))) {
      happen({event});
      note_nodes_of(std::get<ReservationSet>(event).reservation);
    }
    Pass pass(state_, planner_settings(policy_, depth_), at_second(now_), &*memo_);
    while (!pass.advance(7)) {
    }
    Plan plan = pass.take();
    findings_ = plan.findings;
    for (const Preemption& p : plan.preemptions)
      if (p.suspend) happen(decide_preempt(state_, {p.key, p.attempt, p.by, p.where}, at_second(now_)));
    for (const Proposal& p : plan.placements) {
      Reason why = Reason::none;
      const auto events = decide_place(state_, to_place(p), at_second(now_), &why);
      if (events.empty()) findings_.push_back({p.key, why, {}, {}, p.partition});  // it knew the amounts, not the way
      if (events.empty() && why == Reason::none)
        problems_.push_back("t=" + std::to_string(now_) + " the planner proposed what admission refused");
      again = again || !events.empty();
      happen(events);
    }
    for (const Preemption& p : plan.preemptions) {
      if (p.suspend) continue;
      const auto events = decide_preempt(state_, {p.key, p.attempt, p.by, p.where}, at_second(now_));
      for (const Event& event : events) note("preempt " + name_of(state_.job(std::get<JobPreempted>(event).key)));
      again = again || !events.empty();
      happen(events);
    }
    if (!plan.preemptions.empty()) end_what_is_over();
  }
}

std::int64_t Scenario::next_time() const {
  std::int64_t next = INT64_MAX;
  const auto consider = [&](std::int64_t at) {
    if (at > now_) next = std::min(next, at);
  };
  for (const Line& line : lines_) consider(line.at);
  for (const Line& line : expectations_) consider(line.at);
  for (const auto& [key, nothing] : state_.active)
    if (ends_.at(key) != INT64_MAX) consider(ends_.at(key));
  for (const auto& [id, reservation] : state_.reservations)
    if (!reservation->has(reserve_time_float)) consider(reservation->start.seconds() - 1'000'000);
  for (const std::int64_t at : program_times_.all(state_)) consider(at);
  for (const auto& [key, nothing] : state_.active)
    if (const Job& job = state_.job(key);
        planned_.contains(job.key) && planned_.at(job.key).programs.prolog_fails && job.state == JobState::running)
      consider(job.started_at.seconds() - 1'000'000 + planned_.at(job.key).programs.prolog);
  if (const Time due = next_deadline(state_); due != never) consider(due.seconds() - 1'000'000);
  for (const auto& [index, at] : power_.boots) consider(at);
  if (const Time due = next_power_change(state_, at_second(now_)); due != never) consider(due.seconds() - 1'000'000);
  return next;
}

void Scenario::check_reasons() {
  for (const Line& line : expectations_) {
    if (line.at != now_ || line.words.size() < 3) continue;
    const Job* about = find_named(line.words[1]);
    if (std::string said = account_answer(state_, line.words, about, at_second(now_)); !said.empty())
      note(std::move(said));
    const PlannerSettings settings = planner_settings(policy_, depth_);
    if (std::string said = explain_answer(state_, settings, line.words, about, at_second(now_)); !said.empty())
      note(std::move(said));
    if (line.words[0] != "reason" || !about) continue;
    note("reason " + line.words[1] + " " + slurm_word(squeue_reason(state_, *about, findings_, at_second(now_))));
  }
}

void Scenario::run() {
  now_ = -1;
  for (std::int64_t next = next_time(); next != INT64_MAX && next < 10'000'000; next = next_time()) {
    now_ = next;
    see_to_power();
    end_programs();
    end_what_is_over();
    end_programs();
    for (;;) {
      const auto events = decide_expired(state_, at_second(now_));
      if (events.empty()) break;
      for (const Event& event : events)
        if (const auto* removed = std::get_if<ReservationRemoved>(&event))
          note("unreserved " + state_.reservations.at(removed->id)->name);
      happen(events);
    }
    for (const Line& line : lines_)
      if (line.at == now_) act(line);
    happen(decide_resumptions(state_, at_second(now_)));
    end_what_is_over();  // what was just cancelled, timed out or requeued is gone within the second
    end_programs();
    plan_until_quiet();
    see_to_power();
    end_programs();
    check_reasons();
  }
}

std::vector<std::string> Scenario::verdict() const {
  std::vector<std::string> out = problems_;
  for (const Line& line : expectations_) {
    std::string what;
    for (const std::string& word : line.words) what += (what.empty() ? "" : " ") + word;
    const std::string said =
        "line " + std::to_string(line.number) + ": expected t=" + std::to_string(line.at) + " " + what;
    if (line.words[0] == "starts") {
      const auto count = std::ranges::count_if(
          happened_, [&](const Happened& h) { return h.at == line.at && h.what.starts_with("start "); });
      if (std::to_string(count) != line.words.back()) out.push_back(said + ", saw " + std::to_string(count));
      continue;
    }
    if (std::ranges::any_of(happened_, [&](const Happened& h) { return h.at == line.at && h.what == what; })) continue;
    std::string seen;
    const std::string about = line.words[0] + " " + (line.words.size() > 1 ? line.words[1] : "") + " ";
    for (const Happened& h : happened_)
      if (h.what.starts_with(about)) seen += (seen.empty() ? "" : ", ") + ("t=" + std::to_string(h.at) + " " + h.what);
    out.push_back(said + "; saw " + (seen.empty() ? "nothing of it" : seen));
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> run_scenario(std::string_view text) {
  Scenario scenario;
  MR_TRY_VOID(scenario.read(text));
  scenario.run();
  return scenario.verdict();
}

}  // namespace millrace
