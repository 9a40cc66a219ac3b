// src/cli/scontrol_data.cpp - scontrol show ... --json and --yaml: the records as data.
#include "cli/scontrol_data.h"

#include "cli/listing.h"

namespace millrace {
namespace {

template <class List, class Make>
int print_list(Scontrol& self, std::string_view key, const List& list, DataMap others, const Make& make) {
  int at = 0;
  return print_records(
      self.command, self.settings, self.data->form, key,
      [&] { return at == list.size() ? Data{} : make(list.Get(at++)); }, std::move(others));
}

}  // namespace

int print_jobs(Scontrol& self, const wire::Jobs& jobs) {
  wire::Reply nodes;
  for (const wire::JobView& job : jobs.jobs()) {
    if (job.nodes().empty()) continue;
    wire::Request request;
    request.mutable_query_nodes();
    if (auto reply = self.ask(request)) nodes = std::move(*reply);
    break;
  }
  DataContext context{jobs.now_us(), self.settings.cluster_name, &self.names};
  for (const wire::NodeView& node : nodes.nodes().nodes()) context.nodes[node.name()] = &node;
  return print_list(self, "jobs", jobs.jobs(),
                    {{"last_backfill", time_of(jobs.planned_at_us())}, {"last_update", time_of(jobs.now_us())}},
                    [&](const wire::JobView& job) { return job_data(job, context); });
}

int print_nodes(Scontrol& self, const wire::Nodes& nodes) {
  const DataContext context{nodes.now_us(), self.settings.cluster_name, &self.names};
  return print_list(self, "nodes", nodes.nodes(), {{"last_update", time_of(nodes.now_us())}},
                    [&](const wire::NodeView& node) { return node_data(node, context); });
}

int print_partitions(Scontrol& self, const google::protobuf::RepeatedPtrField<wire::PartitionView>& partitions) {
  const DataContext context{0, self.settings.cluster_name, &self.names};
  return print_list(self, "partitions", partitions, {{"last_update", time_of(0)}},
                    [&](const wire::PartitionView& each) { return partition_data(each, context); });
}

int print_reservations(Scontrol& self, const wire::Reservations& reservations) {
  return print_list(self, "reservations", reservations.reservations(),
                    {{"last_update", time_of(reservations.now_us())}}, reservation_data);
}

int print_steps(Scontrol& self, const wire::Steps& steps) {
  const DataContext context{steps.now_us(), self.settings.cluster_name, &self.names};
  return print_list(self, "steps", steps.steps(), {{"last_update", time_of(steps.now_us())}},
                    [&](const wire::StepView& step) { return step_data(step, context); });
}

int print_licences(Scontrol& self, const wire::Licences& licences) {
  return print_list(self, "licenses", licences.licences(), {{"last_update", time_of(0)}}, licence_data);
}

int print_pings(Scontrol& self, const std::string& host, bool up) {
  bool given = false;
  const auto next = [&] {
    if (std::exchange(given, true)) return Data{};
    return Data{DataMap{{"hostname", host},
                        {"pinged", up ? "UP" : "DOWN"},
                        {"responding", up},
                        {"latency", 0u},
                        {"mode", "primary"},
                        {"primary", true}}};
  };
  return print_records(self.command, self.settings, self.data->form, "pings", next);
}

int print_config(Scontrol& self, const wire::Config& config) {
  return print_list(
      self, "config", config.entries(), {{"last_update", time_of(config.now_us())}},
      [](const wire::Config::Entry& entry) { return Data{DataMap{{"key", entry.key()}, {"value", entry.value()}}}; });
}

}  // namespace millrace
