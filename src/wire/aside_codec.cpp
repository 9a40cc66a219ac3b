// src/wire/aside_codec.cpp - see aside_codec.h.
#include "wire/aside_codec.h"

#include "wire/id_lists.h"

namespace millrace {

void put(const RecordsPutAside& from, log::RecordsPutAside& to) {
  put_ids(from.jobs, to.mutable_jobs());
  put_ids(from.crontabs, to.mutable_crontabs());
  put_ids(from.triggers, to.mutable_triggers());
  put_ids(from.kept_runs, to.mutable_kept_runs());
  put_ids(from.associations, to.mutable_associations());
  put_ids(from.run_histories, to.mutable_run_histories());
  put_ids(from.nodes, to.mutable_nodes());
  for (const std::string& law : from.laws) to.add_laws(law);
  to.set_at(from.at.value);
}

RecordsPutAside get(const log::RecordsPutAside& from) {
  return {.jobs = get_ids<JobKey>(from.jobs()),
          .crontabs = get_ids<UserId>(from.crontabs()),
          .triggers = get_ids<TriggerId>(from.triggers()),
          .kept_runs = get_ids<KeptNumber>(from.kept_runs()),
          .associations = get_ids<AssociationId>(from.associations()),
          .run_histories = get_ids<UserId>(from.run_histories()),
          .nodes = get_ids<NodeIndex>(from.nodes()),
          .laws = {from.laws().begin(), from.laws().end()},
          .at = Time{from.at()}};
}

}  // namespace millrace
