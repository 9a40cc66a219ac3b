// src/controller/requests/queries.cpp - see queries.h.
#include "controller/requests/queries.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "controller/views/accounted.h"
#include "controller/views/resources.h"
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

Privacy Queries::privacy() const { return {*c_.commit.durable().policy, asker_.uid, actor_.is_admin}; }

void Queries::as_user(bool needed,
                      std::move_only_function<void(Services&, const Asker&, const UserIdentity&)> answer) const {
  if (!needed) return answer(c_, asker_, UserIdentity{asker_.uid, asker_.gid, {}, {}, {}});
  const bool looks = c_.askers.name(asker_, [&c = c_, asker = asker_, answer = std::move(answer)](
                                                const UserIdentity& user) mutable { answer(c, asker, user); });
  if (!looks) refuse_with({RefusalCode::disabled, {"compute nodes ask for the names of too many users; ask again"}});
}

// What needs no worker.
void Queries::answer_at_once(RowWalk& walk) const {
  for (bool more = true; more;) {
    std::string bytes;
    more = walk.advance(bytes);
    c_.clients.reply_encoded(asker_.client, reply().SerializeAsString() + bytes);
  }
}

void Queries::ask_long(LongAnswers::Begin begin, bool for_asker_only) {
  wire::Request question = request_;
  question.clear_number();
  std::string text = privacy().own_question(question.SerializeAsString());
  if (for_asker_only) text += "/of " + std::to_string(asker_.uid.value);
  c_.queues.long_answers.ask(asker_, request_.number(), text, std::move(begin));
}

void JobQueries::jobs(const wire::QueryJobs& ask) {
  beside_hidden(ask.without_hidden(), [](JobQueries& self, HiddenPartitions hidden) {
    self.show_jobs(self.request_.query_jobs(), std::move(hidden));
  });
}

void JobQueries::steps(const wire::QuerySteps& ask) {
  beside_hidden(ask.without_hidden(), [](JobQueries& self, HiddenPartitions hidden) {
    self.show_steps(self.request_.query_steps(), std::move(hidden));
  });
}

void JobQueries::beside_hidden(bool wanted, std::move_only_function<void(JobQueries&, HiddenPartitions)> answer) {
  if (!wanted || actor_.is_admin || !HiddenPartitions::there_may_be(c_.commit.durable())) return answer(*this, {});
  as_user(true, [request = request_, answer = std::move(answer)](Services& c, const Asker& asker,
                                                                 const UserIdentity& user) mutable {
    JobQueries self{c, asker, request};
    answer(self, HiddenPartitions{c.commit.durable(), user});
  });
}

void JobQueries::show_jobs(wire::QueryJobs ask, HiddenPartitions hidden) {
  privacy().narrow(ask);
  const State& state = c_.commit.durable();
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

void JobQueries::script(const wire::GetScript& ask) {
  const State& state = c_.commit.durable();
  const Job* job = state.find_job(JobId{ask.job_id()});
  const KeptJob* kept = job ? nullptr : newest_kept(state, JobId{ask.job_id()});
  if (kept) job = kept->job.get();
  if (!job) return refuse_with(RefusalCode::invalid_job_id);
  // Its owner and those who run the cluster; a coordinator of its account may end it, and reads no secrets in it.
  if (!actor_.is_admin && job->spec->owner->uid != actor_.uid) return refuse_with(RefusalCode::access_denied);
  const Digest script = job->spec->script, environment = ask.with_environment() ? job->spec->environment : Digest{};
  const auto wanted = [](const Digest& digest) { return digest != Digest{}; };
  if (!wanted(script) && !wanted(environment)) return refuse_with(RefusalCode::script_missing);
  // Read one after the other, users in turn: the log has facts to write meanwhile.
  c_.queues.script_reads.ask(
      asker_, asker_.client,
      [&c = c_, client = asker_.client, script, environment, needs = wanted(environment),
       out = reply()](Task done) mutable {
        c.orders.payloads().find(PayloadId{script}, [&c, client, environment, needs, out = std::move(out),
                                                     done = std::move(done)](Result<std::string> bytes) mutable {
          if (bytes) {
            out.mutable_script()->set_script(*std::move(bytes));
          } else if (!needs) {
            put_refusal({RefusalCode::script_missing, {}}, *out.mutable_failure());
          }
          auto answer = [&c, client, done = std::move(done)](const wire::Reply& reply) mutable {
            c.clients.reply(client, reply);
            c.loop.post(std::move(done));
          };
          if (!needs) return answer(out);
          c.orders.payloads().find(PayloadId{environment}, [out = std::move(out), answer = std::move(answer)](
                                                               Result<std::string> more) mutable {
            if (more) out.mutable_script()->set_environment(*std::move(more));
            answer(out);
          });
        });
      });
}

void JobQueries::number(const wire::NumberJob& ask) {
  // Of one that is gone all that are kept are looked at.
  struct Work {
    State state;
    std::optional<JobId> id;
  };
  const auto work = std::make_shared<Work>(Work{c_.commit.durable(), {}});
  FairWorker::Piece piece{[work, key = JobKey{ask.key()}] { work->id = number_of(work->state, key); },
                          [work, &c = c_, asker = asker_, request = request_] {
                            const JobQueries self{c, asker, request};
                            if (!work->id) return self.refuse_with(RefusalCode::invalid_job_id);
                            wire::Reply out = self.reply();
                            out.mutable_job_number()->set_job_id(work->id->value);
                            c.clients.reply(asker.client, out);
                          }};
  c_.queues.query_worker.ask(asker_, asker_.client, [piece = std::move(piece)]() mutable { return std::move(piece); });
}

}  // namespace millrace
