// src/step/launch/launch.cpp - see launch.h. Everything below run_child() happens between fork and exec.
#include "step/launch/launch.h"

#include "core/model/file_name.h"
#include "step/environment/login_environment.h"
#include "step/launch/receive_file.h"
#include "step/launch/task_prolog.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace millrace {

namespace {

constexpr char opened_mark = 'k';
constexpr char problem_mark = 'f';
constexpr char unfit_mark = 'm';

void send_report(int report, std::string_view text, int error_file) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  if (error_file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &error_file, sizeof(int));
  }
  // A supervisor that died meanwhile is no reason not to go on: its agent ends the attempt.
  [[maybe_unused]] const ssize_t ignored = sendmsg(report, &message, MSG_NOSIGNAL);
}

[[noreturn]] void give_up(int report, const std::string& problem) {
  send_report(report, problem_mark + problem, -1);
  _exit(1);
}

// The machine is to blame: what no job can bring about by what it asks for.
[[noreturn]] void give_up_unfit(int report, const std::string& problem) {
  send_report(report, unfit_mark + problem, -1);
  _exit(1);
}

[[noreturn]] void give_up_with_errno(int report, const std::string& doing) {
  give_up(report, doing + ": " + std::strerror(errno));
}

void say(const std::string& line) {
  const std::string text = "slurmstepd: error: " + line + "\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

void reset_signals() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);  // fails for KILL and STOP
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void apply_limits(const TaskSpec& spec) {
  for (const auto& [resource, soft] : spec.soft_limits) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) continue;
    limit.rlim_cur = std::min(soft, limit.rlim_max);
    setrlimit(static_cast<__rlimit_resource>(resource), &limit);  // not fatal: as much as this node allows
  }
}

// No file can be opened on this machine any more. The user's own limits give another error, and so may his files: it is
// asked of a file that is nobody's.
bool is_table_full() {
  if (errno != ENFILE) return false;
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  const bool full = fd < 0 && errno == ENFILE;
  errno = ENFILE;
  return full;
}

void open_stream(const StreamSpec& stream, int target, const char* name, int report) {
  int fd = stream.fd;
  if (!stream.path.empty()) fd = open(stream.path.c_str(), stream.flags | O_NOCTTY | O_CLOEXEC, 0666);
  if (fd < 0 && is_table_full()) give_up_unfit(report, "no file can be opened: " + std::string{std::strerror(errno)});
  if (fd < 0) give_up_with_errno(report, std::string{"Could not open "} + name + " file " + stream.path);
  if (fd == target)
    fcntl(fd, F_SETFD, 0);
  else if (dup2(fd, target) < 0)
    give_up_with_errno(report, std::string{"set up "} + name);
}

void enter_work_dir(const std::string& directory) {
  if (chdir(directory.c_str()) == 0) return;
  say("couldn't chdir to `" + directory + "': " + std::strerror(errno) + ": going to /tmp instead");
  if (chdir("/tmp") != 0 && chdir("/") != 0) say(std::string{"couldn't chdir to /: "} + std::strerror(errno));
}

[[noreturn]] void execute(const TaskSpec& spec, const Environment& own, char* const* arguments,
                          char* const* environment) {
  const std::string& program = spec.arguments.front();
  int problem = ENOENT;
  if (program.find('/') != std::string::npos) {
    execve(program.c_str(), arguments, environment);
    problem = errno;
  } else {
    std::string_view path = own.get("PATH");
    if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
    while (!program.empty()) {
      const std::string_view directory = path.substr(0, path.find(':'));
      // An empty entry means the working directory, as in every shell.
      execve(under_directory(program, directory.empty() ? "." : directory).c_str(), arguments, environment);
      if (errno == EACCES || (errno != ENOENT && errno != ENOTDIR)) problem = errno;
      if (directory.size() == path.size()) break;
      path.remove_prefix(directory.size() + 1);
    }
  }
  errno = problem;
  say("execve(): " + program + ": " + std::strerror(problem));
  _exit(problem);  // as Slurm: 2 when there is no such program, 13 when it may not be executed
}

// As root, and before the first file of the user is touched: a task that cannot be confined does not run.
void confine(const TaskSpec& spec, int report) {
  if (spec.cgroup != nullptr)
    if (const auto joined = spec.cgroup->join(); !joined)
      give_up_unfit(report, "join the job's cgroup: " + joined.error().story);
  if (!spec.cpus.empty()) {
    const std::size_t count = *std::ranges::max_element(spec.cpus) + 1;
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) give_up(report, "no memory for a set of processors");
    CPU_ZERO_S(CPU_ALLOC_SIZE(count), set);
    for (const std::uint32_t cpu : spec.cpus) CPU_SET_S(cpu, CPU_ALLOC_SIZE(count), set);
    if (sched_setaffinity(0, CPU_ALLOC_SIZE(count), set) != 0)
      give_up_with_errno(report, "Unable to satisfy cpu bind request");
    CPU_FREE(set);
  }
  if (spec.memory_nodes != 0) {
    const unsigned long nodes = spec.memory_nodes;
    // Kernels without it have one memory only.
    if (syscall(SYS_set_mempolicy, spec.prefer_memory ? MPOL_PREFERRED : MPOL_BIND, &nodes, 65UL) != 0 &&
        errno != ENOSYS)
      give_up_with_errno(report, "Unable to satisfy mem bind request");
  }
}

[[noreturn]] void run_child(const TaskSpec& spec, int report) {
  setsid();
  reset_signals();
  confine(spec, report);
  apply_limits(spec);
  if (const auto become = become_user(spec.user); !become) give_up(report, become.error().story);
  umask(spec.umask);
  open_stream(spec.in, STDIN_FILENO, "stdin", report);
  open_stream(spec.out, STDOUT_FILENO, "stdout", report);
  if (spec.err_is_out) {
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0) give_up_with_errno(report, "set up stderr");
  } else {
    open_stream(spec.err, STDERR_FILENO, "stderr", report);
  }
  if (spec.controls_terminal) ioctl(STDIN_FILENO, TIOCSCTTY, 0);
  enter_work_dir(spec.work_dir);
  if (!spec.bind_note.empty()) {
    const std::string line = spec.bind_note + " [" + std::to_string(getpid()) + "]: mask " + spec.bind_mask + "\n";
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  }
  const bool error_is_file =
      spec.hands_over_errors && (spec.err_is_out ? !spec.out.path.empty() : !spec.err.path.empty());
  send_report(report, {&opened_mark, 1}, error_is_file ? STDERR_FILENO : -1);

  if (spec.receive != nullptr) {
    syscall(SYS_close_range, 3U, ~0U, 0U);  // among them the other end of its own standard input, which would never end
    _exit(receive_file(*spec.receive, spec.node_name));
  }
  Environment own = spec.environment;
  if (!spec.login_environment.empty() && !load_login_environment(spec.login_environment, own))
    say("Unable to get user's local environment, running only with passed environment");
  for (const std::string& prolog : spec.prologs)
    if (const int status = run_task_prolog(prolog, own); status != 0) {
      say("TaskProlog failed status=" + std::to_string(status) + ": " + prolog);
      _exit(status);
    }
  std::vector<char*> arguments;
  for (const std::string& argument : spec.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::string pid = "SLURM_TASK_PID=" + std::to_string(getpid());
  std::vector<char*> environment;
  for (const std::string& entry : own.entries()) environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(pid.data());
  environment.push_back(nullptr);
  syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (spec.kept_fd > STDERR_FILENO) fcntl(spec.kept_fd, F_SETFD, 0);
  execute(spec, own, arguments.data(), environment.data());
}

}  // namespace

// Groups first, because only root may change them; uid last, because nothing can be changed afterwards. Checked by
// asking the kernel, since a user's process with root's rights is the worst thing that can happen here.
Result<void> become_user(const UserIds& user) {
  const auto failed = [](const char* doing) {
    return fail(Errc::io, std::string{doing} + ": " + std::strerror(errno));
  };
  if (geteuid() != 0) {
    if (geteuid() == user.uid) return {};
    return fail(Errc::refused, "cannot run a job of uid " + std::to_string(user.uid) +
                                   ": this node's agent runs as uid " + std::to_string(geteuid()) + ", not as root");
  }
  if (setgroups(user.groups.size(), user.groups.data()) != 0) return failed("set the user's groups");
  if (setresgid(user.gid, user.gid, user.gid) != 0) return failed("set the user's group");
  if (setresuid(user.uid, user.uid, user.uid) != 0) return failed("become the user");
  uid_t uids[3]{};
  gid_t gids[3]{};
  if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 || getresgid(&gids[0], &gids[1], &gids[2]) != 0)
    return failed("check the user's identity");
  const bool held = std::ranges::all_of(uids, [&](uid_t id) { return id == user.uid; }) &&
                    std::ranges::all_of(gids, [&](gid_t id) { return id == user.gid; });
  std::vector<gid_t> groups(user.groups.size() + 1);
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  if (!held || count != static_cast<int>(user.groups.size()))
    return fail(Errc::refused, "the user's identity did not hold");
  return {};
}

// Of what runs out here, a step of many tasks can use up our own descriptors, and a job the numbers of processes.
static Errc errno_of_machine(int problem) {
  return problem == ENFILE || problem == ENOMEM || problem == ENOBUFS ? Errc::unfit : Errc::io;
}

Result<StartedTask> start_task(const TaskSpec& spec) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errno_of_machine(errno), std::string{"make a socket pair: "} + std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) run_child(spec, ends[1]);
  const int problem = errno;
  close(ends[1]);
  if (pid > 0) return StartedTask{pid, ends[0]};
  close(ends[0]);
  return fail(errno_of_machine(problem), std::string{"fork: "} + std::strerror(problem));
}

std::optional<TaskReport> read_report(int report) {
  char text[4096];
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(report, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count <= 0) return std::nullopt;
  TaskReport result;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&result.error_file, CMSG_DATA(header), sizeof(int));
  result.unfit = text[0] == unfit_mark;
  if (text[0] == problem_mark || result.unfit) result.problem.assign(text + 1, static_cast<std::size_t>(count) - 1);
  return result;
}

std::optional<int> resource_number(std::string_view name) {
  constexpr std::pair<std::string_view, int> numbers[] = {
      {"CPU", RLIMIT_CPU},         {"FSIZE", RLIMIT_FSIZE}, {"DATA", RLIMIT_DATA},   {"STACK", RLIMIT_STACK},
      {"CORE", RLIMIT_CORE},       {"RSS", RLIMIT_RSS},     {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE},
      {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS},
  };
  for (const auto& [known, number] : numbers)
    if (known == name) return number;
  return std::nullopt;
}

}  // namespace millrace
