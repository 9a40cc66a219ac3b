// src/controller/partition_commands.cpp - partitions that are made, changed and deleted, and the dampening of fair
// share.
#include "controller/commands.h"
#include "controller/config_facts.h"
#include "core/admission/change_partition.h"
#include "core/admission/report_node.h"

namespace millrace {

void Commands::commit_and_answer(Decision decision) {
  if (!decision) return refuse_with(decision.error());
  if (!happen(*std::move(decision))) return;
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

void Commands::update_partition(const wire::UpdatePartition& ask) {
  const State& state = c_.commit_.decided();
  if (!ask.create() && ask.settings().empty())
    return commit_and_answer(decide_change_partition(state, ask.name(), ask.state(), actor_, c_.loop_.now()));
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  if (!ask.create() && !state.find_partition(ask.name()))
    return refuse_with({RefusalCode::invalid_partition, {"invalid partition specified: " + ask.name()}});
  const auto def = partition_from_words(state, ask.name(), {ask.settings().begin(), ask.settings().end()},
                                        c_.hooks_.site_partitions());
  if (!def) return refuse_with(RefusalCode::not_supported, def.error().story);
  commit_and_answer(decide_set_partition(state, *def, ask.create(), actor_, c_.loop_.now()));
}

void Commands::delete_partition(const wire::DeletePartition& ask) {
  commit_and_answer(decide_delete_partition(c_.commit_.decided(), ask.name(), actor_, c_.loop_.now()));
}

void Commands::set_damping(const wire::SetDamping& ask) {
  commit_and_answer(decide_damping(ask.factor(), actor_, c_.loop_.now()));
}

}  // namespace millrace
