// tests/golden/history.h - a short history with every kind of fact in it, as the golden logs tell it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/ledger/event.h"
#include "ports/event_log.h"

namespace millrace {

struct GoldenBatch {
  std::vector<std::pair<PayloadId, std::string>> payloads;
  std::vector<Event> events;
};

// Format 1. Never changed: a later format gets a history of its own beside it.
std::vector<GoldenBatch> format1_history();
// The same with accounts, QOS and usage after it.
std::vector<GoldenBatch> accounts_history();
// The same with reservations, preemptions, licences and a deadline after it.
std::vector<GoldenBatch> planning_history();
// The same with heterogeneous jobs after it.
std::vector<GoldenBatch> het_history();
// The same with bound tasks and a job out of memory after it.
std::vector<GoldenBatch> isolation_history();
// The same with suspended jobs, shared CPUs and turns after it.
std::vector<GoldenBatch> suspend_history();
// The same with an allocation of salloc and a job with a terminal after it.
std::vector<GoldenBatch> steps_history();
// The same with prologs, epilogs, failing and booting nodes after it.
std::vector<GoldenBatch> node_life_history();
std::vector<GoldenBatch> power_history();
// The same with a crontab and triggers after it.
std::vector<GoldenBatch> standing_history();
std::vector<GoldenBatch> records_history();
// The same with what partitions and the cluster demand of jobs after it.
std::vector<GoldenBatch> partition_rules_history();
// The same with time beyond limits, counted requeues, cores for the system and the shell of an salloc after it.
std::vector<GoldenBatch> site_rules_history();
std::vector<GoldenBatch> placing_history();
// The same with ports of steps, spared cores, rebooted nodes and a program without an allocation after it.
std::vector<GoldenBatch> ports_history();
// The same with lists of sizes, a site factor and an age that begins anew after it.
std::vector<GoldenBatch> sizes_history();
// The same with nodes that come back by themselves, machines of a cloud and features that are not active after it.
std::vector<GoldenBatch> node_orders_history();

// The same with partitions that were made, changed, deleted, and kept or given up when the configuration was read
// again, after it.
std::vector<GoldenBatch> partition_changes_history();

// The same with devices that were found, some out of order, and a job in a container after it.
std::vector<GoldenBatch> devices_history();
// The same with a job of srun whose supervisors get options of their own after it.
std::vector<GoldenBatch> step_options_history();
// The same with steps that started and ended after it.
std::vector<GoldenBatch> step_facts_history();
// The same with heterogeneous jobs whose components have supervisors and steps of their own after it.
std::vector<GoldenBatch> het_steps_history();

// The same with a job whose gpus were looked at after it.
std::vector<GoldenBatch> gpu_use_history();
std::vector<GoldenBatch> step_resources_history();
// The same with a job that has mail, words and an environment of its own after it.
std::vector<GoldenBatch> extras_history();
// The same with jobs that are kept for sacct when they are forgotten or requeued after it.
std::vector<GoldenBatch> kept_history();

// The same with jobs that go on without nodes that fail after it.
std::vector<GoldenBatch> outliving_history();
// The same with running jobs that give up nodes after it.
std::vector<GoldenBatch> shrinking_history();

// The same with records that were put aside after it.
std::vector<GoldenBatch> aside_history();
// The same with launches that fail, clocks that are wrong and a spool with a name after it.
std::vector<GoldenBatch> sick_nodes_history();
// The same with what leads to a state that breaks laws after it.
std::vector<GoldenBatch> impossible_history();

// Like the last job of format 1, under another key; `mark` makes its submission another one.
JobSubmitted one_more_job(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name,
                          std::uint8_t mark, Time at);

}  // namespace millrace
