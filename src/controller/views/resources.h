// src/controller/views/resources.h - devices, features, licences and layout between the wire and the core: wishes in,
// views and grants out.
#pragma once

#include "agent.pb.h"
#include "controller/views/views.h"
#include "core/admission/resource_wishes.h"

namespace millrace {

ResourceWishes to_wishes(const wire::ResourceWishes& from);
// What was asked, in the words it came in, for the environment of the job.
void put_wishes(const State& state, const JobSpec& spec, wire::ResourceWishes& to);

void show_resources(const State& state, const Job& job, wire::ResourceView& to);
void show_node_resources(const Node& node, wire::NodeView& to);
std::string gres_tres_of(const State& state, const Partition& partition);
wire::Licences show_licences(const State& state);
wire::TopologyView show_topology(const State& state);

// The numbers of the tasks that this node has, where they are not in block order.
void put_ranks(const Job& job, NodeIndex here, wire::LaunchPlan& to);
// This node's part of a running job: CPUs, devices.
void grant_resources(const State& state, const Job& job, NodeIndex here, wire::LaunchPlan& to);
void put_devices(const NodeDef& def, const ShareDetail& detail,
                 google::protobuf::RepeatedPtrField<wire::DeviceGrant>& to);

}  // namespace millrace
