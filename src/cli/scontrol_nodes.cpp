// src/cli/scontrol_nodes.cpp - what scontrol does to nodes: update NodeName=, one row per key, reboot, power, create
// and delete.
#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/scontrol_update.h"

namespace millrace {
namespace {

using Text = std::string_view;

struct NodeKey {
  std::string_view name;
  Result<void> (*set)(wire::UpdateNode& update, Text value);  // nullptr: known and refused
};

Result<void> set_node_features(wire::UpdateNode& u, Text v) {
  u.set_features(std::string{v});
  return {};
}

Result<void> set_resume_after(wire::UpdateNode& u, Text v) {
  const bool ends = v == "-1" || equals_ignoring_case(v, "INFINITE") || equals_ignoring_case(v, "UNLIMITED");
  const auto seconds = ends ? std::optional<std::int64_t>{-1} : parse_integer(v);
  if (!seconds || (!ends && *seconds < 0) || *seconds > UINT32_MAX) return bad_update_value("ResumeAfter", v);
  u.set_resume_after_seconds(*seconds);
  return {};
}

// clang-format off
constexpr NodeKey node_keys[] = {
    {"State", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_state(upper_case(v)); return {}; }},
    {"Reason", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_reason(std::string{v}); return {}; }},
    {"Weight", [](wire::UpdateNode& u, Text v) -> Result<void> { MR_TRY(const auto n, update_number("Weight", v)); u.set_weight(n); return {}; }},
    {"AvailableFeatures", set_node_features},
    {"ActiveFeatures", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_active_features(std::string{v}); return {}; }},
    {"Features", set_node_features},
    {"Comment", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_comment(std::string{v}); return {}; }},
    {"Extra", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_extra(std::string{v}); return {}; }},
    {"NodeAddr", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_address(std::string{v}); return {}; }},
    {"NodeHostName", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_host_name(std::string{v}); return {}; }},
    {"InstanceId", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_instance_id(std::string{v}); return {}; }},
    {"InstanceType", [](wire::UpdateNode& u, Text v) -> Result<void> { u.set_instance_type(std::string{v}); return {}; }},
    {"ResumeAfter", set_resume_after},
    {"CertToken", nullptr}, {"CpuBind", nullptr}, {"Gres", nullptr}, {"Topology", nullptr},
};
// clang-format on

}  // namespace

int update_node(Scontrol& self, const std::vector<UpdatePair>& pairs, Text names) {
  wire::Request request;
  wire::UpdateNode* update = request.mutable_update_node();
  update->set_nodes(std::string{names});
  bool any = false;
  for (const UpdatePair& pair : pairs) {
    if (!pair.has_value) return refuse_update_word(pair.key);
    if (is_update_key(pair.key, "NodeName")) continue;
    any = true;
    const auto row =
        std::ranges::find_if(node_keys, [&](const NodeKey& each) { return equals_ignoring_case(each.name, pair.key); });
    if (row == std::end(node_keys)) return refuse_update_key(pair.key, pair.value);
    if (row->set == nullptr) return scontrol_refuse(self, "update " + std::string{row->name} + "=");
    if (const auto set = row->set(*update, pair.value); !set) {
      say_plain(set.error().story);
      return 1;
    }
  }
  if (!any) {
    say_plain("No changes specified");
    return 1;
  }
  const std::string& state = update->state();
  const bool needs_reason = state == "DOWN" || state == "DRAIN" || state == "FAIL";
  if (needs_reason && update->reason().empty()) {
    say_plain("You must specify a reason when " + std::string{state == "FAIL" ? "FAILING" : "DOWNING or DRAINING"} +
              " a node. Request denied");
    return 1;
  }
  return send_update(self, request);
}

std::vector<std::string_view> node_update_keys() {
  std::vector<std::string_view> out;
  for (const NodeKey& key : node_keys)
    if (key.set != nullptr) out.push_back(key.name);
  return out;
}

// reboot [ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] ALL|NODES
int scontrol_reboot(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::UpdateNode& update = *request.mutable_update_node();
  update.set_state("REBOOT");
  for (const Text word : words) {
    const std::size_t equals = word.find('=');
    const Text key = word.substr(0, equals), value = equals == Text::npos ? Text{} : word.substr(equals + 1);
    if (equals_ignoring_case(word, "ASAP")) {
      update.set_state("REBOOT_ASAP");
    } else if (equals_ignoring_case(key, "nextstate")) {
      if (!equals_ignoring_case(value, "RESUME") && !equals_ignoring_case(value, "DOWN")) {
        say_plain("Invalid nextstate: " + std::string{value} + "; RESUME or DOWN would be right");
        return 1;
      }
      update.set_next_state(upper_case(value));
    } else if (equals_ignoring_case(key, "reason")) {
      update.set_reason(std::string{value});
    } else if (equals != Text::npos || !update.nodes().empty()) {
      say_plain("invalid option: " + std::string{word});
      return 1;
    } else {
      update.set_nodes(std::string{word});
    }
  }
  if (update.nodes().empty()) {
    say_plain("Missing node list. Specify ALL|NODELIST");
    return 1;
  }
  if (const auto reply = self.ask(request); !reply) {
    say_plain("scontrol_reboot_nodes error: " + reply.error().story);
    return 1;
  }
  return 0;
}

int scontrol_cancel_reboot(Scontrol& self, const Words& words) {
  if (words.size() != 1) {
    say_plain(words.empty() ? "Missing node list. Specify ALL|NODELIST"
                            : "too many arguments for keyword:cancel_reboot");
    return 1;
  }
  wire::Request request;
  request.mutable_update_node()->set_nodes(std::string{words[0]});
  request.mutable_update_node()->set_state("CANCEL_REBOOT");
  if (const auto reply = self.ask(request); !reply) {
    say_plain("scontrol_cancel_reboot error: " + reply.error().story);
    return 1;
  }
  return 0;
}

// power up LIST, power down [asap|force] LIST
int scontrol_power(Scontrol& self, const Words& words) {
  const auto usage = [] {
    say_plain("expected: power up NODES, or power down [asap|force] NODES");
    return 1;
  };
  if (words.size() < 2) return usage();
  const bool up = equals_ignoring_case(words[0], "up");
  if (!up && !equals_ignoring_case(words[0], "down")) return usage();
  std::string state = up ? "POWER_UP" : "POWER_DOWN";
  if (words.size() == 3 && !up && (equals_ignoring_case(words[1], "asap") || equals_ignoring_case(words[1], "force")))
    state += "_" + upper_case(words[1]);
  else if (words.size() != 2)
    return usage();
  wire::Request request;
  request.mutable_update_node()->set_nodes(std::string{words.back()});
  request.mutable_update_node()->set_state(state);
  return send_update(self, request);
}

int scontrol_create_nodes(Scontrol& self, const Words& words) {
  wire::Request request;
  wire::CreateNodes& ask = *request.mutable_create_nodes();
  for (const Text word : words) {
    const std::size_t equals = word.find('=');
    if (equals_ignoring_case(word, "node")) continue;
    if (equals != Text::npos && equals_ignoring_case(word.substr(0, equals), "NodeName"))
      ask.set_names(std::string{word.substr(equals + 1)});
    else
      ask.set_configuration(ask.configuration() + (ask.configuration().empty() ? "" : " ") + std::string{word});
  }
  if (ask.names().empty()) {
    say_plain("NodeName must be given");
    return 1;
  }
  const auto reply = self.ask(request);
  if (reply) return print("Node " + ask.names() + " created\n");
  say_plain("Error creating the node: " + reply.error().story);
  return 1;
}

int scontrol_delete_nodes(Scontrol& self, Text word, Text names) {
  wire::Request request;
  request.mutable_delete_nodes()->set_names(std::string{names});
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("delete_node " + std::string{word} + ": " + reply.error().story);
  return 1;
}

}  // namespace millrace
