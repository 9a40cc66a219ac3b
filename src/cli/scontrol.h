// src/cli/scontrol.h - what the parts of scontrol share: its options, its session, its words.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/render/show_records.h"
#include "millrace.pb.h"

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

  // Asks; what went wrong with the connection has been said, the error's story is Slurm's text.
  Result<wire::Reply> ask(wire::Request& request);
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
int scontrol_delete_nodes(Scontrol& self, std::string_view names);
int scontrol_reserve(Scontrol& self, const Words& words, bool change);
int scontrol_remove_reservation(Scontrol& self, std::string_view name);
int scontrol_show_reservations(Scontrol& self, std::string_view name);
int scontrol_show_steps(Scontrol& self, std::string_view id);
int scontrol_list_jobs(Scontrol& self, const Words& words);
int scontrol_list_steps(Scontrol& self, const Words& words);
int scontrol_list_pids(Scontrol& self, const Words& words);
int scontrol_wait_job(Scontrol& self, const Words& words);
int scontrol_refuse(Scontrol& self, std::string_view what);

}  // namespace millrace
