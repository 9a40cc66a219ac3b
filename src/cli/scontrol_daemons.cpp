// src/cli/scontrol_daemons.cpp - what scontrol asks about the daemons and the machines: addresses, logs, what runs on
// this host.
#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/log_level.h"
#include "base/text.h"
#include "cli/render/error_texts.h"
#include "cli/scontrol.h"
#include "cli/version.h"

namespace millrace {
namespace {

using Text = std::string_view;

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

// "nodes=n[1-2]", also shortened, or quoted by the shell.
bool take_log_nodes(Text word, wire::SetLogging& wish) {
  const std::size_t equals = word.find('=');
  if (equals == Text::npos || equals < 4 || !Text{"nodes"}.starts_with(lower(word.substr(0, equals)))) return false;
  wish.set_nodes(std::string{word.substr(equals + 1)});
  return true;
}

// One word, and perhaps which nodes; 0: so it is.
int check_log_words(const Words& words, Text keyword, wire::SetLogging& wish) {
  if (words.empty()) return say_plain("too few arguments for keyword:" + std::string{keyword}), 1;
  if (words.size() > 2 || (words.size() == 2 && !take_log_nodes(words[1], wish)))
    return say_plain("too many arguments for keyword:" + std::string{keyword}), 1;
  return 0;
}

int order_logging(Scontrol& self, wire::Request& request, Text call) {
  if (const auto reply = self.ask(request); !reply)
    return say_plain(std::string{call} + " error: " + reply.error().story), 1;
  return 0;
}

// A name of this machine: as its nodes are called, or by their NodeHostName.
bool is_here(const wire::NodeView& node) {
  return node.host_name() == own_host_name() || node.name() == own_node_name();
}

}  // namespace

// ---- logs ----

int scontrol_set_log_level(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::SetLogging& wish = *request.mutable_set_logging();
  if (const int wrong = check_log_words(words, "setdebug", wish)) return wrong;
  const auto level = parse_log_level(words[0]);
  if (!level) {
    say_plain("invalid debug level: " + std::string{words[0]});
    say_plain("it is 0 to 9, or quiet, fatal, error, info, verbose, debug, debug2, debug3, debug4, debug5");
    return 1;
  }
  wish.set_level(static_cast<std::uint32_t>(*level));
  return order_logging(self, request, "slurm_set_debug_level");
}

int scontrol_set_log_flags(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::SetLogging& wish = *request.mutable_set_logging();
  if (words.empty()) return say_plain("too few arguments for keyword:setdebugflags"), 1;
  for (const Text word : words) {
    if (take_log_nodes(word, wish)) continue;
    const bool add = word.starts_with('+'), remove = word.starts_with('-');
    if (!add && !remove) {
      say_plain("invalid debug flag: " + std::string{word});
      say_plain("Usage: setdebugflags [+|-]NAME");
      return 1;
    }
    const Text names = word.substr(1);
    const auto flags = parse_debug_flags(names);
    if (!flags || *flags == 0) {
      say_error(self.command, "Invalid DebugFlag: " + std::string{names});
      say_plain("invalid debug flag: " + std::string{word});
      return 1;
    }
    if (const std::string silent = flags_without_lines(*flags); add && !silent.empty())
      say_info(self.command, silent + ": Millrace has nothing more to say of that");
    std::string& list = add ? *wish.mutable_add_flags() : *wish.mutable_remove_flags();
    list += (list.empty() ? "" : ",") + std::string{names};
  }
  if (wish.add_flags().empty() && wish.remove_flags().empty())
    return say_plain("too few arguments for keyword:setdebugflags"), 1;
  return order_logging(self, request, "slurm_set_debugflags");
}

int scontrol_set_schedule_log(Scontrol& self, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:schedloglevel"), 1;
  if (words.size() > 1) return say_plain("too many arguments for keyword:schedloglevel"), 1;
  const auto number = parse_integer(words[0]);
  const bool on = number == 1 || equals_ignoring_case(words[0], "enable");
  if (!on && number != 0 && !equals_ignoring_case(words[0], "disable")) {
    say_plain("invalid schedlog level: " + std::string{words[0]});
    say_plain("it is 0 (disable) or 1 (enable)");
    return 1;
  }
  wire::Request request;
  request.mutable_set_logging()->set_schedule(on);
  return order_logging(self, request, "slurm_set_schedlog_level");
}

int scontrol_error_text(Scontrol&, const Words& words) {
  if (words.empty()) return say_plain("too few arguments for keyword:errnumstr"), 1;
  const auto number = parse_integer(words[0]);
  if (!number) return say_plain("numeric arguments required for keyword:errnumstr"), 1;
  return print(error_text(*number) + '\n');
}

// ---- machines ----

int scontrol_addresses(Scontrol& self, const Words& words) {
  return for_each_node(self, words, "getaddrs", [](const wire::NodeView& node) {
    return node.name() + ": " + numeric_address(node.address()) + ':' + std::to_string(node.port()) + '\n';
  });
}

int scontrol_host_names(Scontrol& self, const Words& words) {
  return for_each_node(self, words, "gethost",
                       [](const wire::NodeView& node) { return node.name() + ": " + node.host_name() + '\n'; });
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
    const auto line = [&](Text key, const std::string& value) {
      out += std::string{key} + std::string(24 - key.size(), ' ') + " = " + value + '\n';
    };
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
