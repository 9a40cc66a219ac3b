// src/apps/client_limits.h - how controller and relay listen for clients: limits of users, and what one who is turned
// away is told.
#pragma once

#include "platform/listener.h"
#include "platform/repeated_lines.h"

namespace millrace {

// Takes a client over; nothing: there is no place for it.
using TakeClient = std::function<LinkHandler*(std::unique_ptr<Link> link, std::uint32_t uid, std::uint32_t gid)>;

// `slurm_user` is as good as root. `lines` outlives the listener.
Result<std::unique_ptr<Listener>> listen_for_clients(EventLoop& loop, const std::string& path, std::uint32_t slurm_user,
                                                     RepeatedLines& lines, TakeClient take);

// Room for the connections of many clients, as far as the system lets us.
void raise_descriptor_limit();

}  // namespace millrace
