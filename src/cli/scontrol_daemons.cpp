// src/cli/scontrol_daemons.cpp - what scontrol asks about the daemons and the machines: addresses, logs, what runs on this host.
#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "cli/render/error_texts.h"
#include "cli/scontrol.h"
#include "cli/version.h"

namespace millrace {
namespace {

using Text = std::string_view;

constexpr Text log_levels[] = {"quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5"};

// Levels and flags are checked, so that a script with a mistake hears of it; what they would choose is not written at all.
int accept_without_effect(Scontrol& self, Text what) {
  say_info(self.command, std::string{what} + " has no effect here: the daemons write what an administrator must know, and nothing else");
  return 0;
}

std::optional<wire::Nodes> nodes_named(Scontrol& self, Text list) {
  wire::Request request;
  request.mutable_query_nodes()->set_nodes(std::string{list});
  auto reply = self.ask(request);
  if (!reply) return say_plain("slurm_load_node error: " + reply.error().story), std::nullopt;
  return std::move(*reply->mutable_nodes());
}

std::string numeric_address(const std::string& name) {
  addrinfo* found = nullptr;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0 || found == nullptr) return name;
  char text[NI_MAXHOST] = {};
  const bool known = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  const bool six = found->ai_family == AF_INET6;
  freeaddrinfo(found);
  if (!known) return name;
  return six ? '[' + std::string{text} + ']' : text;
}

int for_each_node(Scontrol& self, const Words& words, Text keyword, const auto& line) {
  if (words.empty()) return say_plain("too few arguments for keyword:" + std::string{keyword}), 1;
  const auto nodes = nodes_named(self, words[0]);
  if (!nodes) return 1;
  std::string out;
  for (const wire::NodeView& node : nodes->nodes()) out += line(node);
  print(out);
  for (const std::string& name : nodes->missing()) say_plain("Node " + name + " not found");
  return nodes->missing_size() == 0 ? 0 : 1;
}

// A name of this machine: as its nodes are called, or by their NodeHostName.
bool is_here(const wire::NodeView& node) { return node.host_name() == own_host_name() || node.name() == own_node_name(); }

}  // namespace

// ---- logs ----

int scontrol_set_log_level(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:setdebug"), 1;
  const auto number = parse_integer(words[0]);
  const bool known = number ? *number >= 0 && *number <= 9 : std::ranges::any_of(log_levels, [&](Text level) { return equals_ignoring_case(level, words[0]); });
  if (!known) return say_plain("invalid debug level: " + std::string{words[0]} + "; it is 0 to 9, or quiet, fatal, error, info, verbose, debug to debug5"), 1;
  return accept_without_effect(self, "setdebug");
}

int scontrol_set_log_flags(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:setdebugflags"), 1;
  for (const Text word : words)
    if (!lower(word).starts_with("node") && word.front() != '+' && word.front() != '-')
      return say_plain("invalid debug flag: " + std::string{word} + "; usage: setdebugflags [+|-]NAME"), 1;
  return accept_without_effect(self, "setdebugflags");
}

int scontrol_set_schedule_log(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:schedloglevel"), 1;
  const auto number = parse_integer(words[0]);
  if (!(number && (*number == 0 || *number == 1)) && !equals_ignoring_case(words[0], "disable") && !equals_ignoring_case(words[0], "enable"))
    return say_plain("invalid schedlog level: " + std::string{words[0]} + "; it is 0 or 1"), 1;
  return accept_without_effect(self, "schedloglevel");
}

int scontrol_error_text(Scontrol&, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:errnumstr"), 1;
  const auto number = parse_integer(words[0]);
  if (!number) return say_plain("invalid error number: " + std::string{words[0]}), 1;
  return print(error_text(*number) + '\n');
}

// ---- machines ----

int scontrol_addresses(Scontrol& self, const Words& words) {
  return for_each_node(self, words, "getaddrs", [](const wire::NodeView& node) {
    return node.name() + ": " + numeric_address(node.address()) + ':' + std::to_string(node.port()) + '\n';
  });
}

int scontrol_host_names(Scontrol& self, const Words& words) {
  return for_each_node(self, words, "gethost", [](const wire::NodeView& node) { return node.name() + ": " + node.host_name() + '\n'; });
}

int scontrol_show_aliases(Scontrol& self, Text host) {
  const std::string wanted = host.empty() ? own_host_name() : std::string{host};
  const auto nodes = nodes_named(self, "");
  if (!nodes) return 1;
  std::string out;
  for (const wire::NodeView& node : nodes->nodes())
    if (node.host_name() == wanted) out += (out.empty() ? "" : " ") + node.name();
  if (!out.empty()) return print(out + '\n');
  say_plain("No node has the NodeHostName " + wanted);
  return 1;
}

int scontrol_show_daemons(Scontrol& self, Text) {
  const auto nodes = nodes_named(self, "");
  if (!nodes) return 1;
  std::string out;
  const std::string& controller = self.settings.controller_host;
  if (controller.empty() || controller == own_host_name() || controller == "localhost") out = "slurmctld ";
  if (std::ranges::any_of(nodes->nodes(), is_here)) out += "slurmd ";
  return print(out + '\n');
}

int scontrol_show_slurmd(Scontrol& self, Text name) {
  const auto nodes = nodes_named(self, "");
  if (!nodes) return 1;
  std::string out;
  for (const wire::NodeView& node : nodes->nodes()) {
    if (name.empty() ? !is_here(node) : node.name() != name) continue;
    const auto line = [&](Text key, const std::string& value) { out += std::string{key} + std::string(24 - key.size(), ' ') + " = " + value + '\n'; };
    if (!out.empty()) out += '\n';
    line("Node", node.name());
    line("Actual CPUs", std::to_string(node.cpus()));
    line("Actual Boards", std::to_string(node.boards()));
    line("Actual sockets", std::to_string(node.sockets()));
    line("Actual cores", std::to_string(node.cores_per_socket()));
    line("Actual threads per core", std::to_string(node.threads_per_core()));
    line("Actual real memory", std::to_string(node.memory_mib()) + " MB");
    line("Actual temp disk space", std::to_string(node.tmp_disk_mib()) + " MB");
    line("Boot time", format_time(node.agent_started_at_us(), "NONE"));
    line("Hostname", node.host_name());
    line("Last slurmctld msg time", node.not_responding() ? "NONE" : format_time(nodes->now_us(), "NONE"));
    line("Version", node.version().empty() ? slurm_version : node.version());
  }
  if (!out.empty()) return print(out);
  say_plain(name.empty() ? "no node runs on this host" : "Node " + std::string{name} + " not found");
  return 1;
}

// ---- what Slurm has plugins for ----

int scontrol_show_burst_buffers(Scontrol& self, Text) {
  say_error(self.command, "No burst buffer information available");
  return 0;
}

int scontrol_show_topology_file(Scontrol& self, Text) {
  const std::string path = self.settings.path.substr(0, self.settings.path.rfind('/') + 1) + "topology.conf";
  std::ifstream file(path);
  if (!file) return say_plain("no topology is configured: there is no " + path), 1;
  return print(std::string{std::istreambuf_iterator<char>{file}, {}});
}

}  // namespace millrace
