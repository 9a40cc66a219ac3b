// src/controller/requests/daemon_commands.cpp - the controller itself: stop it, have it read its configuration again.
#include "controller/requests/handlers.h"

namespace millrace {

void DaemonCommands::shutdown(const wire::Shutdown& ask) {
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  done_when_durable();
  c_.commit.when_durable([&c = c_, agents = ask.agents_too()] {
    if (agents)
      for (ResourceManager* manager : c.links.managers()) manager->stop_nodes();
    c.hooks.shutdown(agents);
  });
}

void DaemonCommands::reconfigure() {
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  if (!c_.hooks.reconfigure) return refuse_with(RefusalCode::not_supported);
  constexpr std::uint64_t configuration_bytes = 1 << 20;  // of many nodes; asked before anything is read
  if (refuses_for_room({}, configuration_bytes)) return;
  auto fresh = c_.hooks.reconfigure();
  if (!fresh) return refuse_with(RefusalCode::not_supported, fresh.error().story);
  fresh->facts.at = c_.loop.now();
  c_.reconfigured(*fresh);
  done_when_durable();
}

}  // namespace millrace
