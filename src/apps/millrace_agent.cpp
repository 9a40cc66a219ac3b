// src/apps/millrace_agent.cpp - the agent's main(): command line, files, object graph, signals.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>

#include "agent/accelerator_watch.h"
#include "agent/agent.h"
#include "agent/health.h"
#include "agent/leftovers.h"
#include "agent/node_devices.h"
#include "agent/node_isolation.h"
#include "agent/prolog_epilog.h"
#include "agent/relay_clients.h"
#include "agent/spool_journal.h"
#include "agent/spool_owner.h"
#include "agent/spool_supervisors.h"
#include "apps/accelerator_watcher.h"
#include "apps/agent_parts.h"
#include "apps/client_limits.h"
#include "apps/configuration_notes.h"
#include "apps/own_face.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "cli/version.h"
#include "config/daemon_options.h"
#include "config/reread.h"
#include "config/slurm_conf.h"
#include "isolation/control_file.h"
#include "platform/child_programs.h"
#include "platform/daemon.h"
#include "platform/daemon_log.h"
#include "platform/dialer.h"
#include "platform/event_loop.h"
#include "platform/listener.h"
#include "platform/worker.h"
#include "wire/random.h"

namespace millrace {
namespace {

constexpr int first_look_ms = 60'000;  // a driver that has to wake up its gpus takes some seconds for each

struct Options {
  std::string boot_suffix;
  std::string config, log_file, node, key_file, step_program;
  std::string dynamic_conf;
  std::string extra, instance_id, instance_type;  // what the controller is told of this node
  unsigned verbose = 0;
  bool foreground = false, relay = false, clean = false, dynamic = false;
  bool systemd = false, beside_log = false,
       locked = false;  // told when it serves; works in the log's folder; is never swapped out
};

class AgentProcess {
 public:
  explicit AgentProcess(Options options) : options_(std::move(options)) {}
  Result<int> run();

 private:
  Result<void> choose_node();
  Result<void> describe_self();
  Result<void> start_logging();
  void find_devices();
  Result<void> isolate_jobs(const std::string& spool);
  Result<void> build();
  AgentHooks hooks();
  void wrap_programs(const std::string& spool, const std::string& boot_id);
  ProgramSettings program_settings();
  HealthSettings health_settings();
  void read_configuration();
  void reboot();
  void clean_spool(const SpoolDirectory& spool) const;
  void listen_clients();
  void show_notes();
  void set_up_log(const LogSettings& log);
  void set_logging(const wire::SetLogging& wish);
  wire::LogWish log_wish() const;
  Duration unkillable_after() const;
  void run_unkillable(const wire::AttemptStatus& status);
  void handle_signal(int signal);

  Options options_;
  Configuration configuration_;
  std::string node_, log_path_;
  std::optional<OwnFace> face_;
  const ConfiguredNode* configured_ = nullptr;
  ConfiguredNode self_;  // of a node that slurm.conf does not name
  std::string self_words_;
  DaemonLog log_;
  Background background_;
  std::optional<SpoolLock> spool_lock_;  // before the pid file, and longer: whoever has it writes and removes that
  PidFile pid_file_;
  EventLoop loop_;
  LoopReadiness readiness_{loop_};
  std::unique_ptr<ThreadWorker> resolver_;
  std::unique_ptr<ControllerDialer> dialer_;
  std::unique_ptr<SpoolDirectory> spool_;
  std::optional<NodeDevices> devices_;
  std::unique_ptr<AcceleratorWatch> accelerators_;
  std::optional<NodeIsolation> isolation_;
  ChildPrograms programs_{loop_};
  std::unique_ptr<SpoolSupervisors> supervisors_;
  std::unique_ptr<SpoolJournal> journal_;
  std::unique_ptr<PrologEpilog> prolog_epilog_;
  std::unique_ptr<HealthChecks> health_;
  bool told_to_reboot_ = false;
  std::unique_ptr<HostMeasurements> measurements_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<RelayClients> relay_clients_;
  RepeatedLines refused_{loop_, [this](const std::string& line) { log_.say(line); }};
  std::unique_ptr<Listener> client_listener_;
};

Result<void> AgentProcess::choose_node() {
  const std::string host = short_name(host_name());
  node_ = options_.node;
  for (const ConfiguredNode& node : configuration_.nodes)
    if (node_.empty() ? node.name == host || short_name(node.host_name) == host : node.name == node_) {
      configured_ = &node;
      node_ = node.name;
      break;
    }
  if (node_.empty()) node_ = host;
  if (configured_ == nullptr && options_.dynamic && !options_.relay) return describe_self();
  if (configured_ == nullptr && !options_.relay)
    return fail(Errc::not_found, "node " + node_ + " is not in " + configuration_.path);
  return {};
}

// A node that slurm.conf does not name is what --conf says, and what the machine has where that says nothing.
Result<void> AgentProcess::describe_self() {
  const std::string given = lower(options_.dynamic_conf);
  const auto says = [&](std::string_view key) {
    return (" " + given).find(" " + std::string{key} + "=") != std::string::npos;
  };
  const wire::Inventory machine = read_inventory("", "/tmp");
  std::string words;
  if (!says("cpus") && !says("procs") && !says("boards") && !says("sockets") && !says("socketsperboard") &&
      !says("corespersocket") && !says("threadspercore"))
    words = "CPUs=" + std::to_string(machine.cpus()) + " Boards=" + std::to_string(machine.boards()) +
            " SocketsPerBoard=" + std::to_string(machine.sockets()) +
            " CoresPerSocket=" + std::to_string(machine.cores_per_socket()) +
            " ThreadsPerCore=" + std::to_string(machine.threads_per_core()) + " ";
  if (!says("realmemory")) words += "RealMemory=" + std::to_string(machine.memory_mib()) + " ";
  self_words_ = words + options_.dynamic_conf;
  MR_TRY(const auto nodes, in_context(configured_nodes(node_, self_words_), "--conf"));
  self_ = nodes.front();
  configured_ = &self_;
  return {};
}

Result<void> AgentProcess::start_logging() {
  const auto expand = [&](const std::string& path) { return expand_node_path(path, node_, short_name(host_name())); };
  log_path_ = !options_.log_file.empty() ? options_.log_file : expand(configuration_.agent_log_file);
  if (options_.foreground && options_.log_file.empty()) log_path_.clear();
  if (!options_.foreground && log_path_.empty()) log_path_ = expand(configuration_.agent_spool_pattern) + "/agent.log";
  if (options_.systemd)
    background_.await_service_manager();
  else if (!options_.foreground)
    MR_TRY_VOID(background_.leave_terminal());
  if (!log_path_.empty()) {
    MR_TRY_VOID(log_.open(log_path_));
  }
  if (options_.beside_log || !options_.foreground)
    MR_TRY_VOID(work_beside(log_path_, expand(configuration_.agent_spool_pattern)));
  if (options_.locked && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return fail(Errc::io, std::string{"-M: "} + std::strerror(errno));
  set_up_log(configuration_.log);
  spool_lock_->sign();
  if (const auto written = pid_file_.write(expand(configuration_.agent_pid_file)); !written) {
    // In the foreground whoever started us knows the pid; a daemon without its pid file could not be stopped as
    // configured.
    if (!options_.foreground) return written;
    log_.say("no pid file: " + written.error().story);
  }
  return {};
}

// As the configuration says, and -v.
void AgentProcess::set_up_log(const LogSettings& log) {
  log_.set_time_format(log.time);
  log_.set_level(options_.verbose > 0 ? raised(LogLevel::info, options_.verbose) : log.agent);
  log_.set_syslog("slurmd", log.agent_syslog);
  log_.set_flags(log.flags);
  if (supervisors_) supervisors_->log_wish_changed();
}

// scontrol setdebug nodes=, until the configuration is read again.
void AgentProcess::set_logging(const wire::SetLogging& wish) {
  if (wish.has_level() && wish.level() <= static_cast<std::uint32_t>(loudest)) {
    log_.say("Set debug level to '" + std::string{name_of(static_cast<LogLevel>(wish.level()))} + "'");
    log_.set_level(static_cast<LogLevel>(wish.level()));
  }
  const DebugFlags flags = (log_.flags() | parse_debug_flags(wish.add_flags()).value_or(0)) &
                           ~parse_debug_flags(wish.remove_flags()).value_or(0);
  if (flags != log_.flags()) log_.say("Set DebugFlags to " + (flags == 0 ? "none" : names_of_flags(flags)));
  log_.set_flags(flags);
  supervisors_->log_wish_changed();
}

// UnkillableStepTimeout
Duration AgentProcess::unkillable_after() const {
  const auto given = configuration_.given.find("unkillablesteptimeout");
  const auto number = given == configuration_.given.end() ? std::nullopt : parse_integer(given->second);
  return given == configuration_.given.end() ? seconds(60) : seconds(number.value_or(0));
}

void AgentProcess::run_unkillable(const wire::AttemptStatus& status) {
  const auto given = configuration_.given.find("unkillablestepprogram");
  if (given == configuration_.given.end() || given->second.empty()) return;
  std::vector<std::string> environment{"SLURMD_NODENAME=" + node_, "SLURM_CONF=" + configuration_.path,
                                       "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  const auto record = spool_->read(name_of(status));
  if (record && record->supervisor.pid > 0)
    environment.push_back("SLURM_STEPD_PID=" + std::to_string(record->supervisor.pid));
  if (status.has_step()) environment.push_back("SLURM_STEP_ID=" + std::to_string(status.step()));
  const std::string program = given->second;
  programs_.run({program, {}, std::move(environment), seconds(300)}, [this, program](const ProgramEnd& end) {
    if (!end.went_well()) log_.complain("UnkillableStepProgram: " + describe(program, end));
  });
}

wire::LogWish AgentProcess::log_wish() const {
  wire::LogWish wish;
  wish.set_level(static_cast<std::uint32_t>(log_.level()));
  wish.set_flags(log_.flags());
  return wish;
}

void AgentProcess::show_notes() {
  for (const std::string& note : agent_notes(configuration_)) log_.say(note);
}

// Nothing listens yet, so this may wait.
void AgentProcess::clean_spool(const SpoolDirectory& spool) const {
  SpoolJournal journal(expand_node_path(configuration_.agent_spool_pattern, node_, short_name(host_name())), "");
  for (const AttemptName name : journal.names()) {
    while (!journal.end_leftovers(name)) poll(nullptr, 0, 10);
    journal.erase(name);
  }
  for (const AttemptName name : spool.list()) {
    const auto record = spool.read(name);
    if (!record) static_cast<void>(spool.give_up(name));
    if (record && record->boot_id == read_boot_id("")) {
      if (record->supervisor.pid > 0 && start_time_of(record->supervisor.pid) == record->supervisor.start_time)
        ::kill(record->supervisor.pid, SIGKILL);
      for (auto left = find_leftovers(*record, spool.path_of(name)); !left.empty();
           left = find_leftovers(*record, spool.path_of(name))) {
        for (const pid_t pid : left) ::kill(pid, SIGKILL);
        poll(nullptr, 0, 10);
      }
      while (!clear_isolation(record->isolation)) poll(nullptr, 0, 10);
    }
    spool.forget(name);
  }
}

// A node whose driver hangs is there all the same, without its devices: the controller drains it.
void AgentProcess::find_devices() {
  if (options_.relay || configured_ == nullptr) return;
  devices_.emplace(*configured_, read_cpu_places("/sys"));
  if (!devices_->is_looked_for()) return;
  AcceleratorWatch::Settings settings;
  settings.program = "/proc/self/exe";
  settings.arguments = {"--watch-accelerators", configured_->detect};
  settings.log = [this](std::string_view text) { log_.say(std::string{text}); };
  settings.seen = [this](const wire::AcceleratorReport& report) {
    devices_->take(report);
    wire::GpuReadings readings;
    devices_->add_to(readings);
    if (supervisors_) supervisors_->tell_all(readings);  // none yet at the first look
  };
  accelerators_ = std::make_unique<AcceleratorWatch>(loop_, readiness_, std::move(settings));
  accelerators_->first_look(first_look_ms);
  wire::Inventory found;
  devices_->add_to(found);
  for (const auto& kind : found.devices())
    log_.say("found " + std::to_string(kind.count()) + " " + kind.name() +
             (kind.type().empty() ? "" : ":" + kind.type()) + (kind.files().empty() ? "" : ": " + kind.files()));
}

Result<void> AgentProcess::isolate_jobs(const std::string& spool) {
  if (options_.relay || configured_ == nullptr) return {};
  NodeIsolationFacts facts;
  facts.node = node_;
  facts.spool = spool;
  facts.threads_per_core = configured_->threads_per_core;
  facts.cpus = configured_->cpus;
  facts.kinds = devices_->kinds();
  facts.spare_devices = devices_->spare_files();
  facts.own_cgroup = read_control("/proc/self/cgroup");
  facts.machine_memory_mib = read_inventory("", "/tmp").memory_mib();
  facts.root = geteuid() == 0;
  MR_TRY(isolation_, NodeIsolation::prepare(configuration_.isolation, std::move(facts),
                                            [this](std::string_view text) { log_.say(std::string{text}); }));
  return {};
}

ProgramSettings AgentProcess::program_settings() {
  const NodeLifeSettings& life = configuration_.node_life;
  return {life.prolog, life.epilog, life.prolog_limit, life.epilog_limit,
          [this](std::string_view text) { log_.say(std::string{text}); }};
}

HealthSettings AgentProcess::health_settings() {
  const NodeLifeSettings& life = configuration_.node_life;
  HealthSettings health;
  health.program = life.health_check;
  health.interval = life.health_check_interval;
  if (life.health_check_limit > Duration{0}) health.limit = life.health_check_limit;
  health.when_idle = life.check_idle;
  health.when_busy = life.check_busy;
  health.only_at_start = life.check_only_at_start;
  health.environment = {
      "SLURMD_NODENAME=" + node_, "SLURM_CONF=" + configuration_.path, "SLURM_SCRIPT_CONTEXT=health_check",
      "PATH=" + beside_this_program("") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  health.is_busy = [this] { return agent_->has_jobs(); };
  health.log = [this](std::string_view text) { log_.say(std::string{text}); };
  return health;
}

void AgentProcess::wrap_programs(const std::string& spool, const std::string& boot_id) {
  journal_ = std::make_unique<SpoolJournal>(spool, boot_id);
  prolog_epilog_ = std::make_unique<PrologEpilog>(loop_, *supervisors_, programs_, *journal_, program_settings());
  if (!options_.relay) health_ = std::make_unique<HealthChecks>(loop_, programs_, health_settings());
}

// At SIGHUP, and when the controller says that the files have changed.
void AgentProcess::read_configuration() {
  auto fresh = load_configuration(configuration_.path);
  if (!fresh) return log_.complain("the configuration is wrong and the old one stays: " + fresh.error().story);
  for (const std::string& what : wait_for_restart(configuration_, *fresh, Daemon::agent, node_))
    log_.say(what + " has changed; it takes effect when the agent is started again");
  configuration_.unknown = std::move(fresh->unknown);
  configuration_.adjusted = std::move(fresh->adjusted);
  configuration_.node_life = std::move(fresh->node_life);
  configuration_.log = fresh->log;
  for (const char* key : {"unkillablesteptimeout", "unkillablestepprogram"}) {
    configuration_.given.erase(key);
    if (const auto value = fresh->given.find(key); value != fresh->given.end()) configuration_.given.insert(*value);
  }
  set_up_log(configuration_.log);
  prolog_epilog_->set_settings(program_settings());
  if (health_) health_->set_settings(health_settings());
  const std::string log_path = expand_node_path(fresh->agent_log_file, node_, short_name(host_name()));
  if (!options_.foreground && options_.log_file.empty() && !log_path.empty() && log_path != log_path_) {
    if (const auto opened = log_.open(log_path); !opened)
      log_.complain(opened.error().story);
    else
      log_path_ = log_path;
  }
  show_notes();
  log_.say("configuration read again");
}

void AgentProcess::reboot() {
  if (std::exchange(told_to_reboot_, true)) return;
  const std::string& program = configuration_.node_life.reboot_program;
  if (program.empty()) return log_.say("told to reboot, but RebootProgram is not set in this node's configuration");
  log_.say("rebooting: " + program);
  programs_.run({program, {}, {"SLURMD_NODENAME=" + node_, "SLURM_CONF=" + configuration_.path}, {}},
                [this, program](const ProgramEnd& end) {
                  if (!end.went_well()) log_.say("reboot: " + describe(program, end));
                });
}

AgentHooks AgentProcess::hooks() {
  AgentHooks hooks;
  hooks.log = [this](std::string_view text) { log_.say(std::string{text}); };
  hooks.epoch_rose = [this](std::uint64_t epoch) {
    if (const auto written = spool_->write_epoch(epoch); !written) log_.say(written.error().story);
  };
  hooks.stop = [this] { loop_.stop(); };
  hooks.reboot = [this] { reboot(); };
  hooks.read_configuration = [this] { read_configuration(); };
  hooks.set_logging = [this](const wire::SetLogging& wish) { set_logging(wish); };
  hooks.lines = &log_;
  hooks.unkillable_after = [this] { return unkillable_after(); };
  hooks.unkillable = [this](const wire::AttemptStatus& status) { run_unkillable(status); };
  return hooks;
}

Result<void> AgentProcess::build() {
  const std::string folder = expand_node_path(configuration_.agent_spool_pattern, node_, short_name(host_name()));
  if (configuration_.controllers.empty()) return fail(Errc::invalid, configuration_.path + " names no controller");
  MR_TRY(SpoolDirectory spool, SpoolDirectory::open(folder));
  MR_TRY(const std::string spool_id, identify_spool(spool.path()));
  if (options_.clean) clean_spool(spool);
  spool_ = std::make_unique<SpoolDirectory>(std::move(spool));
  resolver_ = std::make_unique<ThreadWorker>(loop_, "resolve");
  dialer_ =
      std::make_unique<ControllerDialer>(loop_, *resolver_, configuration_, node_, [this] { return face_->show(); });
  find_devices();
  MR_TRY_VOID(isolate_jobs(folder));
  SpoolSupervisors::Settings settings;
  if (isolation_)
    settings.isolation = [this](const wire::LaunchPlan& plan) {
      wire::Isolation order = isolation_->of(plan);
      devices_->add_to(plan, order);
      return order;
    };
  settings.step_program = options_.step_program.empty() ? beside_this_program("millrace-step") : options_.step_program;
  settings.boot_id = read_boot_id("") + options_.boot_suffix;
  settings.log = [this](std::string_view text) { log_.say(std::string{text}); };
  settings.log_wish = [this] { return log_wish(); };
  settings.said = [this](const wire::LogLine& line) { log_.pass_on(static_cast<LogLevel>(line.level()), line.text()); };
  programs_.log_to(log_);
  if (!options_.relay && access(settings.step_program.c_str(), X_OK) != 0)
    return fail(Errc::not_found, settings.step_program + ": " + std::strerror(errno));
  supervisors_ = std::make_unique<SpoolSupervisors>(loop_, readiness_, *spool_, settings);
  wrap_programs(folder, settings.boot_id);
  std::optional<wire::Inventory> configured;
  if (!options_.node.empty() && configured_ != nullptr) configured = inventory_of(*configured_);
  measurements_ = std::make_unique<HostMeasurements>(configuration_.tmp_fs, loop_.now().value, std::move(configured));
  measurements_->also = {[this](wire::Inventory& inventory) {
                           if (devices_) devices_->add_to(inventory);
                           inventory.set_extra(options_.extra);
                           inventory.set_instance_id(options_.instance_id);
                           inventory.set_instance_type(options_.instance_type);
                         },
                         [this](wire::Telemetry& telemetry) {
                           if (devices_) devices_->add_to(telemetry);
                           if (accelerators_) accelerators_->look_again();
                         }};
  AgentSettings agent;
  agent.node = node_;
  agent.boot_id = settings.boot_id;
  agent.spool_id = spool_id;
  agent.version = slurm_version;
  agent.relay_only = options_.relay;
  agent.dynamic = configured_ == &self_;
  agent.configuration = self_words_;
  std::memcpy(&agent.first_session, random_bytes(sizeof agent.first_session).data(), sizeof agent.first_session);
  agent.first_session >>= 1;  // room to rise
  agent.highest_epoch = spool_->read_epoch();
  agent_ = std::make_unique<Agent>(loop_, *dialer_, *prolog_epilog_, *measurements_, std::move(agent), hooks());
  relay_clients_ = std::make_unique<RelayClients>(loop_, agent_->relay());
  return {};
}

// Several agents of one host share the path; the first of them serves it, and that is enough.
void AgentProcess::listen_clients() {
  if (options_.relay) raise_descriptor_limit();  // of other agents tasks may inherit it
  const auto slurm_user = find_user(configuration_.slurm_user);
  auto listener =
      listen_for_clients(loop_, configuration_.socket_path + ".relay", slurm_user ? slurm_user->uid : 0, refused_,
                         [this](std::unique_ptr<Link> link, std::uint32_t uid, std::uint32_t gid) {
                           return relay_clients_->add(std::move(link), uid, gid);
                         });
  if (listener)
    client_listener_ = *std::move(listener);
  else
    log_.say("clients of this host are not relayed: " + listener.error().story);
}

void AgentProcess::handle_signal(int signal) {
  if (signal == SIGUSR2) {
    if (!log_path_.empty()) static_cast<void>(log_.open(log_path_));
  } else if (signal == SIGHUP) {
    read_configuration();
  } else {
    loop_.stop();
  }
}

Result<int> AgentProcess::run() {
  MR_TRY(configuration_,
         load_configuration(absolute_path(options_.config.empty() ? configuration_path() : options_.config)));
  MR_TRY_VOID(choose_node());
  MR_TRY(face_, OwnFace::find(configuration_, node_, options_.key_file, options_.relay));
  const std::string spool = expand_node_path(configuration_.agent_spool_pattern, node_, short_name(host_name()));
  MR_TRY_VOID(SpoolDirectory::open(spool));  // the log may lie there
  MR_TRY(spool_lock_, SpoolLock::take(spool));
  MR_TRY_VOID(start_logging());
  show_notes();
  if (const Munge* munge = face_->munge())
    log_.say("AuthType=auth/munge: without a key of its own this node proves itself by MUNGE (" + munge->socket() +
             ")");
  MR_TRY_VOID(build());
  MR_TRY_VOID(loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR2}, [this](int signal) { handle_signal(signal); }));
  listen_clients();
  if (options_.relay && !client_listener_) return fail(Errc::unavailable, "a relay that nobody can reach");
  agent_->start();
  if (health_) health_->start();
  log_.say("agent of node " + node_ + " started");
  background_.ready();
  loop_.run();
  log_.say("agent of node " + node_ + " stopped; running jobs go on");
  // Whoever calls goes before whom it calls.
  client_listener_.reset();
  relay_clients_.reset();
  health_.reset();
  agent_.reset();
  accelerators_.reset();
  const bool idle = supervisors_->is_idle() && prolog_epilog_->is_idle();
  prolog_epilog_.reset();
  supervisors_.reset();
  if (isolation_ && idle) isolation_->leave();
  return 0;
}

constexpr std::pair<std::string_view, std::string Options::*> options_with_text[] = {
    {"conf", &Options::dynamic_conf},           {"extra", &Options::extra}, {"instance-id", &Options::instance_id},
    {"instance-type", &Options::instance_type}, {"N", &Options::node},
};
constexpr std::pair<std::string_view, std::string Options::*> options_with_path[] = {
    {"d", &Options::step_program}, {"f", &Options::config}, {"key", &Options::key_file}, {"L", &Options::log_file}};
constexpr std::pair<std::string_view, bool Options::*> options_without[] = {
    {"c", &Options::clean},      {"D", &Options::foreground},    {"M", &Options::locked},  {"relay", &Options::relay},
    {"s", &Options::beside_log}, {"systemd", &Options::systemd}, {"Z", &Options::dynamic},
};

int print_hardware() {
  std::fputs(hardware_line(read_inventory("", "/tmp"), uptime_seconds("")).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  using namespace millrace;
  const DaemonCommand& command = daemon_command("slurmd");
  const auto words = read_daemon_line(command, argc, argv);
  if (!words) {
    std::fprintf(stderr, "slurmd: %s\n%s", words.error().story.c_str(),
                 words.error().code == Errc::invalid ? daemon_usage(command).c_str() : "");
    return 1;
  }
  Options options;
  for (const auto& [key, value] : *words) {
    if (key == "h") return std::fputs(daemon_usage(command).c_str(), stdout) < 0;
    if (key == "V") return std::printf("slurm %s\n", slurm_version) < 0;
    if (key == "C") return print_hardware();
    if (key == "G") return print_accelerators();
    if (key == "watch-accelerators") return watch_accelerators(value);
    if (key == "b") options.boot_suffix = "-" + std::to_string(getpid());  // as if the machine had booted, for tests
    if (key == "v") ++options.verbose;
    for (const auto& [name, text] : options_with_text)
      if (key == name) options.*text = value;
    for (const auto& [name, path] : options_with_path)
      if (key == name) options.*path = absolute_path(value);
    for (const auto& [name, flag] : options_without)
      if (key == name) options.*flag = true;
  }
  if (!options.dynamic_conf.empty() && !options.dynamic) {
    std::fputs("slurmd: --conf is of use with -Z only\n", stderr);
    return 1;
  }
  close_inherited_descriptors();
  signal(SIGPIPE, SIG_IGN);
#ifndef __SANITIZE_ADDRESS__  // which reads its own process to look for leaks
  prctl(PR_SET_DUMPABLE, 0);  // the node's key is in our memory; a limit on core files would be the jobs' limit too
#endif
  AgentProcess process(std::move(options));
  const auto outcome = process.run();
  if (outcome) return *outcome;
  std::fprintf(stderr, "slurmd: fatal: %s\n", shown_lines(outcome.error().story).c_str());
  return 1;
}
