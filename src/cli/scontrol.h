// src/cli/scontrol.h - what the parts of scontrol share: its options, its session, its words.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/render/data_document.h"
#include "cli/render/show_records.h"
#include "client.pb.h"

namespace millrace {

using Words = std::vector<std::string_view>;

struct Scontrol {
  Command& command;
  ShowOptions show;
  bool all = false;
  ClientSettings settings;
  std::unique_ptr<Session> session;
  Names names;
  std::string settings_problem;  // said when the controller is needed
  std::optional<DataWish> data;  // --json, --yaml
  bool future = false;           // nodes that are not there yet too

  // Asks; what went wrong with the connection has been said, the error's story is Slurm's text.
  Result<wire::Reply> ask(wire::Request& request);
  void complain(std::string_view text) const;  // about one of several jobs; -Q is silent about it
};

// Keywords may be shortened to what is unique, but not below `letters`.
struct Keyword {
  std::string_view name;
  std::size_t letters;
};
bool is_keyword(std::string_view word, const Keyword& keyword);

int scontrol_show(Scontrol& self, const Words& words);
int scontrol_update(Scontrol& self, const Words& words);
int scontrol_reboot(Scontrol& self, const Words& words);
int scontrol_cancel_reboot(Scontrol& self, const Words& words);
int scontrol_power(Scontrol& self, const Words& words);
int scontrol_create_nodes(Scontrol& self, const Words& words);
int scontrol_delete_nodes(Scontrol& self, std::string_view word, std::string_view names);
// Partitions, and what holds for fair share: scontrol_partition.cpp.
int scontrol_set_partition(Scontrol& self, const Words& words, bool create);
int scontrol_delete_partition(Scontrol& self, std::string_view word, std::string_view name);
int scontrol_set_damping(Scontrol& self, const Words& words);
int scontrol_token(Scontrol& self, const Words& words);
int scontrol_take_over(Scontrol& self, const Words& words);
int scontrol_reserve(Scontrol& self, const Words& words, bool change);
int scontrol_remove_reservation(Scontrol& self, std::string_view word, std::string_view name);
int scontrol_show_reservations(Scontrol& self, std::string_view name);
int scontrol_show_steps(Scontrol& self, std::string_view id);
int scontrol_list_jobs(Scontrol& self, const Words& words);
int scontrol_list_steps(Scontrol& self, const Words& words);
int scontrol_list_pids(Scontrol& self, const Words& words);
int scontrol_wait_job(Scontrol& self, const Words& words);
int scontrol_write_config(Scontrol& self, const Words& words);
// What of the daemons can be asked and told: scontrol_daemons.cpp.
int scontrol_set_log_level(Scontrol& self, const Words& words);
int scontrol_set_log_flags(Scontrol& self, const Words& words);
int scontrol_set_schedule_log(Scontrol& self, const Words& words);
int scontrol_error_text(Scontrol& self, const Words& words);
int scontrol_addresses(Scontrol& self, const Words& words);
int scontrol_host_names(Scontrol& self, const Words& words);
int scontrol_show_aliases(Scontrol& self, std::string_view host);
int scontrol_show_daemons(Scontrol& self, std::string_view);
int scontrol_show_slurmd(Scontrol& self, std::string_view node);
int scontrol_show_burst_buffers(Scontrol& self, std::string_view);
int scontrol_show_topology_file(Scontrol& self, std::string_view);
int scontrol_show_associations(Scontrol& self, std::string_view wanted);
// Small requests about jobs: scontrol_jobs.cpp.
int scontrol_completing(Scontrol& self, const Words& words);
int scontrol_notify(Scontrol& self, const Words& words);
int scontrol_pid_info(Scontrol& self, const Words& words);
int scontrol_top(Scontrol& self, const Words& words);
std::string own_node_name();
std::optional<wire::StepSamples> ask_node_steps(Scontrol& self, const Words& words, const char* verb);
int scontrol_refuse(Scontrol& self, std::string_view what, std::string_view why = {});

}  // namespace millrace
