// tests/golden/write_golden_log.cpp - writes the golden logs of today's format into a folder; run once per format,
// never again.
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "apps/log_dump.h"
#include "core/ledger/invariants.h"
#include "golden_log.h"
#include "history.h"

namespace millrace {
namespace {

// Small, so that the log has several segments; a fixed salt, so that writing it again gives the same bytes.
constexpr WalSettings settings{3000, 1024, 1024, 20260101};
struct Golden {
  std::string name;
  std::vector<GoldenBatch> (*history)();
  std::size_t snapshot_after_batch;  // 0: none
  bool impossible = false;           // it leads to a state that breaks laws
};

Result<void> append(Wal& wal, State& state, const GoldenBatch& batch, bool impossible) {
  Batch out{batch.payloads, {}};
  for (const Event& event : batch.events) {
    apply(state, event);
    if (const auto broken = impossible ? std::nullopt : broken_law(state))
      return fail(Errc::corrupt, *broken + " after event " + std::to_string(state.version));
    out.events.push_back(encode_event(event));
  }
  Result<void> outcome;
  wal.append(std::move(out), [&](Result<std::uint64_t> done) {
    if (!done) outcome = std::unexpected(done.error());
  });
  return outcome;
}

std::vector<PayloadId> live_payloads(const State& state) {
  std::vector<PayloadId> live;
  for (const auto& [key, job] : state.jobs)
    for (const Digest& digest : {job->spec->script, job->spec->environment})
      if (digest != Digest{}) live.push_back({digest});
  return live;
}

Result<void> write_log(const std::string& parent, const Golden& golden) {
  const std::string folder = parent + "/" + golden.name;
  if (mkdir(folder.c_str(), 0755) != 0) return fail_errno(Errc::io, folder);
  GoldenLog log;
  MR_TRY_VOID(log.open(folder, settings));
  State state;
  std::size_t number = 0;
  for (const GoldenBatch& batch : golden.history()) {
    MR_TRY_VOID(append(*log.wal, state, batch, golden.impossible));
    if (++number != golden.snapshot_after_batch) continue;
    Result<void> outcome;
    log.wal->write_snapshot(state.version, encode_state(state), live_payloads(state),
                            [&](Result<void> done) { outcome = std::move(done); });
    MR_TRY_VOID(outcome);
  }
  log.wal.reset();
  std::ofstream{folder + ".state", std::ios::binary} << encode_state(state);
  std::ofstream text{folder + ".dump", std::ios::binary};
  MR_TRY_VOID(dump_log(*log.files, {0, true}, [&](std::string_view line) { text << line << '\n'; }));
  return {};
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: write_golden_log FOLDER, of which only new ones are added\n", stderr), 2;
  const millrace::Golden golden[] = {{"plain", millrace::format1_history, 0},
                                     {"compacted", millrace::format1_history, 9},
                                     {"accounts", millrace::accounts_history, 0},
                                     {"accounts_compacted", millrace::accounts_history, 27},
                                     {"planning", millrace::planning_history, 0},
                                     {"planning_compacted", millrace::planning_history, 27},
                                     {"het", millrace::het_history, 0},
                                     {"het_compacted", millrace::het_history, 29},
                                     {"isolation", millrace::isolation_history, 0},
                                     {"isolation_compacted", millrace::isolation_history, 27},
                                     {"suspending", millrace::suspend_history, 0},
                                     {"suspending_compacted", millrace::suspend_history, 29},
                                     {"steps", millrace::steps_history, 0},
                                     {"steps_compacted", millrace::steps_history, 27},
                                     {"devices", millrace::devices_history, 0},
                                     {"devices_compacted", millrace::devices_history, 30},
                                     {"step_options", millrace::step_options_history, 0},
                                     {"step_options_compacted", millrace::step_options_history, 27},
                                     {"step_facts", millrace::step_facts_history, 0},
                                     {"step_facts_compacted", millrace::step_facts_history, 25},
                                     {"step_resources", millrace::step_resources_history, 0},
                                     {"step_resources_compacted", millrace::step_resources_history, 23},
                                     {"extras", millrace::extras_history, 0},
                                     {"extras_compacted", millrace::extras_history, 23},
                                     {"gpu_use", millrace::gpu_use_history, 0},
                                     {"gpu_use_compacted", millrace::gpu_use_history, 27},
                                     {"node_life", millrace::node_life_history, 0},
                                     {"node_life_compacted", millrace::node_life_history, 33},
                                     {"het_steps", millrace::het_steps_history, 0},
                                     {"het_steps_compacted", millrace::het_steps_history, 35},
                                     {"power", millrace::power_history, 0},
                                     {"power_compacted", millrace::power_history, 31},
                                     {"kept", millrace::kept_history, 0},
                                     {"kept_compacted", millrace::kept_history, 31},
                                     {"partition_rules", millrace::partition_rules_history, 0},
                                     {"partition_rules_compacted", millrace::partition_rules_history, 21},
                                     {"partition_changes", millrace::partition_changes_history, 0},
                                     {"partition_changes_compacted", millrace::partition_changes_history, 23},
                                     {"standing", millrace::standing_history, 0},
                                     {"standing_compacted", millrace::standing_history, 27},
                                     {"records", millrace::records_history, 0},
                                     {"records_compacted", millrace::records_history, 22},
                                     {"site_rules", millrace::site_rules_history, 0},
                                     {"site_rules_compacted", millrace::site_rules_history, 25},
                                     {"shrinking", millrace::shrinking_history, 0},
                                     {"shrinking_compacted", millrace::shrinking_history, 21},
                                     {"outliving", millrace::outliving_history, 0},
                                     {"outliving_compacted", millrace::outliving_history, 21},
                                     {"placing", millrace::placing_history, 0},
                                     {"placing_compacted", millrace::placing_history, 21},
                                     {"ports", millrace::ports_history, 0},
                                     {"ports_compacted", millrace::ports_history, 21},
                                     {"sizes", millrace::sizes_history, 0},
                                     {"sizes_compacted", millrace::sizes_history, 21},
                                     {"node_orders", millrace::node_orders_history, 0},
                                     {"node_orders_compacted", millrace::node_orders_history, 21},
                                     {"aside", millrace::aside_history, 0},
                                     {"aside_compacted", millrace::aside_history, 21},
                                     {"sick_nodes", millrace::sick_nodes_history, 0},
                                     {"sick_nodes_compacted", millrace::sick_nodes_history, 25},
                                     {"impossible", millrace::impossible_history, 0, true},
                                     {"impossible_compacted", millrace::impossible_history, 26, true}};
  for (const millrace::Golden& each : golden) {
    const auto written = millrace::write_log(argv[1], each);
    if (!written) return std::fprintf(stderr, "%s\n", written.error().story.c_str()), 1;
  }
  return 0;
}
