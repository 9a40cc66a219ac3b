// src/cli/scontrol_show.cpp - scontrol show: jobs, nodes, partitions, the configuration, and lists of hosts.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/scontrol.h"
#include "cli/scontrol_data.h"

namespace millrace {
namespace {

// -v: of when the records are, and how many.
std::string update_line(const Scontrol& self, std::int64_t now_us, int records) {
  return self.command.verbose == 0
             ? ""
             : "last_update_time=" + format_time(now_us, "Unknown") + ", records=" + std::to_string(records) + '\n';
}

int show_jobs(Scontrol& self, std::string_view id) {
  wire::Request request;
  wire::QueryJobs* query = request.mutable_query_jobs();
  query->set_finished_too(true);
  query->set_without_hidden(!self.all && id.empty());
  for (const std::string_view word : split_outside_brackets(id)) {
    const auto name = parse_job_name(word);
    if (!name) {
      say_plain("scontrol_print_job error: " + told(name.error(), "Invalid job id specified: " + std::string{word}));
      return 1;
    }
    wire::JobName* job = query->add_jobs();
    job->set_job_id(name->id);
    job->set_tasks(name->tasks);
  }
  const auto reply = self.ask(request);
  const bool unknown = reply && !id.empty() && reply->jobs().jobs_size() == 0;
  if (unknown && reply->jobs().missing() == 0) {  // the job is there, that task or component of it is not
    print("Job " + std::string{id} + " not found\n");
    return 1;
  }
  if (!reply || unknown) {
    say_plain("slurm_load_jobs error: " + (reply ? std::string{"Invalid job id specified"} : reply.error().story));
    return 1;
  }
  if (self.data) return print_jobs(self, reply->jobs());
  if (reply->jobs().jobs_size() == 0) return print("No jobs in the system\n");
  std::string out = update_line(self, reply->jobs().now_us(), reply->jobs().jobs_size());
  for (const wire::JobView& job : reply->jobs().jobs())
    out += show_job(job, reply->jobs().now_us(), self.names, self.show);
  return print(out);
}

int show_nodes(Scontrol& self, std::string_view list) {
  wire::Request request;
  request.mutable_query_nodes()->set_nodes(std::string{list});
  request.mutable_query_nodes()->set_future_too(self.future);
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain("slurm_load_node error: " + reply.error().story);
    return 1;
  }
  if (self.data && reply->nodes().missing_size() == 0) return print_nodes(self, reply->nodes());
  std::string out = update_line(self, reply->nodes().now_us(), reply->nodes().nodes_size());
  for (const wire::NodeView& node : reply->nodes().nodes()) out += show_node(node, self.names, self.show);
  int code = print(out);
  for (const std::string& name : reply->nodes().missing()) {
    print("Node " + name + " not found\n");
    code = 1;
  }
  if (out.empty() && list.empty()) print("No nodes in the system\n");
  return code;
}

int show_partitions(Scontrol& self, std::string_view name) {
  wire::Request request;
  request.mutable_query_partitions()->set_name(std::string{name});
  request.mutable_query_partitions()->set_without_hidden(!self.all);
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain("slurm_load_partitions error: " + reply.error().story);
    return 1;
  }
  if (self.data && (name.empty() || reply->partitions().partitions_size() > 0))
    return print_partitions(self, reply->partitions().partitions());
  std::string out;
  for (const wire::PartitionView& partition : reply->partitions().partitions())
    out += show_partition(partition, self.show);
  if (!out.empty()) return print(out);
  print(name.empty() ? "No partitions in the system\n" : "Partition " + std::string{name} + " not found\n");
  return name.empty() ? 0 : 1;
}

int show_config(Scontrol& self, std::string_view key) {
  wire::Request request, ping;
  request.mutable_query_config();
  ping.mutable_ping();
  auto reply = self.ask(request);
  if (!reply) {
    say_plain("slurm_load_ctl_conf error: " + reply.error().story);
    return 1;
  }
  (void)key;  // Slurm shows everything whatever follows
  if (self.data) return print_config(self, reply->config());
  std::string out = show_configuration(reply->config());
  const auto pong = self.ask(ping);
  const std::string host = pong ? pong->pong().host() : self.settings.controller_host;
  return print(out + "Slurmctld(primary) at " + host + (pong ? " is UP\n" : " is DOWN\n"));
}

// The list itself, or the one in a file when it has a '/'; without one, the job's.
std::optional<std::string> host_argument(std::string_view given) {
  if (given.empty()) {
    const char* from_job = std::getenv("SLURM_JOB_NODELIST");
    if (from_job == nullptr) from_job = std::getenv("SLURM_NODELIST");
    if (from_job == nullptr || *from_job == '\0') return std::nullopt;
    return std::string{from_job};
  }
  if (given != "-" && given.find('/') == std::string_view::npos) return std::string{given};
  const int fd = given == "-" ? STDIN_FILENO : open(std::string{given}.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string out;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0 && out.size() < (1u << 22);)
    out.append(buffer, static_cast<std::size_t>(got));
  if (fd != STDIN_FILENO) close(fd);
  for (char& c : out)
    if (c == '\n') c = ',';
  while (!out.empty() && out.back() == ',') out.pop_back();
  return out;
}

int show_hosts(std::string_view given, int form) {
  const auto list = host_argument(given);
  if (!list) {
    say_plain("No hostlist provided, and SLURM_JOB_NODELIST is not set");
    return 1;
  }
  auto names = expand_hostlist(*list);
  if (!names) {
    say_plain("Invalid hostlist: " + *list);
    return 1;
  }
  if (form == 1) return print(compress_hostlist(*names) + '\n');
  if (form == 2) return print(compress_hostlist_sorted(std::move(*names)) + '\n');
  std::string out;
  for (const std::string& name : *names) out += name + '\n';
  return print(out);
}

// One record for each licence, as far as it is known here: all of them are the cluster's own.
int show_licences(Scontrol& self, std::string_view wanted) {
  wire::Request request;
  request.mutable_query_licences();
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain("slurm_load_licenses error: " + reply.error().story);
    return 1;
  }
  if (self.data) return print_licences(self, reply->licences());
  std::string out;
  for (const auto& licence : reply->licences().licences()) {
    if (!wanted.empty() && licence.name() != wanted) continue;
    const std::uint32_t free = licence.total() - std::min(licence.total(), licence.used());
    out += "LicenseName=" + licence.name() + (self.show.one_line ? " " : "\n    ") +
           "Total=" + std::to_string(licence.total()) + " Used=" + std::to_string(licence.used()) +
           " Free=" + std::to_string(free) + " Reserved=0 Remote=no\n";
  }
  if (!out.empty()) return print(out);
  if (wanted.empty()) return print("No licenses configured in Slurm.\n");
  print("License " + std::string{wanted} + " not found\n");
  return 1;
}

// Every switch, or those above a node or of a name.
int show_topology(Scontrol& self, std::string_view wanted) {
  wire::Request request;
  request.mutable_query_topology();
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain("slurm_load_topo error: " + reply.error().story);
    return 1;
  }
  const wire::TopologyView& topology = reply->topology();
  if (topology.switches_size() == 0) return print("No topology information available\n");
  std::string out;
  for (const auto& at : topology.switches()) {
    const auto nodes = expand_hostlist(at.nodes());
    const bool above = nodes && std::ranges::find(*nodes, wanted) != nodes->end();
    if (!wanted.empty() && at.name() != wanted && !above) continue;
    if (topology.blocks()) {
      out += "BlockName=" + at.name() + " Nodes=" + at.nodes() + "\n";
      continue;
    }
    out += "SwitchName=" + at.name() + " Level=" + std::to_string(at.level()) +
           " LinkSpeed=" + std::to_string(at.link_speed()) + " Nodes=" + at.nodes() +
           (at.switches().empty() ? "" : " Switches=" + at.switches()) + "\n";
  }
  std::string sizes;
  for (const std::uint32_t size : topology.block_sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  if (!sizes.empty() && wanted.empty()) out += "BlockSizes=" + sizes + "\n";
  if (!out.empty()) return print(out);
  print("Topology information contains no switch or node named " + std::string{wanted} + "\n");
  return 1;
}

int show_federation(Scontrol&, std::string_view) { return 0; }  // there is none, and Slurm says so by saying nothing

struct Entity {
  Keyword keyword;
  int (*show)(Scontrol& self, std::string_view id);  // nullptr: known and not built yet
};

// Order decides between keywords that share a beginning.
// Hierarchical resources, of which there are none here.
int show_resources(Scontrol&, std::string_view id) {
  if (id.empty()) return print("No resources in the system\n");
  return say_plain("Resource " + std::string{id} + " not found"), 1;
}

constexpr Entity entities[] = {
    {{"aliases", 2}, scontrol_show_aliases},
    {{"assoc_mgr", 2}, scontrol_show_associations},
    {{"bbstat", 2}, scontrol_show_burst_buffers},
    {{"burstbuffer", 2}, scontrol_show_burst_buffers},
    {{"config", 1}, show_config},
    {{"daemons", 2}, scontrol_show_daemons},
    {{"dwstat", 2}, scontrol_show_burst_buffers},
    {{"federation", 1}, show_federation},
    {{"hostlistsorted", 9}, [](Scontrol&, std::string_view id) { return show_hosts(id, 2); }},
    {{"hostlist", 5}, [](Scontrol&, std::string_view id) { return show_hosts(id, 1); }},
    {{"hostnames", 5}, [](Scontrol&, std::string_view id) { return show_hosts(id, 0); }},
    {{"jobs", 1}, show_jobs},
    {{"jobid", 4}, show_jobs},
    {{"licenses", 2}, show_licences},
    {{"nodes", 1}, show_nodes},
    {{"nodename", 5}, show_nodes},
    {{"partitions", 1}, show_partitions},
    {{"partitionname", 10}, show_partitions},
    {{"reservations", 3}, scontrol_show_reservations},
    {{"reservationname", 12}, scontrol_show_reservations},
    {{"resources", 3}, show_resources},
    {{"slurmd", 2}, scontrol_show_slurmd},
    {{"steps", 2}, scontrol_show_steps},
    {{"stepid", 6}, scontrol_show_steps},
    {{"topology", 1}, show_topology},
    {{"topoconf", 5}, scontrol_show_topology_file},
};

}  // namespace

std::vector<CommandWord> scontrol_entities() {
  std::vector<CommandWord> out;
  for (const Entity& entity : entities) out.push_back({entity.keyword.name, "", "", entity.show != nullptr, ""});
  return out;
}

int scontrol_show(Scontrol& self, const Words& words) {
  if (words.empty()) {
    say_plain("too few arguments for keyword:show");
    return 1;
  }
  std::string_view name = words[0];
  std::string_view id = words.size() > 1 ? words[1] : std::string_view{};
  if (const std::size_t equals = name.find('='); equals != std::string_view::npos)
    id = name.substr(equals + 1), name = name.substr(0, equals);
  for (const Entity& entity : entities) {
    if (!is_keyword(name, entity.keyword)) continue;
    std::string all_words{id};  // assoc_mgr takes several
    for (std::size_t i = 2; i < words.size() && entity.show == scontrol_show_associations; ++i)
      all_words += ' ' + std::string{words[i]};
    if (entity.show == scontrol_show_associations) return entity.show(self, all_words);
    if (entity.show == nullptr) return scontrol_refuse(self, "show " + std::string{entity.keyword.name});
    if (words.size() > 2) return say_plain("too many arguments for keyword:show"), 1;
    return entity.show(self, id);
  }
  say_plain("invalid entity:" + std::string{name} + " for keyword:show");
  return 1;
}

}  // namespace millrace
