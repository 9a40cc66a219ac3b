// src/wire/node_codec.cpp - see node_codec.h.
#include "wire/node_codec.h"

#include "base/text.h"
#include "wire/log_types.h"

namespace millrace {

using fact_text::Line, fact_text::show;

void put(const NodeRegistered& from, log::NodeRegistered& to) {
  to.set_node(from.node.value);
  to.set_boot_id(from.boot_id);
  put(from.inventory, *to.mutable_inventory());
  to.set_problem(from.problem);
  to.set_at(from.at.value);
  to.set_spool_id(from.spool_id);
}

NodeRegistered get(const log::NodeRegistered& from) {
  return {NodeIndex{from.node()}, from.boot_id(),  get(from.inventory()),
          from.problem(),         Time{from.at()}, from.spool_id()};
}

void put(const DevicesJudged& from, log::DevicesJudged& to) {
  to.set_node(from.node.value);
  for (const DeviceTrouble& trouble : from.troubles) put(trouble, *to.add_troubles());
  to.set_at(from.at.value);
}

DevicesJudged get(const log::DevicesJudged& from) {
  DevicesJudged to{NodeIndex{from.node()}, {}, Time{from.at()}};
  for (const auto& trouble : from.troubles()) to.troubles.push_back(get(trouble));
  return to;
}

void put(const NodeClockJudged& from, log::NodeClockJudged& to) {
  to.set_node(from.node.value);
  to.set_words(from.words);
  to.set_at(from.at.value);
}

NodeClockJudged get(const log::NodeClockJudged& from) {
  return {NodeIndex{from.node()}, from.words(), Time{from.at()}};
}

void put(const ClockStepped& from, log::ClockStepped& to) {
  to.set_by(from.by.value);
  to.set_at(from.at.value);
  if (from.since.is_set()) to.set_since(from.since.value);
}

ClockStepped get(const log::ClockStepped& from) { return {Duration{from.by()}, Time{from.at()}, Time{from.since()}}; }

Line describe(const NodeRegistered& e) {
  Line line{"NodeRegistered"};
  const Inventory& has = e.inventory;
  line.number("node", e.node.value)
      .quoted("boot_id", e.boot_id)
      .number("cpus", has.cpus.value)
      .number("memory", has.memory.value);
  line.number("tmp", has.tmp_disk.value).quoted("arch", has.arch).quoted("os", has.os).quoted("version", has.version);
  line.quoted("host", has.host_name).time("boot_at", has.boot_at).time("agent_started_at", has.agent_started_at);
  line.list("devices", has.devices, [](const NodeGres& kind) { return show(kind); });
  line.quoted("instance_id", has.instance_id).quoted("instance_type", has.instance_type).quoted("extra", has.extra);
  return line.quoted("problem", e.problem).quoted("spool_id", e.spool_id);
}

Line describe(const DevicesJudged& e) {
  return Line{"DevicesJudged"}
      .number("node", e.node.value)
      .list("troubles", e.troubles, [](const DeviceTrouble& trouble) {
        return trouble.name + ':' + trouble.type + ':' + std::to_string(trouble.device) + ' ' +
               quote_text(trouble.text);
      });
}

Line describe(const NodeClockJudged& e) {
  return Line{"NodeClockJudged"}.number("node", e.node.value).quoted("words", e.words);
}

Line describe(const ClockStepped& e) { return Line{"ClockStepped"}.number("by", e.by.value); }

}  // namespace millrace
