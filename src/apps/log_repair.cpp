// src/apps/log_repair.cpp - see log_repair.h.
#include "apps/log_repair.h"

#include <algorithm>
#include <filesystem>

#include "store/high_mark.h"
#include "store/recover.h"
#include "store/segment.h"
#include "store/snapshot.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> io_failure(const std::string& what, const std::error_code& why) {
  return fail(Errc::io, what + ": " + why.message());
}

std::string describe_job(const State& state, JobKey key) {
  const Job* job = state.find_job(key);
  if (!job) return "job key " + std::to_string(key.value);
  return "job " + std::to_string(job->id.value) + " of " + job->spec->owner->user_name + " (uid " +
         std::to_string(job->spec->owner->uid.value) + "), key " + std::to_string(key.value);
}

}  // namespace

// Of a start that went no further than that.
static bool is_kept_already(const std::string& directory, const std::string& kept) {
  std::error_code wrong;
  if (!fs::exists(kept, wrong)) return false;
  for (const auto& entry : fs::directory_iterator(directory, wrong)) {
    const std::string name = entry.path().filename().string();
    if (!segment_number(name) && !snapshot_index(name)) continue;
    if (fs::file_size(kept + "/" + name, wrong) != entry.file_size(wrong) || wrong) return false;
  }
  return !wrong;
}

Result<std::string> keep_log(const std::string& directory, std::uint64_t version, bool whole) {
  std::error_code wrong;
  std::string kept = directory + ".kept-" + std::to_string(version);
  if (!whole && is_kept_already(directory, kept)) return kept;
  for (int more = 2; fs::exists(kept, wrong); ++more)
    kept = directory + ".kept-" + std::to_string(version) + "-" + std::to_string(more);
  if (!fs::create_directory(kept, wrong)) return io_failure(kept, wrong);
  fs::permissions(kept, fs::perms::owner_all, wrong);
  if (wrong) return io_failure(kept, wrong);
  std::uint64_t last = 0;  // is written on, so that another name of it would not stay as it was
  for (const auto& entry : fs::directory_iterator(directory, wrong))
    last = std::max(last, segment_number(entry.path().filename().string()).value_or(0));
  for (const auto& entry : fs::directory_iterator(directory, wrong)) {
    const std::string name = entry.path().filename().string();
    if (!segment_number(name) && !snapshot_index(name)) continue;
    std::error_code failed = std::make_error_code(std::errc::not_supported);
    if (!whole && segment_number(name) != last) fs::create_hard_link(entry.path(), kept + "/" + name, failed);
    if (failed) fs::copy_file(entry.path(), kept + "/" + name, failed);
    if (failed) return io_failure(kept + "/" + name, failed);
  }
  if (wrong) return io_failure(directory, wrong);
  return kept;
}

std::vector<std::string> describe_repair(const State& before, const LedgerRepair& repair) {
  std::vector<std::string> lines;
  const RecordsPutAside& event = repair.event;
  for (const std::string& words : repair.skipped) lines.push_back("passed over: " + words);
  for (const std::string& law : event.laws) lines.push_back("a law of the ledger is broken: " + law);
  for (const JobKey key : event.jobs) lines.push_back("put aside: " + describe_job(before, key));
  const auto list = [&](const char* what, const auto& ids) {
    for (const auto id : ids) lines.push_back(std::string{"put aside: "} + what + " " + std::to_string(id.value));
  };
  list("the crontab of user id", event.crontabs);
  list("trigger", event.triggers);
  list("the record of a past run, number", event.kept_runs);
  list("association", event.associations);
  list("the run history of user id", event.run_histories);
  list("reservation, number", event.reservations);
  list("QOS, number", event.qos);
  for (const NodeIndex index : event.nodes)
    if (before.nodes.contains(index))
      lines.push_back("put aside: what was ordered of node " + before.node(index).def->name);
  if (event.jobs.empty() && event.crontabs.empty() && event.triggers.empty() && event.kept_runs.empty() &&
      event.associations.empty() && event.run_histories.empty() && event.reservations.empty() && event.qos.empty() &&
      event.nodes.empty() && repair.skipped.empty())
    lines.emplace_back("no record is lost: counts and indexes were wrong and are made anew");
  return lines;
}

Result<std::vector<LogDamage>> find_damage(Filesystem& files) {
  std::vector<LogDamage> found;
  std::uint64_t next = 0, newest_snapshot = 0;
  const auto note = [&](const ScannedRecord& record, std::string story) {
    if (found.empty()) found.push_back({record.file, record.offset, std::move(story), next, 0, false});
  };
  MR_TRY_VOID(scan_log(files, [&](const ScannedRecord& record) {
    if (record.type == "snapshot") newest_snapshot = std::max(newest_snapshot, record.index);
    if (record.type == "damaged" && snapshot_index(record.file)) {
      found.insert(found.begin(), {record.file, record.offset, record.story, 0, 0, true});
      return;
    }
    if (record.type == "damaged") return note(record, record.story);
    if (record.type == "segment" && next == 0) next = record.index;
    if (record.type == "segment" && record.index != next && found.empty())
      note(record, "it begins with event " + std::to_string(record.index) + " instead of " + std::to_string(next));
    if (record.type != "event") return;
    if (!found.empty())
      ++found.back().events_after;
    else if (record.index != next)
      note(record, "event " + std::to_string(record.index) + " where " + std::to_string(next) + " must be");
    else
      ++next;
  }));
  for (LogDamage& damage : found)
    if (!damage.snapshot && damage.next_index <= newest_snapshot)
      damage.story += "; the snapshot of event " + std::to_string(newest_snapshot) + " holds what was there";
  return found;
}

Result<void> cut_log(Filesystem& files, const LogDamage& at) {
  const auto number = segment_number(at.file);
  if (!number) return fail(Errc::refused, at.file + " is no segment");
  MR_TRY(const auto names, files.list());
  for (const std::string& name : names) {
    if (const auto index = snapshot_index(name); index && *index >= at.next_index)
      return fail(Errc::refused, "the snapshot " + name +
                                     " is of an event behind the damage: a log that is cut there "
                                     "would not reach it; restore the segments from a backup");
  }
  for (auto it = names.rbegin(); it != names.rend(); ++it)
    if (const auto other = segment_number(*it); other && *other > *number) MR_TRY_VOID(files.remove(*it));
  MR_TRY_VOID(forget_high_mark(files));  // what was acknowledged behind the damage goes, as whoever cuts has been told
  if (at.offset <= segment_header_size) {
    MR_TRY_VOID(files.remove(at.file));
    return files.sync_directory();
  }
  MR_TRY(const auto file, files.open(at.file));
  MR_TRY_VOID(file->truncate(at.offset));
  MR_TRY_VOID(file->sync_data());
  return files.sync_directory();
}

Result<std::optional<RecordsPutAside>> repair_at_start(const std::string& directory, const State& recovered,
                                                       const std::vector<SkippedEvent>& skipped, Time now,
                                                       const std::function<void(const std::string&)>& say) {
  auto repair = decide_repair(recovered, now, skipped);
  if (!repair) return std::nullopt;
  for (const std::string& line : describe_repair(recovered, *repair)) say(line);
  // Before anything is kept: whoever starts us again and again would fill the disk.
  if (repair->still_broken)
    return fail(Errc::corrupt, "the log leads to an impossible state: " + *repair->still_broken);
  MR_TRY(const std::string kept, in_context(keep_log(directory, recovered.version), "keeping a copy of the log"));
  say("the log as it was is kept in " + kept + "; `millrace log dump` shows it");
  return std::move(repair->event);
}

}  // namespace millrace
