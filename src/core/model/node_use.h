// src/core/model/node_use.h - which CPUs and devices of a node are given out, kept up as shares come and go.
#pragma once

#include "core/model/node_fit.h"

namespace millrace {

// Sets of CPUs as in ShareDetail.
using CpuBits = std::vector<std::uint64_t>;
std::int64_t count_bits(const CpuBits& bits);
void add_bits(CpuBits& to, const CpuBits& bits);
bool have_common_bits(const CpuBits& a, const CpuBits& b);
// Which CPUs the share has; empty when it does not say (a record of old).
CpuBits cpus_of(const NodeDef& node, const NodeShare& share);

// Adds what the share's detail names. False: something of it was given out already, which no accepted placement does,
// but for CPUs that are shared.
bool add_cpus(NodeUse& use, const NodeShare& share);
bool add_devices(NodeUse& use, const NodeDef& node, const NodeShare& share);
bool add_use(NodeUse& use, const NodeDef& node, const NodeShare& share);
void remove_cpus(NodeUse& use, const CpuBits& bits);
void remove_devices(NodeUse& use, const NodeDef& node, const NodeShare& share);

// What is free on a node, as amounts. Where gpus are given out in parts, those of which parts are taken are not free as
// whole ones, and the parts of whole ones are not free: a count that is there can be had.
Amounts free_of(const Node& node);

// The place of a kind's device among all gpus of the node, by which shards and mps name them.
std::uint32_t first_gpu_of(const NodeDef& node, std::size_t slot);
// Gpus of which parts are given out, by that place.
std::uint64_t gpus_in_parts(const NodeUse& use);
// Gpus given out whole, by that place.
std::uint64_t gpus_whole(const NodeUse& use, const NodeDef& node);

// Gpus that are out of order, by that place.
std::uint64_t gpus_out_of_order(const NodeDef& node);

// The detail of a share when the node's kinds are written in another order, or others than before: what is gone is not
// held any more.
ShareDetail moved(const ShareDetail& detail, const NodeDef& before, const NodeDef& after);

}  // namespace millrace
