// src/config/topology_conf.cpp - see topology_conf.h.
#include "config/topology_conf.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"

namespace millrace {
namespace {

class TopologyReader {
 public:
  TopologyReader(Configuration& configuration, std::vector<std::string>& errors)
      : out_(configuration), errors_(errors) {
    for (const ConfiguredNode& node : configuration.nodes) nodes_.insert(node.name);
  }

  void read(const std::vector<ConfLine>& lines) {
    for (const ConfLine& line : lines) {
      if (line.pairs.empty() && line.problem.empty()) continue;
      const std::string place = line.file + ":" + std::to_string(line.line) + ": ";
      if (!line.problem.empty())
        errors_.push_back(place + line.problem);
      else if (const auto done = take(line); !done)
        errors_.push_back(place + done.error().story);
    }
    if (const auto done = check(); !done && errors_.empty()) errors_.push_back("topology.conf: " + done.error().story);
  }

  Topology take_result() { return std::move(topology_); }
  bool has_blocks() const { return blocks_; }

 private:
  Result<void> take(const ConfLine& line) {
    SwitchDef def;
    for (const ConfPair& pair : line.pairs) {
      const std::string key = lower(pair.key);
      if (key == "switchname" || key == "blockname") {
        def.name = pair.value;
        (key == "blockname" ? blocks_ : switches_) = true;
      } else if (key == "switches") {
        MR_TRY(def.switches, expand_hostlist(pair.value));
      } else if (key == "nodes") {
        MR_TRY(def.nodes, names_of(pair.value));
      } else if (key == "linkspeed") {
        const auto speed = parse_integer(pair.value);
        if (!speed || *speed < 0 || *speed > UINT32_MAX)
          return fail(Errc::invalid, "LinkSpeed: '" + pair.value + "' is not a number");
        def.link_speed = static_cast<std::uint32_t>(*speed);
      } else if (key == "blocksizes") {
        for (const std::string_view word : split(pair.value, ',')) {
          const auto size = parse_integer(word);
          if (!size || *size < 1 || *size > UINT32_MAX)
            return fail(Errc::invalid, "BlockSizes: '" + std::string{word} + "' is not a number of nodes");
          topology_.block_sizes.push_back(static_cast<std::uint32_t>(*size));
        }
      } else {
        out_.unknown.push_back({pair.key, line.file, line.line, "unknown key of topology.conf"});
      }
    }
    if (def.name.empty()) return {};
    if (def.nodes.empty() == def.switches.empty())
      return fail(Errc::invalid, def.name + " needs either Nodes= or Switches=");
    if (!names_.insert(def.name).second) return fail(Errc::invalid, def.name + " was defined before");
    topology_.switches.push_back(std::move(def));
    return {};
  }

  Result<std::vector<std::string>> names_of(const std::string& list) const {
    if (equals_ignoring_case(list, "ALL")) return std::vector<std::string>{nodes_.begin(), nodes_.end()};
    MR_TRY(auto names, expand_hostlist(list));
    for (const std::string& name : names)
      if (!nodes_.contains(name)) return fail(Errc::invalid, "node " + name + " is not defined by any NodeName line");
    return names;
  }

  // Every child is there and has one parent, every node hangs on one leaf, and nothing hangs below itself.
  Result<void> check() const {
    std::map<std::string_view, std::string_view> parent, leaf;
    for (const SwitchDef& def : topology_.switches) {
      for (const std::string& child : def.switches) {
        if (!names_.contains(child))
          return fail(Errc::invalid, def.name + " has below it " + child + ", which is not defined");
        if (!parent.emplace(child, def.name).second)
          return fail(Errc::invalid, child + " hangs below two switches, which is not built yet in Millrace");
      }
      for (const std::string& node : def.nodes)
        if (!leaf.emplace(node, def.name).second)
          return fail(Errc::invalid, "node " + node + " hangs on both " + std::string{leaf[node]} + " and " + def.name);
    }
    for (const SwitchDef& def : topology_.switches) {
      std::size_t steps = 0;
      for (auto it = parent.find(def.name); it != parent.end(); it = parent.find(it->second))
        if (++steps > topology_.switches.size()) return fail(Errc::invalid, def.name + " hangs below itself");
    }
    if (blocks_ && switches_)
      return fail(Errc::invalid, "both SwitchName and BlockName; a cluster has one or the other");
    return {};
  }

  Configuration& out_;
  std::vector<std::string>& errors_;
  std::set<std::string, std::less<>> nodes_, names_;
  Topology topology_;
  bool blocks_ = false, switches_ = false;
};

}  // namespace

void read_topology(const std::vector<ConfLine>& lines, Configuration& configuration, std::vector<std::string>& errors) {
  const std::string& plugin = configuration.topology_plugin;
  if (plugin == "topology/flat") {
    if (!lines.empty())
      configuration.adjusted.push_back(
          {"topology.conf", lines.front().file, lines.front().line,
           "not used: TopologyPlugin is topology/flat, topology/tree or topology/block would use it"});
    return;
  }
  if (lines.empty()) {  // a node or a client may do without
    configuration.adjusted.push_back({"TopologyPlugin", configuration.path, 0,
                                      plugin + " needs a topology.conf beside slurm.conf; taken as topology/flat"});
    return;
  }
  TopologyReader reader(configuration, errors);
  reader.read(lines);
  const bool wants_blocks = plugin == "topology/block";
  if (reader.has_blocks() != wants_blocks)
    errors.push_back(lines.front().file + ": TopologyPlugin=" + plugin + " wants " +
                     (wants_blocks ? "BlockName" : "SwitchName") + " lines");
  configuration.topology = reader.take_result();
  configuration.topology.blocks = wants_blocks;
}

}  // namespace millrace
