// src/controller/queries.cpp - see queries.h.
#include "controller/queries.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "controller/accounted.h"
#include "controller/resources.h"
#include "core/admission/job_selection.h"
#include "core/ledger/kept_jobs.h"

namespace millrace {
namespace {

constexpr int rows_per_reply = 4000;
constexpr std::size_t bytes_per_reply = 400u << 10;  // whatever a row holds

wire::Reply jobs_reply(const ReadView& snapshot, std::uint64_t number) {
  wire::Reply out;
  out.set_number(number);
  out.mutable_jobs()->set_now_us(snapshot.now.value);
  if (snapshot.plan->made_at.is_set()) out.mutable_jobs()->set_planned_at_us(snapshot.plan->made_at.value);
  return out;
}

// All jobs, or those an index names.
struct JobWalk final : RowWalk {
  JobWalk(ReadView v, wire::QueryJobs a, HiddenPartitions h)
      : view(std::move(v)), ask(std::move(a)), hidden(std::move(h)) {
    if (ask.accounting()) kept_from = KeptNumber{0};
  }
  ReadView view;
  wire::QueryJobs ask;
  HiddenPartitions hidden;
  JobKey from;
  std::optional<KeptNumber> kept_from;   // hidden ones come first, where they are asked for
  std::optional<Priorities> priorities;  // of the view's state, made on the worker
  std::optional<std::vector<JobKey>> listed;
  std::size_t next_listed = 0;
  int rows = 0;  // of the reply that is being made; a step is one too
  std::size_t bytes = 0;
  bool full() const { return rows >= rows_per_reply || bytes >= bytes_per_reply; }

  bool advance(std::string& encoded) override {
    if (!priorities) {
      priorities.emplace(view.state, view.now);
      make_list();
    }
    wire::Reply reply = jobs_reply(view, 0);
    rows = 0;
    bytes = 0;
    if (kept_from) kept_rows(reply);
    const bool more = kept_from || (listed ? listed_rows(reply) : all_rows(reply));
    reply.set_more(more);
    encoded = reply.SerializeAsString();
    return more;
  }

  // Where few of very many jobs are asked for, those are found without looking at the others.
  void make_list() {
    if (ask.accounting() || ask.finished_too()) return;
    const State& state = view.state;
    const auto fits = [&](JobKey key) { return !ask.has_uid() || state.job(key).spec->owner->uid.value == ask.uid(); };
    if (ask.placed_only()) {
      listed.emplace();
      for (const auto& [key, nothing] : state.active)
        if (fits(key)) listed->push_back(key);
    } else if (ask.has_uid()) {
      listed.emplace();
      for (auto it = state.live_names.lower_bound({UserId{ask.uid()}, 0, JobKey{0}});
           it != state.live_names.end() && (*it).first.uid.value == ask.uid(); ++it)
        listed->push_back((*it).first.key);
      std::ranges::sort(*listed);
    }
  }
  bool listed_rows(wire::Reply& reply) {
    for (; next_listed < listed->size() && !full(); ++next_listed) {
      const Job& job = view.state.job((*listed)[next_listed]);
      if (!hidden.hides(job)) show(job, reply);
    }
    return next_listed < listed->size();
  }
  bool all_rows(wire::Reply& reply) {
    auto it = view.state.jobs.lower_bound(from);
    for (; it != view.state.jobs.end() && !full(); ++it) {
      const Job& job = *(*it).second;
      if (!ask.finished_too() && job.state == JobState::ended) continue;
      if ((ask.has_uid() && job.spec->owner->uid.value != ask.uid()) || hidden.hides(job)) continue;
      if (!ask.accounting())
        show(job, reply);
      else if (is_asked(view.state, ask, job))
        accounted(job, nullptr, reply);
    }
    if (it == view.state.jobs.end()) return false;
    from = (*it).first;
    return true;
  }

  wire::JobView* add_row(wire::Reply& reply) {
    ++rows;
    return reply.mutable_jobs()->add_jobs();
  }
  void show(const Job& job, wire::Reply& reply) {
    wire::JobView* row = add_row(reply);
    show_job(view, *priorities, job, ask.brief(), *row);
    bytes += row->ByteSizeLong();
  }
  void accounted(const Job& job, const KeptJob* kept, wire::Reply& reply) {
    wire::JobView* row = add_row(reply);
    show_accounted(view, *priorities, job, kept, *row);
    rows += row->accounted().steps_size();
    bytes += row->ByteSizeLong();
  }
  void kept_rows(wire::Reply& reply) {
    auto it = view.state.kept.lower_bound(*kept_from);
    for (; it != view.state.kept.end() && !full(); ++it)
      if (is_asked(view.state, ask, (*it).first, *(*it).second, view.now))
        accounted(*(*it).second->job, (*it).second.get(), reply);
    if (it == view.state.kept.end())
      kept_from.reset();
    else
      kept_from = (*it).first;
  }
};

// Each job once, however often it is named; of an array's rest those tasks that are named (empty: all).
struct NamedJobs {
  std::vector<std::pair<JobKey, std::vector<IndexSet::Range>>> rows;
  std::map<JobKey, std::size_t> at;

  // The array's rest first, then its tasks from the newest: scontrol's order.
  void add(const State& state, const std::vector<SelectedJob>& selected) {
    if (selected.empty()) return;
    const bool in_order = state.job(selected.front().key).is_het_leader() ||
                          state.job(selected.front().key).is_component();  // components in their own order
    for (std::size_t i = 0; i < selected.size(); ++i) {
      const SelectedJob& which = selected[in_order ? i : selected.size() - 1 - i];
      const auto [it, fresh] = at.emplace(which.key, rows.size());
      if (fresh) rows.push_back({which.key, {}});
      auto& tasks = rows[it->second].second;
      if (!which.task)
        tasks.clear();
      else if (fresh || !tasks.empty())
        tasks.push_back({*which.task, *which.task});
    }
  }
};

// `privately`: those of others are as if they were not there. False: too many are named.
bool named_jobs(const ReadView& snapshot, const wire::QueryJobs& ask, bool privately, wire::Jobs& out) {
  const Priorities priorities(snapshot.state, snapshot.now);
  NamedJobs named;
  JobSelector selector;
  for (const wire::JobName& name : ask.jobs()) {
    if (selector.is_exhausted()) return false;
    const auto selected = selector.select(snapshot.state, {JobId{name.job_id()}, name.tasks()});
    const Job* of_number = snapshot.state.find_job(JobId{name.job_id()});
    const bool is_there = of_number && (!privately || of_number->spec->owner->uid.value == ask.uid());
    if (is_there && selected)
      named.add(snapshot.state, *selected);
    else if (!is_there || name.tasks().empty())
      out.set_missing(out.missing() + 1);  // an array without that task is known, and shows nothing
  }
  for (auto& [key, ranges] : named.rows) {
    const IndexSet tasks = IndexSet::of(std::move(ranges));
    Job job = snapshot.state.job(key);
    if (ask.has_uid() && job.spec->owner->uid.value != ask.uid()) continue;
    if (tasks.size() == 1) job.array_task = tasks.front();
    wire::JobView& row = *out.add_jobs();
    show_job(snapshot, priorities, job, ask.brief(), row);
    if (tasks.size() > 1) row.set_array_tasks(format_index_set(tasks));
  }
  return true;
}

// What many names stand for: one part, and none of it on the loop.
struct NamedWalk final : RowWalk {
  NamedWalk(ReadView v, wire::QueryJobs a, bool p) : view(std::move(v)), ask(std::move(a)), privately(p) {}
  ReadView view;
  wire::QueryJobs ask;
  bool privately;
  bool advance(std::string& encoded) override {
    wire::Reply reply = jobs_reply(view, 0);
    const bool found = ask.accounting() ? named_accounted(view, ask, *reply.mutable_jobs())
                                        : named_jobs(view, ask, privately, *reply.mutable_jobs());
    if (!found) {
      put_refusal(JobSelector::refusal(), *reply.mutable_failure());
    }
    encoded = reply.SerializeAsString();
    return false;
  }
};

}  // namespace

wire::Reply Queries::reply() const {
  wire::Reply out;
  out.set_number(request_.number());
  return out;
}

// Operators too: what is private is hidden from users.
bool Queries::is_admin() const { return c_.actor_of(asker_, true).is_admin; }
Privacy Queries::privacy() const { return {*c_.commit_.durable().policy, asker_.uid, is_admin()}; }

void Queries::refuse(const Refusal& refusal) const {
  wire::Reply out = reply();
  put_refusal(refusal, *out.mutable_failure());
  c_.clients_.reply(asker_.client, out);
}

// Names and groups of the asker are looked up only where something depends on them.
static constexpr std::size_t plain_lookups_max = 16;

void Queries::as_user(bool needed,
                      std::move_only_function<void(Controller&, const Asker&, const UserIdentity&)> answer) const {
  if (!needed) return answer(c_, asker_, UserIdentity{asker_.uid, asker_.gid, {}, {}, {}});
  // A compute node may name whom it likes. Those it names do not keep others waiting for the name service.
  if (asker_.plain_user) {
    if (c_.plain_lookups_ >= plain_lookups_max)
      return refuse({RefusalCode::disabled, {"compute nodes ask for the names of too many users; ask again"}});
    ++c_.plain_lookups_;
  }
  c_.identities_.find(asker_.uid, asker_.gid,
                      [&c = c_, asker = asker_, answer = std::move(answer)](Result<UserIdentity> identity) mutable {
                        if (asker.plain_user) --c.plain_lookups_;
                        answer(c, asker, identity ? *identity : UserIdentity{asker.uid, asker.gid, {}, {}, {}});
                      });
}

bool Queries::handle() {
  using B = wire::Request::BodyCase;
  switch (request_.body_case()) {
    case B::kQueryJobs:
      beside_hidden(request_.query_jobs().without_hidden(), [](Queries& self, HiddenPartitions hidden) {
        self.jobs(self.request_.query_jobs(), std::move(hidden));
      });
      return true;
    case B::kQueryNodes:
      nodes(request_.query_nodes());
      return true;
    case B::kQueryPartitions:
      partitions(request_.query_partitions());
      return true;
    case B::kQueryConfig:
      config();
      return true;
    case B::kPing:
      ping();
      return true;
    case B::kQueryReservations:
      reservations(request_.query_reservations());
      return true;
    case B::kExplain:
      explain_job(request_.explain());
      return true;
    case B::kGetScript:
      script(request_.get_script());
      return true;
    case B::kNumberJob:
      number(request_.number_job());
      return true;
    case B::kQueryAccounts:
      accounts();
      return true;
    case B::kQueryPriorities:
      priorities();
      return true;
    case B::kQueryTransactions:
      transactions();
      return true;
    case B::kQueryLicences:
      licences();
      return true;
    case B::kQueryTopology:
      topology();
      return true;
    case B::kQuerySteps:
      beside_hidden(request_.query_steps().without_hidden(), [](Queries& self, HiddenPartitions hidden) {
        self.steps(self.request_.query_steps(), std::move(hidden));
      });
      return true;
    case B::kQueryDiagnostics:
      diagnostics(request_.query_diagnostics());
      return true;
    default:
      return false;
  }
}

void Queries::beside_hidden(bool wanted, std::move_only_function<void(Queries&, HiddenPartitions)> answer) {
  if (!wanted || is_admin() || !HiddenPartitions::there_may_be(c_.commit_.durable())) return answer(*this, {});
  as_user(true, [request = request_, answer = std::move(answer)](Controller& c, const Asker& asker,
                                                                 const UserIdentity& user) mutable {
    Queries self{c, asker, request};
    answer(self, HiddenPartitions{c.commit_.durable(), user});
  });
}

void Queries::jobs(wire::QueryJobs ask, HiddenPartitions hidden) {
  privacy().narrow(ask);
  const State& state = c_.commit_.durable();
  if (ask.jobs_size() > 0) {
    const auto begin = [&c = c_, ask, privately = privacy().hides(private_jobs)] {
      return std::make_unique<NamedWalk>(c.read_view(), ask, privately);
    };
    // A job or two, and no array that may stand for very many.
    const bool few = ask.jobs_size() < 3 && state.tasks.size() + state.kept_rows < 1000;
    return few ? answer_at_once(*begin()) : ask_long(begin);
  }
  const auto begin = [&c = c_, ask, hidden] { return std::make_unique<JobWalk>(c.read_view(), ask, hidden); };
  if (state.jobs.size() + (ask.accounting() ? state.kept_rows : 0) < 200) return answer_at_once(*begin());
  ask_long(begin, hidden.any());
}

// What needs no worker.
void Queries::answer_at_once(RowWalk& walk) const {
  for (bool more = true; more;) {
    std::string bytes;
    more = walk.advance(bytes);
    c_.clients_.reply_encoded(asker_.client, reply().SerializeAsString() + bytes);
  }
}

void Queries::ask_long(LongAnswers::Begin begin, bool for_asker_only) {
  wire::Request question = request_;
  question.clear_number();
  std::string text = privacy().own_question(question.SerializeAsString());
  if (for_asker_only) text += "/of " + std::to_string(asker_.uid.value);
  c_.long_answers_.ask(asker_, request_.number(), text, std::move(begin));
}

void Queries::nodes(const wire::QueryNodes& ask) {
  if (privacy().hides(private_nodes)) return refuse(RefusalCode::access_denied);
  const ReadView snapshot = c_.read_view();
  wire::Reply out = reply();
  wire::Nodes& nodes = *out.mutable_nodes();
  nodes.set_now_us(snapshot.now.value);
  if (ask.nodes().empty()) {
    // What is not there yet is not shown, unless somebody wants to see it.
    const auto hidden = [&](const Node& node) {
      return (node.future && !ask.future_too()) ||
             (node.def->kind == NodeKind::cloud && node.power.state == Power::off && node.jobs.empty() &&
              !snapshot.state.policy->power.show_cloud);
    };
    for (const auto& [index, node] : snapshot.state.nodes)
      if (node->configured && !hidden(*node)) show_node(snapshot, index, *node, *nodes.add_nodes());
  } else if (const auto names = expand_hostlist(ask.nodes()); names) {
    std::set<std::string_view> shown;  // each once, however often it is named
    for (const std::string& name : *names) {
      if (!shown.insert(name).second) continue;
      const auto it = c_.node_by_name_.find(name);
      const auto* node = it == c_.node_by_name_.end() ? nullptr : snapshot.state.nodes.find(it->second);
      if (node)
        show_node(snapshot, it->second, **node, *nodes.add_nodes());
      else
        nodes.add_missing(name);
    }
  } else {
    nodes.add_missing(ask.nodes());
  }
  c_.clients_.reply(asker_.client, out);
}

void Queries::partitions(const wire::QueryPartitions& ask) {
  const bool without_hidden =
      ask.without_hidden() && !is_admin() && HiddenPartitions::there_may_be(c_.commit_.durable());
  as_user(without_hidden || privacy().hides(private_partitions), [ask, without_hidden, privacy = privacy(),
                                                                  out = reply()](Controller& c, const Asker& asker,
                                                                                 const UserIdentity& user) mutable {
    const ReadView snapshot = c.read_view();
    const HiddenPartitions hidden = without_hidden ? HiddenPartitions{snapshot.state, user} : HiddenPartitions{};
    out.mutable_partitions();
    for (std::uint32_t index = 0; index < snapshot.state.partitions->size(); ++index) {
      const Partition& partition = (*snapshot.state.partitions)[index];
      if (partition.configured && (ask.name().empty() || ask.name() == partition.def.name) &&
          privacy.sees(partition.def, user) && !hidden.hides(PartitionIndex{index}))
        show_partition(snapshot, partition, *out.mutable_partitions()->add_partitions());
    }
    c.clients_.reply(asker.client, out);
  });
}

void Queries::script(const wire::GetScript& ask) {
  const State& state = c_.commit_.durable();
  const Job* job = state.find_job(JobId{ask.job_id()});
  const KeptJob* kept = job ? nullptr : newest_kept(state, JobId{ask.job_id()});
  if (kept) job = kept->job.get();
  if (!job) return refuse(RefusalCode::invalid_job_id);
  // Its owner and those who run the cluster; a coordinator of its account may end it, and reads no secrets in it.
  const Actor actor = c_.actor_of(asker_, true);
  if (!actor.is_admin && job->spec->owner->uid != actor.uid) return refuse(RefusalCode::access_denied);
  const Digest script = job->spec->script, environment = ask.with_environment() ? job->spec->environment : Digest{};
  const auto wanted = [](const Digest& digest) { return digest != Digest{}; };
  if (!wanted(script) && !wanted(environment)) return refuse(RefusalCode::script_missing);
  // Read one after the other, users in turn: the log has facts to write meanwhile.
  c_.script_reads_.ask(
      asker_, asker_.client,
      [&c = c_, client = asker_.client, script, environment, needs = wanted(environment),
       out = reply()](Task done) mutable {
        c.payloads_.find(PayloadId{script}, [&c, client, environment, needs, out = std::move(out),
                                             done = std::move(done)](Result<std::string> bytes) mutable {
          if (bytes) {
            out.mutable_script()->set_script(*std::move(bytes));
          } else if (!needs) {
            put_refusal({RefusalCode::script_missing, {}}, *out.mutable_failure());
          }
          auto answer = [&c, client, done = std::move(done)](const wire::Reply& reply) mutable {
            c.clients_.reply(client, reply);
            c.loop_.post(std::move(done));
          };
          if (!needs) return answer(out);
          c.payloads_.find(PayloadId{environment},
                           [out = std::move(out), answer = std::move(answer)](Result<std::string> more) mutable {
                             if (more) out.mutable_script()->set_environment(*std::move(more));
                             answer(out);
                           });
        });
      });
}

void Queries::number(const wire::NumberJob& ask) {
  // Of one that is gone all that are kept are looked at.
  struct Work {
    State state;
    std::optional<JobId> id;
  };
  const auto work = std::make_shared<Work>(Work{c_.commit_.durable(), {}});
  FairWorker::Piece piece{[work, key = JobKey{ask.key()}] { work->id = number_of(work->state, key); },
                          [work, &c = c_, asker = asker_, request = request_] {
                            const Queries self{c, asker, request};
                            if (!work->id) return self.refuse(RefusalCode::invalid_job_id);
                            wire::Reply out = self.reply();
                            out.mutable_job_number()->set_job_id(work->id->value);
                            c.clients_.reply(asker.client, out);
                          }};
  c_.query_worker_.ask(asker_, asker_.client, [piece = std::move(piece)]() mutable { return std::move(piece); });
}

void Queries::licences() {
  wire::Reply out = reply();
  *out.mutable_licences() = show_licences(c_.commit_.durable());
  c_.clients_.reply(asker_.client, out);
}

void Queries::topology() {
  wire::Reply out = reply();
  *out.mutable_topology() = show_topology(c_.commit_.durable());
  c_.clients_.reply(asker_.client, out);
}

void Queries::config() {
  wire::Reply out = reply();
  out.mutable_config()->set_now_us(c_.loop_.now().value);
  c_.hooks_.show_config(*out.mutable_config());
  c_.clients_.reply(asker_.client, out);
}

void Queries::diagnostics(const wire::QueryDiagnostics& ask) {
  wire::Reply out = reply();
  if (ask.reset() && !c_.actor_of(asker_, false).is_super) return refuse(RefusalCode::access_denied);
  if (ask.reset()) c_.diagnostics_.reset(c_.loop_.now());
  wire::Diagnostics& shown = *out.mutable_diagnostics();
  c_.diagnostics_.show(shown);
  const Time before = c_.loop_.now();
  Time now = before;
  for (int i = 0; i < 1000; ++i) now = c_.loop_.now();
  shown.set_clock_us((now - before).value);
  shown.set_now_us(now.value);
  const State& state = c_.commit_.durable();
  std::uint32_t running = 0;
  for (const auto& [key, nothing] : state.active) running += state.job(key).state == JobState::completing ? 0 : 1;
  shown.set_running(running);
  shown.set_pending(static_cast<std::uint32_t>(state.unsplit_tasks + state.live_names.size() -
                                               state.active.size()));  // what has not ended and holds no nodes
  shown.set_threads(5);  // the loop, and workers for the log, plans, queries and names
  for (const auto& [index, responds] : c_.observed_->responding)
    shown.set_nodes_connected(shown.nodes_connected() + (responds ? 1 : 0));
  c_.clients_.reply(asker_.client, out);
}

void Queries::ping() {
  wire::Reply out = reply();
  out.mutable_pong()->set_host(c_.settings_.host);
  out.mutable_pong()->set_epoch(c_.commit_.durable().epoch.value);
  out.mutable_pong()->set_version(c_.settings_.version);
  out.mutable_pong()->set_started_at_us(c_.started_at_.value);
  c_.clients_.reply(asker_.client, out);
}

}  // namespace millrace
