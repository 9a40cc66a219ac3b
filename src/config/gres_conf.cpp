// src/config/gres_conf.cpp - see gres_conf.h.
#include "config/gres_conf.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/text.h"
#include "core/model/gres_text.h"

namespace millrace {
namespace {

// One line of gres.conf, taken apart.
struct GresLine {
  std::string place;               // file:line
  std::vector<std::string> nodes;  // empty: all
  std::string name, type;
  std::optional<std::int64_t> count;
  std::vector<std::string> files;
  std::string file_text;
  bool one_device = false;  // MultipleFiles: all of them are one
  std::optional<IndexSet> cores;
  bool count_only = false;
  std::vector<std::uint32_t> links;  // to the devices of the kind, in their order
  std::string detect;                // AutoDetect
  std::uint32_t variables = 0;       // of gpus; 0: not said

  std::int64_t devices() const {
    if (one_device) return 1;
    if (count) return *count;
    return files.empty() ? 1 : static_cast<std::int64_t>(files.size());
  }
};

constexpr std::uint32_t no_variables = 16;
constexpr std::pair<std::string_view, std::uint32_t> variable_flags[] = {
    {"nvidia_gpu_env", 1}, {"amd_gpu_env", 2}, {"intel_gpu_env", 4}, {"opencl_env", 8}, {"no_gpu_env", no_variables}};
constexpr std::string_view detect_words[] = {"nvml", "nvidia", "rsmi", "oneapi", "full", "off"};

std::uint32_t variables_of(std::string_view detect) {
  if (detect == "nvml" || detect == "nvidia") return 1;
  if (detect == "rsmi") return 2;
  return detect == "oneapi" ? 4 : 15;
}

class GresReader {
 public:
  GresReader(Configuration& configuration, std::vector<std::string>& errors) : out_(configuration), errors_(errors) {}

  void read(const std::vector<ConfLine>& lines) {
    for (const ConfLine& line : lines) {
      if (!line.problem.empty())
        errors_.push_back(place(line) + ": " + line.problem);
      else if (!line.pairs.empty())
        take(line);
    }
    std::map<std::string_view, std::vector<const GresLine*>> by_node;
    std::vector<const GresLine*> for_all;
    for (const GresLine& line : lines_) {
      if (line.nodes.empty()) for_all.push_back(&line);
      for (const std::string& name : line.nodes) by_node[name].push_back(&line);
    }
    for (ConfiguredNode& node : out_.nodes) {
      std::vector<const GresLine*> mine = for_all;
      if (const auto it = by_node.find(node.name); it != by_node.end())
        mine.insert(mine.end(), it->second.begin(), it->second.end());
      if (const auto done = settle(node, mine); !done)
        errors_.push_back(out_.path + ": NodeName=" + node.name + " Gres: " + done.error().story);
    }
  }

 private:
  static std::string place(const ConfLine& line) { return line.file + ":" + std::to_string(line.line); }

  void note(const ConfLine& line, const std::string& key, std::vector<ConfigurationNote>& notes, std::string text) {
    notes.push_back({key, line.file, line.line, std::move(text)});
  }

  void take(const ConfLine& line) {
    GresLine out;
    out.place = place(line);
    for (const ConfPair& pair : line.pairs) {
      if (const auto done = take_pair(line, pair, out); !done) {
        errors_.push_back(out.place + ": " + pair.key + ": " + done.error().story);
        return;
      }
    }
    if (out.name.empty()) {
      if (out.detect.empty())
        errors_.push_back(out.place + ": Name is missing, Name=gpu would be right");
      else
        detect_lines_.push_back(std::move(out));
      return;
    }
    if (!out.detect.empty()) detect_lines_.push_back(out);
    if (out.count && !out.files.empty() && !out.one_device && !is_part_name(out.name) &&
        *out.count != static_cast<std::int64_t>(out.files.size())) {
      errors_.push_back(out.place + ": Count=" + std::to_string(*out.count) + " but " +
                        std::to_string(out.files.size()) + " files");
      return;
    }
    lines_.push_back(std::move(out));
  }

  static bool is_part_name(std::string_view name) { return name == "shard" || name == "mps"; }

  Result<void> take_pair(const ConfLine& line, const ConfPair& pair, GresLine& out) {
    const std::string key = lower(pair.key);
    if (key == "name")
      out.name = pair.value;
    else if (key == "type")
      out.type = pair.value;
    else if (key == "nodename") {
      MR_TRY(out.nodes, expand_hostlist(pair.value));
    } else if (key == "file" || key == "multiplefiles") {
      MR_TRY(out.files, expand_hostlist(pair.value));
      out.file_text = pair.value;
      out.one_device = key == "multiplefiles";
    } else if (key == "count") {
      out.count = parse_count(pair.value);
      if (!out.count)
        return fail(Errc::invalid, "'" + pair.value + "' is wrong, a number, also with K, M or G, would be right");
    } else if (key == "cores" || key == "cpus") {
      out.cores = parse_index_set(pair.value, 1'000'000);
      if (!out.cores)
        return fail(Errc::invalid, "'" + pair.value + "' is wrong, a list of cores as in 0-7,16 would be right");
    } else if (key == "flags") {
      for (const std::string_view flag : split(pair.value, ',')) {
        const std::string word = lower(trim(flag));
        if (word == "countonly")
          out.count_only = true;
        else if (const auto flag_of =
                     std::ranges::find(variable_flags, word, &std::pair<std::string_view, std::uint32_t>::first);
                 flag_of != std::end(variable_flags))
          out.variables |= flag_of->second;
        else if (word != "explicit")
          note(line, "Flags=" + word, out_.not_built, "not built yet");
      }
    } else if (key == "autodetect") {
      out.detect = lower(pair.value);
      if (out.detect == "nrt")
        return fail(Errc::refused, "nrt is not built; File=/dev/neuron[0-15] would name such devices");
      if (std::ranges::find(detect_words, out.detect) == std::end(detect_words))
        return fail(Errc::invalid,
                    "'" + pair.value + "' is wrong; nvml, nvidia, rsmi, oneapi, full or off would be right");
    } else if (key == "links") {
      for (const std::string_view word : split(pair.value, ',')) {
        const auto count = parse_integer(trim(word));
        if (!count || *count < -1 || *count > 1000)
          return fail(
              Errc::invalid,
              "'" + pair.value + "' is wrong, links to each device, -1 for itself, as in 2,-1,1 would be right");
        out.links.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(*count, 0)));
      }
    } else {
      note(line, pair.key, out_.unknown, "unknown key of gres.conf");
    }
    return {};
  }

  Result<void> settle(ConfiguredNode& node, const std::vector<const GresLine*>& lines) {
    MR_TRY(node.kinds, parse_node_gres(node.gres));
    for (const NodeGres& kind : node.kinds)
      if (std::ranges::find(out_.gres_types, kind.name) == out_.gres_types.end())
        return fail(Errc::invalid,
                    kind.name + " is not in GresTypes, GresTypes=" + with_more(kind.name) + " would be right");
    split_types(node, lines);
    choose_detection(node, lines);
    for (NodeGres& kind : node.kinds)
      if (!is_part_name(kind.name)) {
        MR_TRY_VOID(complete(node, kind, lines));
      }
    for (NodeGres& kind : node.kinds)
      if (is_part_name(kind.name)) {
        MR_TRY_VOID(complete_parts(node, kind, lines));
      }
    for (const GresLine* line : lines)
      if (!line->nodes.empty() &&
          std::ranges::none_of(node.kinds, [&](const NodeGres& kind) { return is_of(*line, kind); }))
        return fail(Errc::invalid, line->place + " names " + line->name + (line->type.empty() ? "" : ":" + line->type) +
                                       ", which the node's Gres= does not");
    return settle_kinds(node.kinds);
  }

  // What is said of some nodes counts before what is said of all. Devices with files are not looked for.
  void choose_detection(ConfiguredNode& node, const std::vector<const GresLine*>& lines) {
    std::string detect;
    for (const bool own : {false, true})
      for (const GresLine& line : detect_lines_)
        if (own ? std::ranges::find(line.nodes, node.name) != line.nodes.end() : line.nodes.empty())
          detect = line.detect;
    node.detect = detect == "off" ? "" : detect;
    std::uint32_t said = 0;
    for (const GresLine* line : lines)
      if (line->name == "gpu") said |= line->variables;
    node.gpu_variables = said == 0 ? variables_of(node.detect) : (said & no_variables) != 0 ? 0 : said;
  }

  std::string with_more(const std::string& name) const {
    std::string out;
    for (const std::string& known : out_.gres_types) out += known + ",";
    return out + name;
  }

  static bool is_of(const GresLine& line, const NodeGres& kind) {
    return line.name == kind.name && (line.type.empty() || line.type == kind.type);
  }

  // Gres=gpu:4 without a type, and a gres.conf that tells the types: a kind for each.
  void split_types(ConfiguredNode& node, const std::vector<const GresLine*>& lines) {
    std::vector<NodeGres> out;
    for (const NodeGres& kind : node.kinds) {
      std::vector<NodeGres> typed;
      for (const GresLine* line : lines) {
        if (line->name != kind.name || line->type.empty() || !kind.type.empty()) continue;
        const auto same = std::ranges::find(typed, line->type, &NodeGres::type);
        if (same != typed.end())
          same->count += line->devices();
        else
          typed.push_back({kind.name, line->type, line->devices(), {}, kind.countable_only, {}, {}});
      }
      if (typed.empty())
        out.push_back(kind);
      else
        out.insert(out.end(), typed.begin(), typed.end());
    }
    node.kinds = std::move(out);
  }

  static std::uint64_t sockets_of(const ConfiguredNode& node, const IndexSet& cores) {
    std::uint64_t bits = 0;
    const std::uint32_t per_socket = std::max(node.cores_per_socket, 1u);
    cores.for_each([&](std::uint32_t core) {
      if (core / per_socket < 64) bits |= 1ULL << (core / per_socket);
    });
    return bits;
  }

  // Devices, their files and sockets, from the lines of this kind.
  Result<void> complete(const ConfiguredNode& node, NodeGres& kind, const std::vector<const GresLine*>& lines) {
    std::vector<std::uint64_t> near;
    std::int64_t count = 0;
    bool any_near = false;
    std::vector<std::vector<std::uint32_t>> links;
    for (const GresLine* line : lines) {
      if (!is_of(*line, kind)) continue;
      if (line->cores) {
        const std::uint32_t all = node.sockets * node.cores_per_socket;
        if (!line->cores->empty() && line->cores->back() >= all)
          return fail(Errc::invalid,
                      line->place + ": core " + std::to_string(line->cores->back()) + " of " + std::to_string(all));
        any_near = true;
      }
      const std::uint64_t sockets = line->cores ? sockets_of(node, *line->cores) : 0;
      const std::int64_t devices = line->devices();
      count += devices;
      if (!line->files.empty()) kind.countable_only = false;
      if (line->count_only) kind.countable_only = true;
      if (!line->file_text.empty()) kind.files += (kind.files.empty() ? "" : ",") + line->file_text;
      for (std::int64_t i = 0; i < devices && count <= devices_max; ++i) near.push_back(sockets);
      if (!line->links.empty() && devices != 1)
        return fail(Errc::invalid, line->place + ": Links= says what one device is linked to, but the line has " +
                                       std::to_string(devices));
      links.insert(links.end(), static_cast<std::size_t>(std::min(devices, devices_max)), line->links);
    }
    if (count == 0) return {};
    if (count < kind.count)
      return fail(Errc::invalid, "the node's line says " + std::to_string(kind.count) + " " + kind.name +
                                     ", gres.conf " + std::to_string(count));
    near.resize(static_cast<std::size_t>(
        std::min(kind.count, devices_max)));  // more than the node's line says are not given out
    if (any_near && !kind.countable_only) kind.near = std::move(near);
    if (!kind.countable_only && kind.count <= devices_max &&
        std::ranges::any_of(links, [](const auto& row) { return !row.empty(); })) {
      links.resize(static_cast<std::size_t>(kind.count));
      for (std::vector<std::uint32_t>& row : links) {
        row.resize(static_cast<std::size_t>(kind.count));
        kind.links.insert(kind.links.end(), row.begin(), row.end());
      }
    }
    return {};
  }

  // Parts by the gpu whose file the line names; without a file they are spread evenly.
  Result<void> complete_parts(const ConfiguredNode& node, NodeGres& kind, const std::vector<const GresLine*>& lines) {
    std::vector<std::string> gpus;
    for (const NodeGres& each : node.kinds) {
      if (each.name != "gpu") continue;
      MR_TRY(auto files, expand_hostlist(each.files));
      files.resize(static_cast<std::size_t>(each.count));
      gpus.insert(gpus.end(), files.begin(), files.end());
    }
    std::vector<std::int64_t> parts(gpus.size());
    std::int64_t count = 0;
    bool by_file = false;
    for (const GresLine* line : lines) {
      if (!is_of(*line, kind)) continue;
      if (line->files.empty()) continue;
      by_file = true;
      const std::int64_t of_line = line->count.value_or(static_cast<std::int64_t>(line->files.size()));
      const auto files = static_cast<std::int64_t>(line->files.size());
      for (std::int64_t i = 0; i < files; ++i) {
        const auto gpu = std::ranges::find(gpus, line->files[static_cast<std::size_t>(i)]);
        if (gpu == gpus.end())
          return fail(Errc::invalid,
                      line->place + ": " + line->files[static_cast<std::size_t>(i)] + " is no gpu of the node");
        parts[static_cast<std::size_t>(gpu - gpus.begin())] += of_line / files + (i < of_line % files ? 1 : 0);
      }
      count += of_line;
    }
    if (!by_file) return {};
    if (count != kind.count)
      return fail(Errc::invalid, "the node's line says " + std::to_string(kind.count) + " " + kind.name +
                                     ", gres.conf " + std::to_string(count));
    kind.parts = std::move(parts);
    return {};
  }

  Configuration& out_;
  std::vector<std::string>& errors_;
  std::vector<GresLine> lines_, detect_lines_;
};

}  // namespace

void read_gres(const std::vector<ConfLine>& lines, Configuration& configuration, std::vector<std::string>& errors) {
  GresReader(configuration, errors).read(lines);
}

}  // namespace millrace
