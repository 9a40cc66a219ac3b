// src/core/model/gres_text.h - generic resources as people write them: gpu:a100:4(S:0-1) of a node, gpu:a100:2,nic of a
// job.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/model/resources.h"

namespace millrace {

// "16", "4K": K, M, G and T by 1024.
std::optional<std::int64_t> parse_count(std::string_view text);

// The kinds of a NodeName line: gpu:a100:4,shard:16,nic:2(S:0-1). shard and mps are spread over the gpus.
Result<std::vector<NodeGres>> parse_node_gres(std::string_view text);
// Spreads shard and mps evenly over the gpus where nothing else was said, and checks that the whole can be kept in an
// Amounts.
Result<void> settle_kinds(std::vector<NodeGres>& kinds);

// --gres, --tres-per-node: gpu:a100:2,nic, also gres/gpu:2 and gres/gpu=2. "none" is nothing.
Result<std::vector<GresAsk>> parse_gres_asks(std::string_view text, GresScope scope);
// --gpus and its kin: 2, a100:2, a100:1,h100:1.
Result<std::vector<GresAsk>> parse_gpu_asks(std::string_view text, GresScope scope);

// --licenses: foo:2,bar, or a|b. Also foo@server:2, the name then being all before the colon.
struct LicenceList {
  std::vector<LicenceAsk> asks;
  bool any = false;
};
Result<LicenceList> parse_licences(std::string_view text);
std::string format_licences(std::span<const LicenceAsk> asks, bool any = false);

// "gres/gpu:a100:2,gres/nic:1" of the asks of one scope.
std::string format_asks(std::span<const GresAsk> asks, GresScope scope);
// "gpu:a100:2(S:0-1),shard:8" of a node.
std::string format_kinds(const NodeDef& node);
// "gpu:a100:1(IDX:0),shard:2(2/4,0/4)" of what is given out on it.
std::string format_used(const Node& node);
// "gpu:a100:2(IDX:0-1)" of a share.
std::string format_share(const NodeDef& node, std::span<const std::uint64_t, gres_kinds_max> devices,
                         std::span<const std::int64_t, gres_kinds_max> counts);

}  // namespace millrace
