// src/cli/scontrol_write.cpp - scontrol write config: the running configuration as a file.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/render/config_file.h"
#include "cli/scontrol.h"

namespace millrace {

int scontrol_write_config(Scontrol& self, const Words& words) {
  wire::Request for_config, for_nodes, for_partitions;
  for_config.mutable_query_config();
  for_nodes.mutable_query_nodes()->set_future_too(true);
  for_partitions.mutable_query_partitions();
  const auto config = self.ask(for_config);
  const auto nodes = config ? self.ask(for_nodes) : Result<wire::Reply>{std::unexpected(config.error())};
  const auto partitions = nodes ? self.ask(for_partitions) : Result<wire::Reply>{std::unexpected(nodes.error())};
  if (!partitions) return say_plain("slurm_load_ctl_conf error: " + partitions.error().story), 1;
  const std::string text = config_file_text(config->config(), nodes->nodes(), partitions->partitions());
  std::string path = words.empty() ? "" : std::string{words[0]};
  if (path == "-") return print(text);
  if (path.empty()) {
    char stamp[64] = {};
    const time_t now = static_cast<time_t>(config->config().now_us() / 1'000'000);
    tm parts{};
    localtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &parts);
    path = (self.settings.path.empty() ? std::string{"slurm.conf"} : self.settings.path) + '.' + stamp;
  }
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = fd >= 0 && write_all(fd, text);
  const int problem = errno;
  if (fd >= 0) close(fd);
  if (!written) return say_plain("failed to write " + path + ": " + std::strerror(problem)), 1;
  return print("Slurm config saved to " + path + '\n');
}

}  // namespace millrace
