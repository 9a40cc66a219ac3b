// src/step/mpi/step_mpi.cpp - see step_mpi.h: PMI over a socket for each task; PMIx is in step_pmix.cpp.
#include "step/mpi/step_mpi.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <utility>

#include "base/hostlist.h"
#include "core/model/layout.h"
#include "mpi/pmi_server.h"
#include "step/attempt/supervisor.h"
#include "step/environment/environment.h"

namespace millrace {
namespace {

// A task that does not read its answers is not read either, and none is read for longer than a turn: the supervisor
// has others to serve, and its memory is not the job's.
constexpr std::size_t unsent_max = 1u << 20;
// What one task says may have answers to others: a value that many wait for, a fence. While this waits for all of them
// together none is read; a task that has more waiting than a task may is cut off.
constexpr std::size_t unsent_of_task_max = 16u << 20, unsent_of_step_max = 64u << 20;
constexpr int reads_per_turn = 4, last_reads = 64;

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

class PmiTasks final : public StepMpi {
 public:
  explicit PmiTasks(PmiFacts facts) : facts_(facts), server_(std::move(facts)) {}
  ~PmiTasks() override {
    for (auto& [rank, task] : tasks_) close_end(task);
  }

  Result<void> prepare_task(std::uint32_t rank, TaskSpec& spec) override {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return fail(Errc::unavailable, std::string{"make a socket for PMI: "} + std::strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    tasks_[rank].fd = ends[0];
    spec.kept_fd = ends[1];
    spec.environment.set_number("PMI_FD", ends[1]);
    spec.environment.set_number("PMI_RANK", rank);
    spec.environment.set_number("PMI_SIZE", facts_.size);
    spec.environment.set("PMI_JOBID", facts_.name);
    spec.environment.set("PMI_SPAWNED", "0");
    return {};
  }

  void task_started(const TaskSpec& spec) override { close(spec.kept_fd); }

  void task_ended(std::uint32_t rank, bool failed) override {
    const auto found = tasks_.find(rank);
    if (found == tasks_.end()) return;
    read_from(rank, found->second, last_reads);  // its last words may say why
    server_.task_ended(rank, failed);
    close_end(found->second);
  }

  void add_polls(std::vector<pollfd>& polls, bool may_read) const override {
    for (const auto& [rank, task] : tasks_) {
      if (task.fd < 0) continue;
      const int in = may_read && may_ask(task) ? POLLIN : 0, out = task.waits() == 0 ? 0 : POLLOUT;
      if ((in | out) != 0) polls.push_back({task.fd, static_cast<short>(in | out), 0});
    }
  }

  bool handle(const pollfd& ready) override {
    for (auto& [rank, task] : tasks_) {
      if (task.fd < 0 || ready.fd != task.fd) continue;
      if ((ready.revents & (POLLOUT | POLLHUP | POLLERR)) != 0) flush(task);
      if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(rank, task, reads_per_turn);
      return true;
    }
    return false;
  }

  void hear(const wire::MpiToNode& message) override {
    server_.hear(message);
    send_replies();
  }

  std::vector<wire::MpiFromNode> take_outgoing() override { return server_.take_outgoing(); }

 private:
  struct Task {
    int fd = -1;
    std::string unsent;
    std::size_t sent = 0;  // of it, at its front
    std::size_t waits() const { return unsent.size() - sent; }
  };

  bool may_ask(const Task& task) const { return task.waits() <= unsent_max && unsent_ <= unsent_of_step_max; }

  void drop_unsent(Task& task) {
    unsent_ -= task.waits();
    task.unsent = {};
    task.sent = 0;
  }

  void close_end(Task& task) {
    if (task.fd >= 0) close(task.fd);
    task.fd = -1;
    drop_unsent(task);
  }

  void read_from(std::uint32_t rank, Task& task, int reads) {
    char buffer[4096];  // what is asked in it has answers a hundred times as long
    for (; reads > 0 && task.fd >= 0 && may_ask(task); --reads) {
      const ssize_t count = recv(task.fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) break;
      if (count <= 0) {  // nobody holds the other end any more
        close_end(task);
        break;
      }
      server_.take(rank, {buffer, static_cast<std::size_t>(count)});
      send_replies();
    }
  }

  void send_replies() {
    for (auto& [rank, text] : server_.take_replies()) {
      Task& task = tasks_[rank];
      if (task.fd < 0) continue;
      task.unsent += text;
      unsent_ += text.size();
      flush(task);
      if (task.waits() > unsent_of_task_max) close_end(task);
    }
  }

  void flush(Task& task) {
    while (task.fd >= 0 && task.waits() > 0) {
      const ssize_t count = send(task.fd, task.unsent.data() + task.sent, task.waits(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno != EAGAIN) return drop_unsent(task);  // reading says that it is gone
      if (count < 0) break;
      task.sent += static_cast<std::size_t>(count);
      unsent_ -= static_cast<std::size_t>(count);
    }
    // Half of it at least, so that no byte is moved often.
    if (task.sent > task.unsent.size() / 2) task.unsent.erase(0, std::exchange(task.sent, 0));
  }

  PmiFacts facts_;
  PmiServer server_;
  std::map<std::uint32_t, Task> tasks_;
  std::size_t unsent_ = 0;  // of all tasks
};

}  // namespace

Result<std::vector<std::uint32_t>> node_of_each_task(const wire::LaunchPlan& plan) {
  const std::vector<std::uint32_t> counts(plan.tasks_per_node().begin(), plan.tasks_per_node().end());
  const std::uint32_t tasks = std::accumulate(counts.begin(), counts.end(), 0u);
  std::vector<std::uint32_t> out(tasks);
  const std::string& text = plan.job().resources().distribution();
  const Distribution distribution = plan.ranks_size() == 0
                                        ? Distribution{}
                                        : parse_distribution(text.empty() ? "block" : text).value_or(Distribution{});
  if (distribution.order == NodeOrderOfTasks::arbitrary) {
    const auto names = expand_hostlist(plan.nodes());
    const auto wanted = expand_hostlist(plan.job().resources().task_nodes());
    if (!names || !wanted || wanted->size() != tasks)
      return fail(Errc::invalid, "cannot tell which node each task is on: -m arbitrary without a node for each task");
    for (std::uint32_t rank = 0; rank < tasks; ++rank) {
      const auto found = std::ranges::find(*names, (*wanted)[rank]);
      out[rank] = static_cast<std::uint32_t>(found - names->begin());
    }
  } else {
    const auto ranks = ranks_by_node(distribution, counts);
    for (std::uint32_t node = 0; node < ranks.size(); ++node)
      for (const std::uint32_t rank : ranks[node])
        if (rank < tasks) out[rank] = node;
  }
  for (const std::uint32_t rank : ranks_of_node(plan))
    if (rank >= tasks || out[rank] != plan.node_position())
      return fail(Errc::invalid, "cannot tell which node task " + std::to_string(rank) + " is on");
  return out;
}

std::uint32_t nodes_with_tasks(const wire::LaunchPlan& plan) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(plan.tasks_per_node(), [](std::uint32_t tasks) { return tasks > 0; }));
}

std::unique_ptr<StepMpi> make_pmi(const wire::LaunchPlan& plan, const std::vector<std::uint32_t>& node_of_task) {
  PmiFacts facts;
  facts.name = step_name(plan);
  facts.size = static_cast<std::uint32_t>(node_of_task.size());
  facts.universe = facts.size;
  facts.members = nodes_with_tasks(plan);
  facts.process_mapping = process_mapping(node_of_task);
  facts.ranks = ranks_of_node(plan);
  facts.table_bytes_max = pmi_bytes_max(facts.size);
  return std::make_unique<PmiTasks>(std::move(facts));
}

// ---- the supervisor's part ----

Result<void> Supervisor::start_mpi() {
  const std::string& kind = plan_.job().step_options().mpi();
  if (kind.empty() || ranks_of_node(plan_).empty()) return {};
  MR_TRY(const std::vector<std::uint32_t> node_of_task, node_of_each_task(plan_));
  if (nodes_with_tasks(plan_) == 1) own_hub_.emplace(pmi_bytes_max(node_of_task.size()));
  if (kind == "pmi2") {
    mpi_ = make_pmi(plan_, node_of_task);
    return {};
  }
  if (kind != "pmix") return fail(Errc::invalid, "--mpi=" + kind + " is not known on this node");
  TaskSpec common = common_spec();
  common.cgroup = isolation_.cgroup();
  MR_TRY(mpi_, start_pmix(plan_, node_of_task, std::move(common), now_us()));
  return {};
}

// Its server is a process of the user's: it may take its time, and orders are heard meanwhile.
Result<void> Supervisor::start_when_mpi_is_ready() {
  MR_TRY(const bool ready, mpi_ ? mpi_->can_start(now_us()) : Result<bool>{true});
  awaits_mpi_ = !ready;
  return ready ? start_programs() : Result<void>{};
}

void Supervisor::look_at_mpi() {
  if (!std::exchange(awaits_mpi_, false)) return;
  if (auto started = start_when_mpi_is_ready(); !started) fail_launch(std::move(started).error());
}

void Supervisor::move_mpi() {
  for (const wire::MpiToNode& message : streams_.take_mpi()) mpi_->hear(message);
  // What is heard may have something else to say at once.
  for (auto outgoing = mpi_->take_outgoing(); !outgoing.empty(); outgoing = mpi_->take_outgoing())
    for (const wire::MpiFromNode& message : outgoing) {
      // srun ends the step, and says why.
      if (!own_hub_ || message.has_abort()) {
        streams_.send_mpi(message);
        continue;
      }
      own_hub_->take(plan_.node_position(), message);
      for (const ExchangeHub::Outgoing& out : own_hub_->take_outgoing()) mpi_->hear(out.message);
      if (const auto abort = own_hub_->take_abort()) {
        wire::MpiFromNode end;
        *end.mutable_abort() = *abort;
        streams_.send_mpi(end);
      }
    }
}

}  // namespace millrace
