// src/controller/requests/site_queries.cpp - nodes, partitions, licences, topology, configuration and what the
// controller has done, as people see them.
#include <set>

#include "base/hostlist.h"
#include "controller/requests/queries.h"
#include "controller/views/resources.h"

namespace millrace {

void SiteQueries::nodes(const wire::QueryNodes& ask) {
  if (privacy().hides(private_nodes)) return refuse_with(RefusalCode::access_denied);
  const ReadView snapshot = c_.read_view();
  wire::Reply out = reply();
  wire::Nodes& nodes = *out.mutable_nodes();
  nodes.set_now_us(snapshot.now.value);
  if (ask.nodes().empty()) {
    // What is not there yet is not shown, unless somebody wants to see it.
    const auto hidden = [&](const Node& node) {
      return (node.future && !ask.future_too()) ||
             (node.def->kind == NodeKind::cloud && node.power.state == Power::off && node.jobs.empty() &&
              !snapshot.state.policy->power.show_cloud);
    };
    for (const auto& [index, node] : snapshot.state.nodes)
      if (node->configured && !hidden(*node)) show_node(snapshot, index, *node, *nodes.add_nodes());
  } else if (const auto names = expand_hostlist(ask.nodes()); names) {
    std::set<std::string_view> shown;  // each once, however often it is named
    for (const std::string& name : *names) {
      if (!shown.insert(name).second) continue;
      const auto index = c_.links.index_of(name);
      const auto* node = index ? snapshot.state.nodes.find(*index) : nullptr;
      if (node)
        show_node(snapshot, *index, **node, *nodes.add_nodes());
      else
        nodes.add_missing(name);
    }
  } else {
    nodes.add_missing(ask.nodes());
  }
  c_.clients.reply(asker_.client, out);
}

void SiteQueries::partitions(const wire::QueryPartitions& ask) {
  const bool without_hidden =
      ask.without_hidden() && !actor_.is_admin && HiddenPartitions::there_may_be(c_.commit.durable());
  as_user(without_hidden || privacy().hides(private_partitions), [ask, without_hidden, privacy = privacy(),
                                                                  out = reply()](Services& c, const Asker& asker,
                                                                                 const UserIdentity& user) mutable {
    const ReadView snapshot = c.read_view();
    const HiddenPartitions hidden = without_hidden ? HiddenPartitions{snapshot.state, user} : HiddenPartitions{};
    out.mutable_partitions();
    for (std::uint32_t index = 0; index < snapshot.state.partitions->size(); ++index) {
      const Partition& partition = (*snapshot.state.partitions)[index];
      if (partition.configured && (ask.name().empty() || ask.name() == partition.def.name) &&
          privacy.sees(partition.def, user) && !hidden.hides(PartitionIndex{index}))
        show_partition(snapshot, partition, *out.mutable_partitions()->add_partitions());
    }
    c.clients.reply(asker.client, out);
  });
}

void SiteQueries::licences() {
  wire::Reply out = reply();
  *out.mutable_licences() = show_licences(c_.commit.durable());
  c_.clients.reply(asker_.client, out);
}

void SiteQueries::topology() {
  wire::Reply out = reply();
  *out.mutable_topology() = show_topology(c_.commit.durable());
  c_.clients.reply(asker_.client, out);
}

void SiteQueries::config() {
  wire::Reply out = reply();
  out.mutable_config()->set_now_us(c_.loop.now().value);
  c_.hooks.show_config(*out.mutable_config());
  c_.clients.reply(asker_.client, out);
}

void SiteQueries::diagnostics(const wire::QueryDiagnostics& ask) {
  wire::Reply out = reply();
  if (ask.reset() && !actor_.is_super) return refuse_with(RefusalCode::access_denied);
  if (ask.reset()) c_.diagnostics.reset(c_.loop.now());
  wire::Diagnostics& shown = *out.mutable_diagnostics();
  c_.diagnostics.show(shown);
  const Time before = c_.loop.now();
  Time now = before;
  for (int i = 0; i < 1000; ++i) now = c_.loop.now();
  shown.set_clock_us((now - before).value);
  shown.set_now_us(now.value);
  const State& state = c_.commit.durable();
  std::uint32_t running = 0;
  for (const auto& [key, nothing] : state.active) running += state.job(key).state == JobState::completing ? 0 : 1;
  shown.set_running(running);
  shown.set_pending(static_cast<std::uint32_t>(state.unsplit_tasks + state.live_names.size() -
                                               state.active.size()));  // what has not ended and holds no nodes
  shown.set_threads(5);  // the loop, and workers for the log, plans, queries and names
  for (const auto& [index, responds] : c_.links.observed()->responding)
    shown.set_nodes_connected(shown.nodes_connected() + (responds ? 1 : 0));
  c_.clients.reply(asker_.client, out);
}

void SiteQueries::ping() {
  wire::Reply out = reply();
  out.mutable_pong()->set_host(c_.settings.host);
  out.mutable_pong()->set_epoch(c_.commit.durable().epoch.value);
  out.mutable_pong()->set_version(c_.settings.version);
  out.mutable_pong()->set_started_at_us(c_.clock.started_at().value);
  c_.clients.reply(asker_.client, out);
}

}  // namespace millrace
