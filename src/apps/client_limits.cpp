// src/apps/client_limits.cpp - see client_limits.h.
#include "apps/client_limits.h"

#include <sys/resource.h>

#include <algorithm>

#include "client.pb.h"
#include "platform/daemon.h"

namespace millrace {

static Listener::Settings client_listener_settings(std::uint32_t slurm_user, RepeatedLines& lines) {
  constexpr std::size_t other_descriptors = 256;  // files, agents, programs
  Listener::Settings settings;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    const std::size_t all = files.rlim_cur;
    settings.connections_max =
        std::clamp<std::size_t>(all > other_descriptors ? all - other_descriptors : 0, 64, settings.connections_max);
    settings.connections_reserved = std::min(settings.connections_reserved, settings.connections_max / 4);
  }
  settings.limits.read_while_unsent_below = 64u << 10;
  settings.is_privileged = [slurm_user](std::uint32_t uid) { return uid == 0 || uid == slurm_user; };
  settings.refusal = [](const std::string& why) {
    wire::Reply reply;  // without a number: it answers whatever comes
    reply.mutable_failure()->set_code(2037);
    reply.mutable_failure()->set_text(why);  // some commands print nothing else
    return reply.SerializeAsString();
  };
  settings.refused = [&lines](std::string_view story) { lines.say_refused(story); };
  return settings;
}

Result<std::unique_ptr<Listener>> listen_for_clients(EventLoop& loop, const std::string& path, std::uint32_t slurm_user,
                                                     RepeatedLines& lines, TakeClient take) {
  MR_TRY_VOID(make_directories(path.substr(0, path.rfind('/')), 0755));
  return Listener::on_unix(loop, path, 0666, client_listener_settings(slurm_user, lines),
                           [take = std::move(take)](std::unique_ptr<FramedLink> link) {
                             FramedLink& raw = *link;
                             const auto who = raw.peer().credentials;
                             if (!who) return;
                             if (LinkHandler* handler = take(std::move(link), who->uid, who->gid)) raw.start(*handler);
                           });
}

void raise_descriptor_limit() {
  constexpr rlim_t enough = 65536;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= enough) return;
  files.rlim_cur = files.rlim_max == RLIM_INFINITY ? enough : std::min(files.rlim_max, enough);
  setrlimit(RLIMIT_NOFILE, &files);  // as many as there are, if it is refused
}

}  // namespace millrace
