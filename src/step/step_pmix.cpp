// src/step/step_pmix.cpp - PMIx for the tasks of this node: starts the server process and passes on what it says (see
// pmix_server.h).
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "step/channel.h"
#include "step/environment.h"
#include "step/errand.h"
#include "step/step_mpi.h"

namespace millrace {
namespace {

constexpr int patience_ms = 30'000;  // of a loaded machine; the library takes a tenth of a second
constexpr unsigned removal_limit_seconds = 60;

class PmixTasks final : public StepMpi {
 public:
  PmixTasks(pid_t pid, Channel server, UserIds user, std::string folder)
      : pid_(pid), server_(std::move(server)), user_(std::move(user)), folder_(std::move(folder)) {}
  ~PmixTasks() override { end(); }
  Channel& server() { return server_; }

  // Until it has said what the tasks need in their environment.
  Result<void> wait_ready() {
    timespec begin{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
      while (const auto bytes = server_.next()) take(*bytes);
      if (ready_) return {};
      if (!problem_.empty()) return fail(Errc::unavailable, problem_);
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      const auto left = patience_ms - (now.tv_sec - begin.tv_sec) * 1000;
      if (!server_.is_open() || left <= 0) return fail(Errc::unavailable, "the PMIx server did not start");
      pollfd ready{server_.fd(), POLLIN, 0};
      if (poll(&ready, 1, static_cast<int>(left)) > 0) server_.fill();
    }
  }

  Result<void> prepare_task(std::uint32_t rank, TaskSpec& spec) override {
    const auto found = environments_.find(rank);
    if (found == environments_.end())
      return fail(Errc::invalid, "the PMIx server knows nothing of task " + std::to_string(rank));
    for (const std::string& entry : found->second)
      if (const std::size_t equals = entry.find('='); equals != std::string::npos)
        spec.environment.set(std::string_view{entry}.substr(0, equals), std::string_view{entry}.substr(equals + 1));
    return {};
  }
  void task_started(const TaskSpec&) override {}

  void task_ended(std::uint32_t rank, bool failed) override {
    read_server();  // it may have finalized just now
    if (connected_.contains(rank) && !finalized_.contains(rank) && failed) abort(rank, "ended without finalizing");
  }

  void add_polls(std::vector<pollfd>& polls) const override {
    if (server_.is_open())
      polls.push_back({server_.fd(), static_cast<short>(server_.unsent() > 0 ? POLLIN | POLLOUT : POLLIN), 0});
  }
  bool handle(const pollfd& ready) override {
    if (!server_.is_open() || ready.fd != server_.fd()) return false;
    if ((ready.revents & POLLOUT) != 0) server_.flush();
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_server();
    return true;
  }
  void hear(const wire::MpiToNode& message) override {
    wire::ToPmix envelope;
    *envelope.mutable_mpi() = message;
    server_.send(envelope.SerializeAsString());
  }
  std::vector<wire::MpiFromNode> take_outgoing() override { return std::exchange(outgoing_, {}); }
  void end() override {
    ended_ = true;
    server_.close();
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0) {  // most often it was killed with what the tasks left behind
      kill(pid_, SIGKILL);
      wait_for_errand(pid_, 1'000);
    }
    pid_ = -1;
    remove_folder();
  }

 private:
  void read_server() {
    if (!server_.is_open()) return;
    server_.fill();
    while (const auto bytes = server_.next()) take(*bytes);
    if (!server_.is_open() && !ended_ && connected_.size() > finalized_.size())
      abort(*connected_.begin(), "the PMIx server of this node has gone");
  }

  void take(std::string_view bytes) {
    wire::FromPmix message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (message.has_ready()) {
      ready_ = true;
      for (const wire::PmixTask& task : message.ready().tasks())
        environments_[task.task()].assign(task.environment().begin(), task.environment().end());
    }
    if (message.has_problem()) problem_ = message.problem();
    if (message.has_connected()) connected_.insert(message.connected());
    if (message.has_finalized()) finalized_.insert(message.finalized());
    if (!message.has_mpi()) return;
    aborted_ = aborted_ || message.mpi().has_abort();
    outgoing_.push_back(message.mpi());
  }

  void abort(std::uint32_t rank, const std::string& text) {
    if (std::exchange(aborted_, true)) return;
    wire::MpiAbort& out = *outgoing_.emplace_back().mutable_abort();
    out.set_task(rank);
    out.set_exit_code(1);
    out.set_text(text);
  }

  // The server was killed with the tasks, so it cannot clean up itself. The folder is the user's: what is in it, and
  // how long it takes to remove it, is his affair.
  void remove_folder() {
    if (folder_.empty()) return;
    begin_errand(user_, -1, removal_limit_seconds, [this] {
      std::error_code ignored;
      std::filesystem::remove_all(folder_, ignored);
    });
    folder_.clear();
  }

  pid_t pid_;
  Channel server_;
  UserIds user_;
  std::string folder_;
  bool ready_ = false, aborted_ = false, ended_ = false;
  std::string problem_;
  std::map<std::uint32_t, std::vector<std::string>> environments_;
  std::set<std::uint32_t> connected_, finalized_;
  std::vector<wire::MpiFromNode> outgoing_;
};

}  // namespace

Result<std::unique_ptr<StepMpi>> start_pmix(const wire::LaunchPlan& plan,
                                            const std::vector<std::uint32_t>& node_of_task, TaskSpec common) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Errc::unavailable, std::string{"make a socket for PMIx: "} + std::strerror(errno));
  std::string noise(8, '\0');
  if (getrandom(noise.data(), noise.size(), 0) != static_cast<ssize_t>(noise.size()))
    return fail(Errc::io, "no random bytes");
  wire::ToPmix order;
  wire::PmixPlan& facts = *order.mutable_plan();
  facts.set_name("slurm.pmix." + step_name(plan));
  facts.set_job_id(plan.job_id());
  facts.set_node_position(plan.node_position());
  MR_TRY(const auto names, expand_hostlist(plan.nodes()));
  for (const std::string& name : names) facts.add_nodes(name);
  facts.mutable_node_of_task()->Add(node_of_task.begin(), node_of_task.end());
  facts.set_universe(static_cast<std::uint32_t>(node_of_task.size()));
  facts.set_folder("/tmp/millrace-pmix-" + step_name(plan) + "-" + to_hex(noise));
  facts.set_uid(common.user.uid);
  facts.set_gid(common.user.gid);

  TaskSpec spec = std::move(common);
  spec.arguments = {"/proc/self/exe", "--pmix"};
  spec.work_dir = "/";
  spec.in.fd = ends[1];
  spec.out = spec.err = {"/dev/null", O_WRONLY, -1};
  const auto started = start_task(spec);
  close(ends[1]);
  Channel channel{ends[0]};
  if (!started) return std::unexpected(started.error());
  auto tasks = std::make_unique<PmixTasks>(started->pid, std::move(channel), spec.user, facts.folder());
  close(started->report);
  Channel& server = tasks->server();
  server.send(order.SerializeAsString());
  MR_TRY_VOID(tasks->wait_ready());
  return tasks;
}

}  // namespace millrace
