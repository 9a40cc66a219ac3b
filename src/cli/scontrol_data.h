// src/cli/scontrol_data.h - what scontrol shows, as JSON or YAML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/scontrol.h"
#include "client.pb.h"

namespace millrace {

int print_jobs(Scontrol& self, const wire::Jobs& jobs);
int print_nodes(Scontrol& self, const wire::Nodes& nodes);
int print_partitions(Scontrol& self, const google::protobuf::RepeatedPtrField<wire::PartitionView>& partitions);
int print_reservations(Scontrol& self, const wire::Reservations& reservations);
int print_steps(Scontrol& self, const wire::Steps& steps);
int print_licences(Scontrol& self, const wire::Licences& licences);
int print_pings(Scontrol& self, const std::string& host, bool up);
int print_config(Scontrol& self, const wire::Config& config);

}  // namespace millrace
