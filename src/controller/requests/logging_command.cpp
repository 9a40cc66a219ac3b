// src/controller/requests/logging_command.cpp - scontrol setdebug, setdebugflags and schedloglevel: how much the
// controller or agents say, until the configuration is read again.
#include "base/text.h"
#include "controller/requests/handlers.h"
#include "core/admission/submit_job.h"

namespace millrace {

void DaemonCommands::set_logging(const wire::SetLogging& ask) {
  if (!actor_.is_admin)
    return refuse_with({RefusalCode::access_denied, {"only an administrator may change what the daemons log"}});
  const auto added = parse_debug_flags(ask.add_flags()), removed = parse_debug_flags(ask.remove_flags());
  if (!added || !removed || ask.level() > static_cast<std::uint32_t>(loudest))
    return refuse_with(RefusalCode::not_supported, !added     ? added.error().story
                                                   : !removed ? removed.error().story
                                                              : "there is no such level");
  wire::Reply out = reply();
  out.mutable_done();
  if (!ask.nodes().empty()) {
    const State& state = c_.commit.durable();
    std::vector<std::uint32_t> nodes;
    if (equals_ignoring_case(ask.nodes(), "ALL")) {
      for (const auto& [index, link] : c_.links.all()) nodes.push_back(index.value);
    } else {
      auto named = resolve_nodes(state, ask.nodes());
      if (!named) return refuse_with(named.error());
      nodes = *std::move(named);
    }
    for (const std::uint32_t index : nodes)
      if (const NodeLink* link = c_.links.find(NodeIndex{index}); link && link->manager)
        link->manager->set_logging(state.node(NodeIndex{index}).def->name, ask);
    return answer(out);
  }
  if (ask.has_schedule()) {
    if (!c_.hooks.schedule_log) return refuse_with(RefusalCode::disabled, "SlurmSchedLogFile is not set in slurm.conf");
    c_.lines.schedule().set_level(ask.schedule() ? LogLevel::info : LogLevel::quiet);
    c_.hooks.say("sched: Set scheduler log level to " + std::to_string(ask.schedule() ? 1 : 0));
  }
  if (c_.hooks.log && ask.has_level()) {
    c_.lines.log().info([&] {
      return "Set debug level to '" + std::string{name_of(static_cast<LogLevel>(ask.level()))} +
             "' by UID=" + std::to_string(asker_.uid.value);
    });
    c_.lines.log().set_level(static_cast<LogLevel>(ask.level()));
  }
  if (c_.hooks.log && (*added | *removed) != 0) {
    c_.lines.log().set_flags((c_.lines.log().flags() | *added) & ~*removed);
    c_.lines.log().info([&] {
      return "Set DebugFlags to " + (c_.lines.log().flags() == 0 ? "none" : names_of_flags(c_.lines.log().flags())) +
             " by UID=" + std::to_string(asker_.uid.value);
    });
  }
  answer(out);
}

}  // namespace millrace
