// src/apps/millrace_controller.cpp - the controller's main(): command line, files, object graph, signals.
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "adapters/own_agents.h"
#include "apps/client_limits.h"
#include "apps/cluster_keys.h"
#include "apps/configuration_notes.h"
#include "apps/controller_folders.h"
#include "apps/log_repair.h"
#include "apps/munge_nodes.h"
#include "apps/relayed_clients.h"
#include "apps/state_lock.h"
#include "base/shown_text.h"
#include "cli/version.h"
#include "config/daemon_options.h"
#include "config/reread.h"
#include "config/show_config.h"
#include "config/slurm_conf.h"
#include "controller/controller.h"
#include "controller/loop/config_facts.h"
#include "controller/requests/sessions.h"
#include "platform/child_programs.h"
#include "platform/completion_file.h"
#include "platform/daemon.h"
#include "platform/daemon_log.h"
#include "platform/event_loop.h"
#include "platform/listener.h"
#include "platform/name_service.h"
#include "platform/real_filesystem.h"
#include "platform/worker.h"
#include "store/wal.h"
#include "wire/credential.h"
#include "wire/replay.h"
#include "wire/token.h"

namespace millrace {
namespace {

struct Options {
  std::string config;
  std::string log_file;
  unsigned verbose = 0;
  bool foreground = false;
  bool systemd = false;     // which waits to be told that it serves
  bool beside_log = false;  // works in the log's folder
  bool forget_state = false;
  std::string niceness;
};

std::optional<std::uint32_t> group_number(const std::string& name) {
  const group* found =
      getgrnam(name.c_str());  // before the loop starts, or at a reconfigure the administrator waits for
  return found ? std::optional<std::uint32_t>{found->gr_gid} : std::nullopt;
}

UserId user_number(const std::string& name) {
  const passwd* found = getpwnam(name.c_str());
  return found ? UserId{found->pw_uid} : UserId{0};
}

// A cluster that is on this machine alone is not offered to others.
std::string listen_address(const Configuration& configuration) {
  if (configuration.controllers.empty()) return "";
  const std::string& address = configuration.controllers.front().address;
  return address.starts_with("127.") || address == "localhost" || address == "::1" ? address : "";
}

class ControllerProcess {
 public:
  explicit ControllerProcess(Options options) : options_(std::move(options)) {}
  Result<int> run();

 private:
  Result<void> open_log();
  Result<void> build();
  void build_agents();
  Result<void> listen_agents();
  Result<void> listen_clients();
  void sweep_clients();
  void keep_high_mark();
  void stop() { loop_.stop(); }
  Result<void> leave_root();
  void open_munge();
  std::optional<NodeProof> proof_of(std::string_view identity);
  ControllerSettings settings() const;
  Result<Reconfiguration> reconfigure();
  void show_notes();
  void set_up_logs();
  void reopen_logs();

  Options options_;
  Configuration configuration_;
  DaemonLog log_file_, schedule_log_;
  Background background_;
  std::unique_ptr<RealFilesystem> state_;  // locked, before the pid file is written and until it is removed
  PidFile pid_file_;
  EventLoop loop_;
  ChildPrograms programs_{loop_};
  std::unique_ptr<RealFilesystem> files_;
  std::unique_ptr<ThreadWorker> log_worker_, plan_worker_, query_worker_, name_worker_;
  std::unique_ptr<Wal> wal_;
  State recovered_;
  std::vector<Event> first_facts_;  // what the start has to do about the log it found
  KeyFile key_;                     // until keys_ has it
  std::optional<ClusterKeys> keys_;
  std::optional<CredentialSigner> signer_;
  std::optional<MungeNodes> munge_nodes_;
  std::unique_ptr<CachedIdentities> identities_;
  std::unique_ptr<CompletionFile> completion_file_;
  Sessions sessions_;
  RepeatedLines repeated_{loop_, [this](const std::string& line) { log_file_.complain(line); }};
  // Of nodes that have proved their names: there are only so many.
  RepeatedLines of_nodes_{loop_, [this](const std::string& line) { log_file_.say(line); }, seconds(60), 65'536};
  std::optional<RelayedClients> relayed_;
  std::unique_ptr<OwnAgents> agents_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Listener> client_listener_, agent_listener_;
  std::string started_text_;
  int exit_code_ = 0;
};

// As the configuration says, and -v.
void ControllerProcess::set_up_logs() {
  const LogSettings& log = configuration_.log;
  log_file_.set_time_format(log.time);
  log_file_.set_level(options_.verbose > 0 ? raised(LogLevel::info, options_.verbose) : log.controller);
  log_file_.set_syslog("slurmctld", log.controller_syslog);
  log_file_.set_flags(log.flags);
  schedule_log_.set_time_format(log.time);
  schedule_log_.set_level(log.schedule ? LogLevel::info : LogLevel::quiet);
}

void ControllerProcess::reopen_logs() {
  if (log_file_.is_open())
    if (const auto opened =
            log_file_.open(options_.foreground ? options_.log_file : configuration_.controller_log_file);
        !opened)
      log_file_.complain(opened.error().story);
  if (schedule_log_.is_open())
    if (const auto opened = schedule_log_.open(configuration_.log.schedule_file); !opened)
      log_file_.complain(opened.error().story);
}

void ControllerProcess::show_notes() {
  for (const std::string& note : controller_notes(configuration_)) log_file_.say(note);
}

Result<void> ControllerProcess::open_log() {
  const std::string directory = configuration_.state_dir + "/log";
  MR_TRY_VOID(open_state_folder(configuration_));
  if (options_.forget_state) MR_TRY_VOID(move_aside(directory));
  MR_TRY_VOID(make_directories(directory, 0700));
  MR_TRY(files_, RealFilesystem::open_directory(directory));
  MR_TRY_VOID(in_context(files_->lock(), "another controller uses " + directory));
  log_worker_ = std::make_unique<ThreadWorker>(loop_, "log");
  MR_TRY(auto opened, Wal::open(*files_, *log_worker_, Wal::Settings{}));
  wal_ = std::move(opened.first);
  if (opened.second.cut_bytes > 0)
    log_file_.say("cut " + std::to_string(opened.second.cut_bytes) +
                  " bytes of an unfinished write from the end of the log");
  std::vector<SkippedEvent> skipped;
  MR_TRY(recovered_, replay(opened.second, &skipped));
  MR_TRY(key_, find_cluster_key(configuration_, recovered_));  // before anything is changed
  // A record that breaks a law must not keep the controller from serving all the others.
  MR_TRY(const auto repair,
         repair_at_start(directory, recovered_, skipped, Time{std::int64_t{time(nullptr)} * 1'000'000},
                         [this](const std::string& line) { log_file_.complain(line); }));
  if (repair) first_facts_.push_back(*repair);
  log_file_.say("recovered " + std::to_string(recovered_.jobs.size()) + " jobs from " +
                std::to_string(recovered_.version) + " events");
  return {};
}

Result<Reconfiguration> ControllerProcess::reconfigure() {
  auto fresh = load_configuration(configuration_.path);
  if (!fresh) {
    log_file_.complain("the configuration is wrong and the old one stays: " + fresh.error().story);
    return std::unexpected(std::move(fresh).error());
  }
  for (const std::string& what : wait_for_restart(configuration_, *fresh, Daemon::controller))
    log_file_.say(what + " has changed; it takes effect when the controller is started again");
  if (!options_.log_file.empty()) fresh->controller_log_file = options_.log_file;
  const bool other_log = !options_.foreground && !fresh->controller_log_file.empty() &&
                         fresh->controller_log_file != configuration_.controller_log_file;
  const bool other_schedule = fresh->log.schedule_file != configuration_.log.schedule_file;
  configuration_ = *std::move(fresh);
  if (other_log)
    if (const auto opened = log_file_.open(configuration_.controller_log_file); !opened)
      log_file_.complain(opened.error().story);
  sessions_.set_cluster(configuration_.cluster_name, configuration_.controller_port);
  set_up_logs();
  if (schedule_log_.is_open() && other_schedule && !configuration_.log.schedule_file.empty())
    if (const auto opened = schedule_log_.open(configuration_.log.schedule_file); !opened)
      log_file_.complain(opened.error().story);
  if (!schedule_log_.is_open() && other_schedule)
    log_file_.say("SlurmSchedLogFile takes effect when the controller is started again");
  show_notes();
  log_file_.say("configuration read again");
  return Reconfiguration{to_facts(configuration_, group_number), settings()};
}

ControllerSettings ControllerProcess::settings() const {
  ControllerSettings settings;
  settings.cluster = {
      configuration_.cluster_name,    configuration_.path,
      configuration_.job_file_append, configuration_.task_prolog,
      configuration_.task_epilog,     configuration_.measure_tasks ? configuration_.measure_every_seconds : 0,
      configuration_.max_step_count,  configuration_.max_tasks_per_node,
      configuration_.reserved_ports,  configuration_.allow_spec_resources};
  settings.host = host_name();
  settings.version = slurm_version;
  settings.slurm_user = user_number(configuration_.slurm_user);
  if (getuid() != 0)
    settings.slurm_user = UserId{getuid()};  // an ordinary user's own cluster: that user is its administrator
  settings.agent_timeout = configuration_.agent_timeout;
  settings.inactive_limit = configuration_.inactive_limit;
  settings.complete_wait = configuration_.complete_wait;
  settings.crontabs = configuration_.crontabs;
  settings.tell_completions = configuration_.job_completion.kind != JobCompletionSettings::Kind::none;
  settings.user_triggers = configuration_.user_triggers;
  settings.is_root = getuid() == 0;
  settings.backfill_depth = configuration_.scheduler.backfill_jobs_max;
  settings.replan_every = configuration_.scheduler.backfill_interval;
  return settings;
}

// What only root can prepare is prepared; from then on the controller is an ordinary user.
Result<void> ControllerProcess::leave_root() {
  if (getuid() != 0 || configuration_.slurm_user == "root" || configuration_.slurm_user == "0") return {};
  MR_TRY(const LocalUser user,
         in_context(find_user(configuration_.slurm_user), "SlurmUser=" + configuration_.slurm_user));
  if (user.uid == 0) return {};
  MR_TRY_VOID(make_state_folder(configuration_));
  MR_TRY_VOID(give_socket_folder(configuration_, user));
  log_file_.give_to(user);
  schedule_log_.give_to(user);
  pid_file_.give_to(user);
  MR_TRY_VOID(become(user));
  log_file_.say("running as SlurmUser=" + user.name);
  return {};
}

Result<void> ControllerProcess::build() {
  MR_TRY(CredentialSigner signer, CredentialSigner::from_cluster_key(key_.key));
  signer_.emplace(std::move(signer));
  plan_worker_ = std::make_unique<ThreadWorker>(loop_, "plan");
  query_worker_ = std::make_unique<ThreadWorker>(loop_, "query", ThreadWorker::Manner::polite);
  name_worker_ = std::make_unique<ThreadWorker>(loop_, "names");
  identities_ = std::make_unique<CachedIdentities>(loop_, *name_worker_);
  completion_file_ = std::make_unique<CompletionFile>(loop_, [this](const std::string& text) { log_file_.say(text); });
  ControllerHooks hooks;
  hooks.say = [this](const std::string& text) { log_file_.say(text); };
  hooks.say_often = [this](const std::string& kind, const std::string& line) { of_nodes_.say(kind, line); };
  hooks.log = &log_file_;
  if (schedule_log_.is_open()) hooks.schedule_log = &schedule_log_;
  hooks.fatal = [this](const std::string& text) {
    log_file_.at(LogLevel::fatal, [&] { return std::string_view{text}; });
    std::_Exit(1);  // nothing may be answered or written any more
  };
  hooks.shutdown = [this](bool) { loop_.after(milliseconds(50), [this] { stop(); }); };  // the answer leaves first
  hooks.peak_passed = [] { malloc_trim(0); };
  hooks.reconfigure = [this] { return reconfigure(); };
  hooks.site_partitions = [this] {
    return SitePartitions{configuration_.node_sets, configuration_.disable_root_jobs, group_number};
  };
  hooks.token_rules = [this]() -> Result<TokenRules> {
    const TokenSettings& tokens = configuration_.tokens;
    if (!tokens.enabled || tokens.key_file.empty())
      return fail(Errc::refused, "tokens need AuthAltTypes=auth/jwt and AuthAltParameters=jwt_key=FILE in slurm.conf");
    MR_TRY(std::string key, read_token_key(tokens.key_file));
    return TokenRules{std::move(key), tokens.only_administrators, tokens.longest_seconds};
  };
  hooks.site_programs = [this] {
    const NodeLifeSettings& life = configuration_.node_life;
    const PowerSettings& power = configuration_.power;
    const JobCompletionSettings& completion = configuration_.job_completion;
    return SitePrograms{life.controller_prolog,
                        life.controller_epilog,
                        life.prolog_limit,
                        life.epilog_limit,
                        !life.reboot_program.empty(),
                        power.suspend_program,
                        power.resume_program,
                        power.resume_fail_program,
                        life.mail_program,
                        life.mail_domain,
                        life.reservation_prolog,
                        life.reservation_epilog,
                        completion.kind == JobCompletionSettings::Kind::program ? completion.location : ""};
  };
  hooks.record_completions = [this](std::string lines) {
    const JobCompletionSettings& completion = configuration_.job_completion;
    if (completion.kind == JobCompletionSettings::Kind::file)
      completion_file_->write(completion.location, std::move(lines));
  };
  hooks.show_config = [this](wire::Config& out) {
    LiveFacts facts;
    facts.boot_time = started_text_;
    facts.next_job_id = next_job_id(controller_->durable(), controller_->durable().last_id).value;
    facts.slurm_user_uid = user_number(configuration_.slurm_user).value;
    facts.slurm_version = slurm_version;
    for (auto& [key, value] : show_config(configuration_, facts)) {
      auto* entry = out.add_entries();
      entry->set_key(key);
      entry->set_value(
          key == "FairShareDampeningFactor" ? std::to_string(controller_->durable().policy->priority.damping) : value);
      // What scontrol has set since.
      if (key == "SlurmctldDebug") entry->set_value(std::string{name_of(log_file_.file_level())});
      if (key == "DebugFlags") entry->set_value(log_file_.flags() == 0 ? "(null)" : names_of_flags(log_file_.flags()));
      if (key == "SlurmSchedLogLevel" && schedule_log_.is_open())
        entry->set_value(schedule_log_.wants(LogLevel::info) ? "1" : "0");
    }
  };
  controller_ = std::make_unique<Controller>(
      Controller::Parts{loop_, *wal_, *plan_worker_, *query_worker_, *identities_, sessions_, &programs_}, settings(),
      std::move(hooks), std::move(recovered_));
  recovered_ = State{};
  build_agents();
  return {};
}

// Their sessions, keys and clients.
void ControllerProcess::build_agents() {
  sessions_.serve(*controller_);
  sessions_.set_cluster(configuration_.cluster_name, configuration_.controller_port);
  const auto timeout = static_cast<std::uint32_t>(configuration_.agent_timeout.value / 1'000'000);
  agents_ = std::make_unique<OwnAgents>(
      loop_, *signer_, OwnAgents::Settings{configuration_.cluster_name, std::clamp(timeout / 5, 1u, 10u)},
      [this](const std::string& text) { log_file_.say(text); });
  agents_->log_to(log_file_);
  agents_->count_lines([this](const std::string& kind, const std::string& line) { of_nodes_.say(kind, line); });
  keys_.emplace(
      loop_, configuration_.cluster_key_file, std::exchange(key_, {}),
      [this](const std::string& node, std::uint32_t generation) {
        log_file_.say("the keys of " + node + " are revoked");
        agents_->revoke(node, generation);
      },
      [this](const std::string& text) { log_file_.complain(text); });
  programs_.log_to(log_file_);
  controller_->add_manager(*agents_);
  relayed_.emplace(sessions_, *agents_, *controller_,
                   [slurm_user = settings().slurm_user](UserId uid) { return uid.value == 0 || uid == slurm_user; });
}

Result<void> ControllerProcess::listen_clients() {
  const UserId slurm_user = settings().slurm_user;
  raise_descriptor_limit();
  sessions_.set_privileged([slurm_user](UserId uid) { return uid.value == 0 || uid == slurm_user; });
  MR_TRY(client_listener_,
         listen_for_clients(loop_, configuration_.socket_path, slurm_user.value, repeated_,
                            [this](std::unique_ptr<Link> link, std::uint32_t uid, std::uint32_t gid) {
                              return &sessions_.handler(sessions_.accept(std::move(link), UserId{uid}, GroupId{gid}));
                            }));
  sweep_clients();
  keep_high_mark();
  return {};
}

// After a power cut the start knows so well what had been acknowledged. A failure costs nothing but that.
void ControllerProcess::keep_high_mark() {
  wal_->sync_high_mark([this](Result<void> done) {
    if (!done) repeated_.say("high mark", "the mark of what the log has acknowledged: " + done.error().story);
  });
  loop_.after(seconds(10), [this] { keep_high_mark(); });
}

void ControllerProcess::sweep_clients() {
  sessions_.sweep();
  loop_.after(seconds(60), [this] { sweep_clients(); });
}

// Users of auth/munge have no keys to carry to their nodes: where munged runs its word is taken for root's.
void ControllerProcess::open_munge() {
  if (!configuration_.munge) return;
  auto munge = Munge::open(configuration_.munge_socket);
  if (!munge)
    return log_file_.say("AuthType=auth/munge: " + munge.error().story + "; nodes prove themselves by keys of our own");
  log_file_.say("AuthType=auth/munge: nodes without a key of our own prove themselves by MUNGE (" + (*munge)->socket() +
                ")");
  munge_nodes_.emplace(*std::move(munge), [this](const std::string& text) { repeated_.say("munge", text); });
}

std::optional<NodeProof> ControllerProcess::proof_of(std::string_view identity) {
  if (!MungeNodes::is_credential(identity)) return keys_->proof_of(identity);
  return munge_nodes_ ? munge_nodes_->open(identity) : std::nullopt;
}

Result<void> ControllerProcess::listen_agents() {
  agents_->serve(*controller_, controller_->epoch(), relayed_->hooks());
  Listener::Settings settings;
  settings.refused = [this](std::string_view story) { repeated_.say_refused(story); };
  settings.limits.receive_max = reply_size_max;
  MR_TRY(agent_listener_, Listener::on_tls(
                              loop_, listen_address(configuration_), configuration_.controller_port,
                              [this](std::string_view node) { return proof_of(node); }, settings,
                              [this](std::unique_ptr<FramedLink> link) {
                                FramedLink& raw = *link;
                                const auto name = parse_key_name(raw.peer().identity);
                                if (!name || !keys_->holds(*name)) return;  // revoked meanwhile
                                raw.start(agents_->accept(std::move(link), *name));
                              }));
  return {};
}

std::string local_time_text() {
  char text[32];
  const time_t now = time(nullptr);
  tm local{};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", localtime_r(&now, &local));
  return text;
}

Result<int> ControllerProcess::run() {
  const std::string path = options_.config.empty() ? configuration_path() : options_.config;
  MR_TRY(configuration_, load_configuration(path));
  if (!options_.log_file.empty()) configuration_.controller_log_file = options_.log_file;
  if (!options_.foreground && configuration_.controller_log_file.empty())
    configuration_.controller_log_file = configuration_.state_dir + "/controller.log";
  if (!options_.foreground) {
    if (configuration_.controller_log_file.starts_with(configuration_.state_dir + "/"))
      MR_TRY_VOID(make_state_folder(configuration_));
    if (options_.systemd)
      background_.await_service_manager();
    else
      MR_TRY_VOID(background_.leave_terminal());
  }
  if (!options_.niceness.empty()) MR_TRY_VOID(set_niceness(options_.niceness));
  if (!configuration_.controller_log_file.empty() && !options_.foreground)
    MR_TRY_VOID(log_file_.open(configuration_.controller_log_file));
  if (options_.foreground && !options_.log_file.empty()) MR_TRY_VOID(log_file_.open(options_.log_file));
  if (!configuration_.log.schedule_file.empty())
    MR_TRY_VOID(in_context(schedule_log_.open(configuration_.log.schedule_file), "SlurmSchedLogFile"));
  set_up_logs();
  started_text_ = local_time_text();
  MR_TRY_VOID(make_state_folder(configuration_));
  MR_TRY(state_, lock_state(configuration_.state_dir, configuration_.controller_pid_file));
  MR_TRY_VOID(pid_file_.write(configuration_.controller_pid_file));
  MR_TRY_VOID(leave_root());
  MR_TRY_VOID(check_socket_folder(configuration_));
  if (options_.beside_log || !options_.foreground)
    MR_TRY_VOID(work_beside(configuration_.controller_log_file, configuration_.state_dir));
  show_notes();
  open_munge();
  MR_TRY_VOID(open_log());
  MR_TRY_VOID(build());
  MR_TRY_VOID(loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR2}, [this](int signal) {
    if (signal == SIGUSR2) {
      reopen_logs();
    } else if (signal == SIGHUP) {
      wire::Request request;
      request.mutable_reconfigure();
      controller_->request({0, UserId{0}, GroupId{0}}, request);
    } else {
      stop();
    }
  }));
  Result<void> listening;
  controller_->start(
      to_facts(configuration_, group_number),
      [this, &listening] {
        listening = listen_agents();
        if (listening) listening = listen_clients();
        if (!listening) return stop();
        log_file_.say("controller of cluster " + configuration_.cluster_name + " serves: agents on port " +
                      std::to_string(agent_listener_->port()) + ", clients on " + configuration_.socket_path);
        background_.ready();
      },
      std::exchange(first_facts_, {}));
  loop_.run();
  if (!listening) return std::unexpected(listening.error());
  log_file_.say("controller stopped");
  wal_->sync_high_mark([](Result<void>) {});
  // Workers finish what is queued while everything they touch is still there; what should follow on the loop never
  // runs. Then links and listeners, before what they call into.
  for (auto* worker : {&log_worker_, &plan_worker_, &query_worker_, &name_worker_}) worker->reset();
  client_listener_.reset();
  agent_listener_.reset();
  return exit_code_;
}

constexpr std::pair<std::string_view, bool Options::*> options_without[] = {{"c", &Options::forget_state},
                                                                            {"D", &Options::foreground},
                                                                            {"s", &Options::beside_log},
                                                                            {"systemd", &Options::systemd}};

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  using namespace millrace;
  const DaemonCommand& command = daemon_command("slurmctld");
  const auto words = read_daemon_line(command, argc, argv);
  if (!words) {
    std::fprintf(stderr, "slurmctld: %s\n%s", words.error().story.c_str(),
                 words.error().code == Errc::invalid ? daemon_usage(command).c_str() : "");
    return 1;
  }
  Options options;
  for (const auto& [key, value] : *words) {
    if (key == "h") return std::fputs(daemon_usage(command).c_str(), stdout) < 0;
    if (key == "V") return std::printf("slurm %s\n", slurm_version) < 0;
    if (key == "f" || key == "L") (key == "f" ? options.config : options.log_file) = absolute_path(value);
    if (key == "n") options.niceness = value;
    if (key == "v") ++options.verbose;
    for (const auto& [name, flag] : options_without)
      if (key == name) options.*flag = true;
  }
  close_inherited_descriptors();
  signal(SIGPIPE, SIG_IGN);
  mallopt(M_ARENA_MAX,
          2);  // a snapshot or a long query on a worker must not leave its peak behind in an arena of its own
  const rlimit no_core{0, 0};  // the cluster key is in our memory
  setrlimit(RLIMIT_CORE, &no_core);
  ControllerProcess process(std::move(options));
  const auto outcome = process.run();
  if (outcome) return *outcome;
  std::fprintf(stderr, "slurmctld: fatal: %s\n", shown_lines(outcome.error().story).c_str());
  return 1;
}
