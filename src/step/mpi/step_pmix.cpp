// src/step/mpi/step_pmix.cpp - PMIx for the tasks of this node: starts the server process and passes on what it says
// (see pmix_server.h).
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/hostlist.h"
#include "base/text.h"
#include "step/attempt/channel.h"
#include "step/attempt/errand.h"
#include "step/environment/environment.h"
#include "step/mpi/pmix_told.h"
#include "step/mpi/step_mpi.h"

namespace millrace {
namespace {

constexpr std::int64_t patience_us = 30'000'000;  // of a loaded machine; the library takes a tenth of a second
constexpr unsigned removal_limit_seconds = 60;
constexpr std::size_t unsent_max = 16u << 20;  // to a server that does not read: it is not read either

class PmixTasks final : public StepMpi {
 public:
  PmixTasks(pid_t pid, Channel server, UserIds user, std::string folder, const std::vector<std::uint32_t>& ranks,
            std::int64_t ready_by_us)
      : pid_(pid),
        server_(std::move(server)),
        user_(std::move(user)),
        folder_(std::move(folder)),
        ready_by_us_(ready_by_us),
        told_(ranks) {}
  ~PmixTasks() override { end(); }

  // Once it has said what the tasks need in their environment.
  Result<bool> can_start(std::int64_t now_us) override {
    if (!told_.problem().empty()) return fail(Errc::unavailable, told_.problem());
    if (told_.is_ready()) return true;
    if (!server_.is_open() || now_us >= ready_by_us_) return fail(Errc::unavailable, "the PMIx server did not start");
    return false;
  }
  std::int64_t start_by_us() const override { return ready_by_us_; }

  Result<void> prepare_task(std::uint32_t rank, TaskSpec& spec) override {
    const auto* environment = told_.environment(rank);
    if (environment == nullptr)
      return fail(Errc::invalid, "the PMIx server knows nothing of task " + std::to_string(rank));
    for (const std::string& entry : *environment)
      if (const std::size_t equals = entry.find('='); equals != std::string::npos)
        spec.environment.set(std::string_view{entry}.substr(0, equals), std::string_view{entry}.substr(equals + 1));
    return {};
  }
  void task_started(const TaskSpec&) override {}

  void task_ended(std::uint32_t rank, bool failed) override {
    read_server();  // it may have finalized just now
    if (told_.is_unfinished(rank) && failed) told_.abort(rank, "ended without finalizing");
  }

  void add_polls(std::vector<pollfd>& polls, bool may_read) const override {
    if (!server_.is_open()) return;
    const int in = may_read && server_.unsent() <= unsent_max ? POLLIN : 0, out = server_.unsent() > 0 ? POLLOUT : 0;
    if ((in | out) != 0) polls.push_back({server_.fd(), static_cast<short>(in | out), 0});
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
  std::vector<wire::MpiFromNode> take_outgoing() override { return told_.take_outgoing(); }
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
    if (!server_.is_open() || told_.outgoing_bytes() > unsent_max) return;
    server_.fill();
    for (auto bytes = server_.next(); bytes; bytes = server_.next()) {
      if (told_.take(*bytes)) continue;
      server_.close();
      break;
    }
    if (server_.is_open() || ended_) return;
    if (const auto rank = told_.unfinished_task()) told_.abort(*rank, "the PMIx server of this node has gone");
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
  const std::int64_t ready_by_us_;
  bool ended_ = false;
  PmixTold told_;
};

}  // namespace

Result<std::unique_ptr<StepMpi>> start_pmix(const wire::LaunchPlan& plan,
                                            const std::vector<std::uint32_t>& node_of_task, TaskSpec common,
                                            std::int64_t now_us) {
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
  drop_loader_variables(spec.environment);
  spec.work_dir = "/";
  spec.in.fd = ends[1];
  spec.out = spec.err = {"/dev/null", O_WRONLY, -1};
  const auto started = start_task(spec);
  close(ends[1]);
  Channel channel{ends[0]};
  if (!started) return std::unexpected(started.error());
  close(started->report);
  channel.send(order.SerializeAsString());
  return std::make_unique<PmixTasks>(started->pid, std::move(channel), spec.user, facts.folder(), ranks_of_node(plan),
                                     now_us + patience_us);
}

}  // namespace millrace
