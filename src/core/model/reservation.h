// src/core/model/reservation.h - nodes kept for some people during some time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"
#include "core/model/job.h"

namespace millrace {

using ReservationId = Id<struct ReservationTag>;

enum ReservationFlag : std::uint32_t {  // written to the log: never reorder
  reserve_maint = 1,
  reserve_ignore_jobs = 2,
  reserve_hourly = 4,
  reserve_daily = 8,
  reserve_weekly = 16,
  reserve_weekday = 32,
  reserve_weekend = 64,
  reserve_flex = 128,
  reserve_overlap = 256,
  reserve_spec_nodes = 512,
  reserve_any_nodes = 1024,
  reserve_time_float = 2048,
  reserve_all_nodes = 4096,
  reserve_static_alloc = 8192,
  reserve_no_hold_after = 16384,
  reserve_magnetic = 32768,
  reserve_replace = 65536,
  reserve_replace_down = 131072,
  reserve_user_delete = 262144,
};

struct Reservation {
  ReservationId id;
  std::string name;
  Time start, end;  // of a floating one: start counts from now, and `end - start` is its length
  std::uint32_t flags = 0;
  std::vector<std::uint32_t> nodes;                  // NodeIndex values, rising; none: only licences are kept
  std::uint32_t partition = unlimited;               // a PartitionIndex value; unlimited: any
  std::vector<std::string> users, accounts, groups;  // empty: not asked about; a '-' in front excludes
  std::vector<LicenceAsk> licences;                  // sorted by name
  std::string features, comment;
  std::uint32_t max_start_delay_seconds = 0;
  std::uint32_t purge_after_idle_seconds = 0;  // 0: it stays when nobody uses it
  Time idle_since;  // where that matters: when it was last known to be used, or since when nobody does
  UserId made_by;
  bool start_awaited = false;  // something is to be decided when it starts
  bool operator==(const Reservation&) const = default;

  bool has(ReservationFlag flag) const { return (flags & flag) != 0; }
  bool recurs() const {
    return (flags & (reserve_hourly | reserve_daily | reserve_weekly | reserve_weekday | reserve_weekend)) != 0;
  }
  // The window as it stands at a time.
  Time starts(Time now) const { return has(reserve_time_float) ? now + (start - Time{}) : start; }
  bool crosses(Time from, Time until, Time now) const { return starts(now) < until && from < ends(now); }
  Time ends(Time now) const { return has(reserve_time_float) ? now + (end - Time{}) : end; }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "name", self.name);
    visit(3, "start", self.start);
    visit(4, "end", self.end);
    visit(5, "flags", self.flags);
    visit(6, "nodes", self.nodes);
    visit(7, "partition", field::unless(self.partition, unlimited));
    visit(8, "users", self.users);
    visit(9, "accounts", self.accounts);
    visit(10, "groups", self.groups);
    visit(11, "licences", self.licences);
    visit(12, "features", self.features);
    visit(13, "comment", self.comment);
    visit(14, "max_start_delay_seconds", self.max_start_delay_seconds);
    visit(15, "purge_after_idle_seconds", self.purge_after_idle_seconds);
    visit(16, "idle_since", self.idle_since);
    visit(17, "made_by", self.made_by);
    visit(990, "start_awaited", self.start_awaited);
  }
};

// A turn of a reservation that is over.
struct PastReservation {
  Reservation reservation;
  Time ended_at;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "reservation", self.reservation);
    visit(2, "ended_at", self.ended_at);
  }
};

// Whether this person may use it with this account.
bool may_use(const Reservation& reservation, const Owner& owner, const std::string& account);

// Whether a job that names no reservation may have its nodes too: one that draws (MAGNETIC), or whose users' short jobs
// may delay it (MaxStartDelay).
bool lends_to(const Reservation& reservation, const JobSpec& spec);
// How long such a job may be at most.
Duration lends_for(const Reservation& reservation);

// The next turn of a recurring one after its end; days and weeks are counted in UTC.
Reservation next_turn(const Reservation& reservation, Time now);

// The name of each flag as scontrol writes it.
std::string flag_words(const Reservation& reservation);

}  // namespace millrace
