// src/controller/requests/node_commands.cpp - nodes as administrators change, make and delete them.
#include "base/text.h"
#include "controller/loop/config_facts.h"
#include "controller/requests/handlers.h"
#include "core/admission/create_node.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"

namespace millrace {

void NodeCommands::update(const wire::UpdateNode& ask) {
  auto indexes = resolve_nodes(c_.commit.decided(), equals_ignoring_case(ask.nodes(), "ALL") ? "" : ask.nodes());
  if (!indexes) return refuse_with(indexes.error());
  if (equals_ignoring_case(ask.nodes(), "ALL"))
    for (const auto& [index, node] : c_.commit.decided().nodes)
      if (node->configured && !node->future) indexes->push_back(index.value);
  const bool reboots = ask.state() == "REBOOT" || ask.state() == "REBOOT_ASAP";
  if (reboots && !c_.hooks.site_programs().nodes_can_reboot)
    return refuse_with(RefusalCode::not_supported, "RebootProgram is not set in slurm.conf");
  ChangeNode change;
  change.state = ask.state();
  change.reason = ask.reason();
  change.after_reboot = ask.next_state() == "DOWN"     ? AfterReboot::down
                        : ask.next_state() == "RESUME" ? AfterReboot::resume
                                                       : AfterReboot::as_before;
  if (ask.has_weight()) change.change.weight = ask.weight();
  if (ask.has_features()) change.change.features = ask.features();
  if (ask.has_comment()) change.change.comment = ask.comment();
  if (ask.has_extra()) change.change.extra = ask.extra();
  if (ask.has_address()) change.change.address = ask.address();
  if (ask.has_host_name()) change.change.host_name = ask.host_name();
  if (ask.has_active_features()) change.change.active_features = ask.active_features();
  if (ask.has_instance_id()) change.change.instance_id = ask.instance_id();
  if (ask.has_instance_type()) change.change.instance_type = ask.instance_type();
  if (ask.has_resume_after_seconds())
    change.change.resume_at =
        ask.resume_after_seconds() < 0 ? Time{} : c_.loop.now() + seconds(ask.resume_after_seconds());
  for (const std::uint32_t index : *indexes) {
    change.node = NodeIndex{index};
    auto decision = decide_change_node(c_.commit.decided(), change, actor_, c_.loop.now());
    if (!decision) return refuse_with(decision.error());
    if (!happen(*std::move(decision))) return;
  }
  done_when_durable();
}

// All of them or none: each is checked before the first is made.
void NodeCommands::create(const wire::CreateNodes& ask) {
  auto defs = nodes_from_words(ask.names(), ask.configuration());
  if (!defs) return refuse_with(RefusalCode::invalid_node_name, defs.error().story);
  State copy = c_.commit.decided();
  std::vector<Event> events;
  for (const NodeDef& def : *defs) {
    auto decision = decide_create_node(copy, def, actor_, c_.loop.now());
    if (!decision) return refuse_with(decision.error());
    for (const Event& event : *decision) apply(copy, event);
    events.insert(events.end(), decision->begin(), decision->end());
  }
  if (!happen(std::move(events))) return;
  c_.links.know(c_.commit.decided(), c_.loop.steady());
  done_when_durable();
}

void NodeCommands::remove(const wire::DeleteNodes& ask) {
  const auto indexes = resolve_nodes(c_.commit.decided(), ask.names());
  if (!indexes) return refuse_with(indexes.error());
  std::vector<Event> events;
  for (const std::uint32_t index : *indexes) {
    auto decision = decide_delete_node(c_.commit.decided(), NodeIndex{index}, actor_, c_.loop.now());
    if (!decision) return refuse_with(decision.error());
    events.insert(events.end(), decision->begin(), decision->end());
  }
  if (!happen(std::move(events))) return;
  for (const std::uint32_t index : *indexes) c_.links.forget(NodeIndex{index});
  c_.links.know(c_.commit.decided(), c_.loop.steady());
  done_when_durable();
}

}  // namespace millrace
