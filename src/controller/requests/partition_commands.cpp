// src/controller/requests/partition_commands.cpp - partitions that are made, changed and deleted, and the dampening of
// fair share.
#include "controller/loop/config_facts.h"
#include "controller/requests/handlers.h"
#include "core/admission/change_partition.h"
#include "core/admission/report_node.h"

namespace millrace {

void PartitionCommands::update(const wire::UpdatePartition& ask) {
  const State& state = c_.commit.decided();
  if (!ask.create() && ask.settings().empty())
    return commit_and_answer(decide_change_partition(state, ask.name(), ask.state(), actor_, c_.loop.now()));
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  if (!ask.create() && !state.find_partition(ask.name()))
    return refuse_with({RefusalCode::invalid_partition, {"invalid partition specified: " + ask.name()}});
  const auto def = partition_from_words(state, ask.name(), {ask.settings().begin(), ask.settings().end()},
                                        c_.hooks.site_partitions());
  if (!def) return refuse_with(RefusalCode::not_supported, def.error().story);
  commit_and_answer(decide_set_partition(state, *def, ask.create(), actor_, c_.loop.now()));
}

void PartitionCommands::remove(const wire::DeletePartition& ask) {
  commit_and_answer(decide_delete_partition(c_.commit.decided(), ask.name(), actor_, c_.loop.now()));
}

void PartitionCommands::set_damping(const wire::SetDamping& ask) {
  commit_and_answer(decide_damping(ask.factor(), actor_, c_.loop.now()));
}

}  // namespace millrace
