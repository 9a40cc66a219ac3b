// src/apps/millrace_doctor.cpp - `millrace doctor`: what is wrong with this machine and what would be right.
#include <netdb.h>
#include <sys/socket.h>

#include <cstdio>

#include "apps/admin_commands.h"
#include "apps/doctor_report.h"
#include "apps/local_cluster.h"
#include "apps/local_questions.h"
#include "cli/ask.h"
#include "client.pb.h"
#include "config/slurm_conf.h"
#include "platform/daemon.h"

namespace millrace {

void DoctorReport::line(std::string_view verdict, std::string_view what, std::string_view text) {
  std::string shown{what};
  shown.resize(shown.size() < 11 ? 11 : shown.size(), ' ');
  say(std::string{verdict} + "  " + shown + " " + std::string{text});
}

namespace {

constexpr FlagRow rows[] = {
    {"--conf", "FILE",
     "the slurm.conf to look at (default: SLURM_CONF, /etc/slurm/slurm.conf, or the one of `millrace up`)"},
    {"--help", "", "print this help"},
};
constexpr std::size_t names_looked_up_max = 64;  // a name service that hangs must not hang us for each of thousands
constexpr Duration skew_remarkable = seconds(1), skew_wrong = seconds(60);

std::string find_conf(const std::string& given) {
  if (!given.empty()) return given;
  const std::string usual = configuration_path();
  if (getenv("SLURM_CONF") != nullptr || access(usual.c_str(), F_OK) == 0) return usual;
  const auto folder = cluster_folder("");
  return folder && access(folder->conf().c_str(), F_OK) == 0 ? folder->conf() : usual;
}

std::optional<Configuration> check_configuration(DoctorReport& report, const std::string& path) {
  const auto lines = read_conf_lines(path);
  if (!lines) {
    report.wrong("config", lines.error().story + "; --conf FILE or SLURM_CONF names another, `millrace up` needs none");
    return std::nullopt;
  }
  const auto companions = read_companions(path, *lines);
  if (!companions) {
    report.wrong("config", companions.error().story);
    return std::nullopt;
  }
  ConfigurationReport parsed = parse_configuration(*lines, path, *companions);
  for (const std::string& error : parsed.errors) report.wrong("config", error);
  if (!parsed.errors.empty()) return std::nullopt;
  const Configuration& c = parsed.configuration;
  report.ok("config", path + ": cluster " + c.cluster_name + ", " + std::to_string(c.nodes.size()) + " nodes, " +
                          std::to_string(c.partitions.size()) + " partitions");
  for (const ConfigurationNote& note : c.unknown)
    report.note("config", note.file + ":" + std::to_string(note.line) + ": " + note.key +
                              " is not a key of slurm.conf and is ignored");
  if (!c.not_built.empty())
    report.note("config", std::to_string(c.not_built.size()) + " keys have no effect yet; `millrace check` lists them");
  if (c.nodes.empty()) report.wrong("config", path + " names no node: a line NodeName=NAME CPUs=... would be right");
  if (c.partitions.empty())
    report.wrong("config",
                 path + " names no partition: a line PartitionName=main Nodes=ALL Default=YES would be right");
  return std::move(parsed.configuration);
}

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

Role find_role(DoctorReport& report, const Configuration& configuration) {
  Role role{host_name(), false, nullptr, 0};
  for (const ControllerHost& controller : configuration.controllers)
    role.controller = role.controller || short_name(controller.host) == role.host || controller.host == "localhost" ||
                      controller.address.starts_with("127.");
  // Virtual nodes of `millrace up` carry no host's name: with a controller on loopback all nodes are here.
  const bool all_here =
      !configuration.controllers.empty() && configuration.controllers.front().address.starts_with("127.");
  for (const ConfiguredNode& node : configuration.nodes) {
    if (!all_here && node.name != role.host && short_name(node.host_name) != role.host) continue;
    if (role.node == nullptr) role.node = &node;
    ++role.nodes;
  }
  std::string text = role.host + " is";
  if (role.controller) text += " the controller's host";
  if (role.node != nullptr)
    text += std::string{role.controller ? " and" : ""} +
            (role.nodes == 1 ? " node " + role.node->name : " the host of " + std::to_string(role.nodes) + " nodes");
  if (role.controller || role.node != nullptr)
    report.ok("host", text);
  else
    report.note("host", role.host +
                            " is neither SlurmctldHost nor a NodeName of this configuration; on a login node "
                            "`millrace-agent --relay` carries its users' requests");
  return role;
}

bool resolves(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const bool good = getaddrinfo(name.c_str(), nullptr, &hints, &found) == 0;
  if (found != nullptr) freeaddrinfo(found);
  return good;
}

void check_names(DoctorReport& report, const Configuration& configuration, const Role& role) {
  for (const ControllerHost& controller : configuration.controllers) {
    if (resolves(controller.address))
      report.ok("names", "controller " + controller.host + " has an address (" + controller.address + ")");
    else
      report.wrong("names", "the controller's name " + controller.address +
                                " has no address; put it into DNS or /etc/hosts, or write SlurmctldHost=" +
                                controller.host + "(ADDRESS)");
  }
  if (role.nodes == configuration.nodes.size()) return;  // all here: nobody needs their names
  std::string unknown;
  std::size_t looked = 0, missing = 0;
  for (const ConfiguredNode& node : configuration.nodes) {
    if (looked == names_looked_up_max) break;
    ++looked;
    if (resolves(node.address)) continue;
    if (missing++ < 5) unknown += " " + node.address;
  }
  if (missing == 0)
    report.ok("names", "of " + std::to_string(looked) + " nodes have addresses");
  else
    report.note("names", std::to_string(missing) + " of " + std::to_string(looked) + " node names have no address:" +
                             unknown + "; srun from other hosts needs them, agents do not");
}

void check_clock(DoctorReport& report, Session& session) {
  const auto skew = clock_difference(session);
  if (!skew) return report.note("clock", "cannot be compared: " + skew.error().story);
  const std::int64_t off = skew->value < 0 ? -skew->value : skew->value;
  const std::string text = "the controller's differs by " + std::to_string(off / 1000) + " ms";
  if (off > skew_wrong.value)
    report.wrong("clock", text + "; run chrony or systemd-timesyncd on both hosts");
  else if (off > skew_remarkable.value)
    report.note("clock", text + "; times in reports will not match; run chrony or systemd-timesyncd");
  else
    report.ok("clock", text);
}

void check_nodes(DoctorReport& report, Session& session) {
  const auto counts = count_nodes(session);
  if (!counts) return report.wrong("nodes", "the controller did not list them: " + counts.error().story);
  if (counts->not_ready.empty()) return report.ok("nodes", "all " + std::to_string(counts->all) + " are ready");
  std::string text = std::to_string(counts->ready) + " of " + std::to_string(counts->all) + " are ready";
  for (std::size_t i = 0; i < counts->not_ready.size() && i < 5; ++i) text += "; " + counts->not_ready[i];
  report.note("nodes", text + "; their logs say more, `scontrol update NodeName=... State=RESUME` brings a node back");
}

// Whether a controller answers.
bool check_controller(DoctorReport& report, const Configuration& configuration) {
  Session session{session_options(configuration, milliseconds(500))};
  wire::Request ping;
  ping.mutable_ping();
  const auto answer = ask_all(session, ping);
  if (!answer) {
    const std::string tried = session.trouble().empty() ? configuration.socket_path : session.trouble();
    report.wrong("controller",
                 "no answer at " + tried + "; start millrace-controller on " +
                     (configuration.controllers.empty() ? "its host" : configuration.controllers.front().host) +
                     " and, on other hosts, millrace-agent (or millrace-agent --relay)");
    return false;
  }
  report.ok("controller", answer->pong().host() + " answers at " + configuration.socket_path + ", version " +
                              answer->pong().version());
  check_clock(report, session);
  check_nodes(report, session);
  return true;
}

}  // namespace

int run_doctor(const Words& words) {
  const auto flags = read_flags(words, rows);
  if (!flags) return say_failure("doctor", flags.error().story);
  if (flags->has("--help")) return std::fputs(flag_help("millrace doctor [--conf FILE]", rows).c_str(), stdout) < 0;
  if (!flags->rest.empty())
    return say_failure("doctor", "there is no place for '" + std::string{flags->rest[0]} + "' here");
  DoctorReport report;
  if (const auto configuration = check_configuration(report, find_conf(flags->text("--conf")))) {
    const Role role = find_role(report, *configuration);
    check_names(report, *configuration, role);
    const bool answers = check_controller(report, *configuration);
    check_keys(report, *configuration, role);
    check_port(report, *configuration, role, answers);
    check_pid_files(report, *configuration, role, answers);
    check_space(report, *configuration, role);
  }
  check_cgroups(report);
  check_limits(report);
  const std::uint32_t wrong = report.count_wrong();
  say(wrong == 0 ? "Nothing is wrong here."
                 : std::to_string(wrong) + (wrong == 1 ? " thing is" : " things are") + " wrong here.");
  return wrong == 0 ? 0 : 1;
}

}  // namespace millrace
