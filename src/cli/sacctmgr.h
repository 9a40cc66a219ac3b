// src/cli/sacctmgr.h - what the parts of sacctmgr share.
#pragma once

#include <optional>
#include <span>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/render/field_table.h"
#include "config/client_settings.h"

namespace millrace {

struct SacctmgrOptions {
  int verbose = 0;
  Asked asked;
  TableStyle style;
  bool immediate = false, quiet = false, readonly = false, associations = false;
  ListingWish listing{};  // --json, --yaml
};

struct Sacctmgr {
  Command& command;
  SacctmgrOptions options;
  Session& session;
  const ClientSettings& settings;
};

// show account|user|association|qos|tres|... [where] [key=value] [format=...] [withassoc]
int sacctmgr_show(Sacctmgr& self, std::span<const std::string_view> words);
// Kinds that are not of the account book: cluster, configuration, event, problem, runawayjobs. Empty: not one of them.
std::optional<int> sacctmgr_show_other(Sacctmgr& self, std::string_view entity, std::span<const std::string_view> words);

// add, modify, delete; without a word where nothing is to be said.
int sacctmgr_change(Sacctmgr& self, std::span<const std::string_view> words);

// dump CLUSTER [file=NAME], load [file=]NAME: the accounts as a text file.
int sacctmgr_dump(Sacctmgr& self, std::span<const std::string_view> words);
int sacctmgr_load(Sacctmgr& self, std::span<const std::string_view> words);

// A question to the controller; what goes wrong is said.
std::optional<wire::Reply> sacctmgr_ask(Sacctmgr& self, wire::Request& request);
// Whether the word is this one, cut at any place after so many letters.
bool is_cut_of(std::string_view word, std::string_view whole, std::size_t least);

}  // namespace millrace
