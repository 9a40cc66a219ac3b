// src/config/client_settings.cpp - see client_settings.h.
#include "config/client_settings.h"

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "config/conf_lines.h"
#include "config/configuration.h"
#include "config/key_setters.h"

namespace millrace {
namespace {

// The daemons say what is wrong with a value; a command takes the default instead and goes on.
// DestDir=/tmp,Compression=zlib,send_libs; what is wrong with it the daemons say.
void take_bcast_parameters(ClientSettings& s, std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part);
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals),
                           text = equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
    if (equals_ignoring_case(key, "DestDir")) s.bcast_destination = text;
    if (equals_ignoring_case(key, "Compression")) s.bcast_compression = lower(text);
    if (equals_ignoring_case(key, "send_libs")) s.bcast_libraries = text.empty() || setter::is_yes(text);
  }
}

struct Wanted {
  std::string_view key;
  void (*set)(ClientSettings&, std::string_view);
};

void set_seconds(std::int64_t& field, std::string_view value) {
  if (const auto number = parse_integer(value); number && *number >= 0) field = *number;
}

constexpr Wanted wanted[] = {
    {"authinfo",
     [](ClientSettings& s, std::string_view value) {
       for (const std::string_view word : split(value, ','))
         if (word.starts_with("socket=") && word.size() > 7 && !setter::is_munge_socket(word.substr(7)))
           s.socket_path = word.substr(7);
     }},
    {"clustername", [](ClientSettings& s, std::string_view value) { s.cluster_name = lower(value); }},
    {"slurmctldport",
     [](ClientSettings& s, std::string_view value) {
       if (const auto port = parse_integer(value); port && *port >= 0 && *port <= UINT16_MAX)
         s.controller_port = static_cast<std::uint16_t>(*port);
     }},
    {"slurmctldhost",
     [](ClientSettings& s, std::string_view value) {
       if (!s.controller_host.empty()) return;
       const std::size_t open = value.find('(');
       s.controller_host = value.substr(0, open);
       s.controller_address = open == std::string_view::npos
                                  ? s.controller_host
                                  : std::string{value.substr(open + 1, value.size() - open - 2)};
     }},
    {"messagetimeout",
     [](ClientSettings& s, std::string_view value) { set_seconds(s.message_timeout_seconds, value); }},
    {"waittime", [](ClientSettings& s, std::string_view value) { set_seconds(s.wait_time_seconds, value); }},
    {"killwait", [](ClientSettings& s, std::string_view value) { set_seconds(s.kill_wait_seconds, value); }},
    {"killonbadexit", [](ClientSettings& s, std::string_view value) { s.kill_on_bad_exit = setter::is_yes(value); }},
    {"allowspecresourcesusage",
     [](ClientSettings& s, std::string_view value) { s.allow_spec_resources = setter::is_yes(value); }},
    {"grestypes", [](ClientSettings& s, std::string_view value) { s.gres_types = value; }},
    {"mpidefault", [](ClientSettings& s, std::string_view value) { s.mpi_default = lower(value); }},
    {"srunprolog", [](ClientSettings& s, std::string_view value) { s.srun_prolog = value; }},
    {"srunepilog", [](ClientSettings& s, std::string_view value) { s.srun_epilog = value; }},
    {"srunportrange",
     [](ClientSettings& s, std::string_view value) {
       if (const auto range = setter::parse_port_range(value)) s.first_port = range->first, s.last_port = range->last;
     }},
    {"launchparameters",
     [](ClientSettings& s, std::string_view value) {
       s.use_interactive_step = false;
       for (const std::string_view word : split(value, ','))
         if (equals_ignoring_case(trim(word), "use_interactive_step")) s.use_interactive_step = true;
     }},
    {"sallocdefaultcommand", [](ClientSettings& s, std::string_view value) { s.salloc_command = value; }},
    {"bcastexclude",
     [](ClientSettings& s, std::string_view value) {
       s.bcast_exclude = equals_ignoring_case(value, "none") ? "" : std::string{value};
     }},
    {"bcastparameters", [](ClientSettings& s, std::string_view value) { take_bcast_parameters(s, value); }},
    {"sbcastparameters", [](ClientSettings& s, std::string_view value) { take_bcast_parameters(s, value); }},
    {"interactivestepoptions", [](ClientSettings& s, std::string_view value) { s.interactive_step_options = value; }},
    {"propagateresourcelimitsexcept",
     [](ClientSettings& s, std::string_view value) { s.propagate_limits_except = value; }},
    {"propagateresourcelimits", [](ClientSettings& s, std::string_view value) { s.propagate_limits = value; }},
    {"schedulerparameters",
     [](ClientSettings& s, std::string_view value) {
       for (const std::string_view word : split(value, ','))
         if (word.starts_with("max_script_size="))
           if (const auto size = parse_integer(word.substr(16)); size && *size > 0)
             s.script_size_max = static_cast<std::uint64_t>(*size);
     }},
};

bool begins_with(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() && equals_ignoring_case(text.substr(0, lower_case.size()), lower_case);
}

// Node lines make up most of a large file; a line is looked at closely only if it begins like a wanted one.
bool scan(std::string_view text, const std::string& path, int depth, ClientSettings& out) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
    if (line.empty() || line[0] == '#') continue;
    if (begins_with(line, "include ") || begins_with(line, "include\t")) {
      std::string target{trim(line.substr(8, line.find('#') - 8))};
      if (const std::size_t slash = path.rfind('/'); target[0] != '/' && slash != std::string::npos)
        target.insert(0, path, 0, slash + 1);
      const auto included = depth < 16 ? read_conf_file(target) : Result<std::string>{std::string{}};
      if (included) scan(*included, target, depth + 1, out);
      continue;
    }
    for (const Wanted& row : wanted) {
      if (!begins_with(line, row.key)) continue;
      for (const ConfLine& parsed : split_conf_text(line, path))
        for (const ConfPair& pair : parsed.pairs)
          for (const Wanted& match : wanted)
            if (equals_ignoring_case(pair.key, match.key)) match.set(out, pair.value);
      break;
    }
  }
  return true;
}

}  // namespace

ClientSettings parse_client_settings(const std::string& text, const std::string& path) {
  ClientSettings out;
  out.path = path;
  scan(text, path, 0, out);
  if (out.socket_path.empty()) out.socket_path = default_socket_path(out.cluster_name);
  return out;
}

Result<ClientSettings> read_client_settings() {
  const std::string path = configuration_path();
  const auto text = read_conf_file(path);
  if (!text && std::getenv("SLURM_CONF") != nullptr) return std::unexpected(text.error());
  return parse_client_settings(text ? *text : std::string{}, path);
}

}  // namespace millrace
