// src/cli/scontrol_update.h - what the parts of `scontrol update` have in common.
#pragma once

#include "cli/scontrol.h"

namespace millrace {

struct UpdatePair {
  std::string key, value;
  bool has_value = true;
  char op = '=';  // or what stands before it
};

// Keys may be shortened to what is unique, but not below this.
bool is_update_key(std::string_view word, std::string_view key, std::size_t letters = 3);

std::unexpected<Error> bad_update_value(std::string_view key, std::string_view value);
Result<std::uint32_t> update_number(std::string_view key, std::string_view value);
int refuse_update_word(std::string_view word);
int refuse_update_key(std::string_view key, std::string_view value);
int send_update(Scontrol& self, wire::Request& request);

int update_job(Scontrol& self, const std::vector<UpdatePair>& pairs, std::string_view ids);
int update_jobs_of_name(
    Scontrol& self,
    const std::vector<UpdatePair>& pairs);  // without JobId: those of this name, of this user where one is named
std::vector<std::string_view> job_update_keys();

int update_node(Scontrol& self, const std::vector<UpdatePair>& pairs, std::string_view names);
std::vector<std::string_view> node_update_keys();

}  // namespace millrace
