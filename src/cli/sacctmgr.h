// src/cli/sacctmgr.h - what the parts of sacctmgr share.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/render/account_fields.h"
#include "cli/render/data_tree.h"
#include "cli/render/field_table.h"
#include "config/client_settings.h"
#include "core/model/account_change.h"

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
// Kinds that are not of the account book: cluster, configuration, problem. Empty: not one of them.
std::optional<int> sacctmgr_show_other(Sacctmgr& self, std::string_view entity,
                                       std::span<const std::string_view> words);

// add, modify, delete; without a word where nothing is to be said.
int sacctmgr_change(Sacctmgr& self, std::span<const std::string_view> words);

// add, modify or delete cluster NAME: there is one, and what holds for all of it is what its root account has.
int sacctmgr_change_cluster(Sacctmgr& self, std::span<const std::string_view> words);
// Asks what a change would do, says it, asks whether it may, and has it done.
int sacctmgr_commit(Sacctmgr& self, const AccountChange& change,
                    const std::function<std::string(const wire::AccountsChanged&)>& announce);

// What is about to be done, in Slurm's words.
std::string sacctmgr_announcement(const AccountChange& change, const wire::AccountsChanged& changed,
                                  const std::string& cluster);
// y or n within 30 seconds.
bool sacctmgr_may_commit();
// ping, reconfigure, clear stats, archive, shutdown: what slurmdbd would do. Empty: not one of them.
std::optional<int> sacctmgr_daemon(Sacctmgr& self, std::span<const std::string_view> words);
// modify job [where] jobid=N set DerivedExitCode=... Comment=...
int sacctmgr_modify_job(Sacctmgr& self, std::span<const std::string_view> words);
// Kinds of which records are kept, or could be: transaction, event, coordinator, wckey, reservation, resource,
// federation, instance, stats, runawayjobs. Empty: not one of them.
std::optional<int> sacctmgr_show_records(Sacctmgr& self, std::string_view entity,
                                         std::span<const std::string_view> words);
std::optional<AccountBook> sacctmgr_book(Sacctmgr& self);
// --json, --yaml.
int sacctmgr_print_data(Sacctmgr& self, const std::string& key, DataList records);

// A table of some rows in the columns that are asked for, or in these.
template <class Row>
int sacctmgr_print_rows(Sacctmgr& self, std::span<const Field<Row>> fields, const std::string& columns,
                        const std::vector<Row>& rows) {
  const auto chosen = choose_fields(fields, columns);
  if (!chosen) {
    say_plain(" " + chosen.error().story);
    return 1;
  }
  return print(render_fields(*chosen, rows, self.options.style));
}

// dump CLUSTER [file=NAME], load [file=]NAME: the accounts as a text file.
int sacctmgr_dump(Sacctmgr& self, std::span<const std::string_view> words);
int sacctmgr_load(Sacctmgr& self, std::span<const std::string_view> words);

// A question to the controller; what goes wrong is said.
std::optional<wire::Reply> sacctmgr_ask(Sacctmgr& self, wire::Request& request);
// Whether the word is this one, cut at any place after so many letters.
bool is_cut_of(std::string_view word, std::string_view whole, std::size_t least);

}  // namespace millrace
