// src/controller/requests/reservation_commands.cpp - reservations: made, changed, removed and shown.
#include <algorithm>

#include "controller/requests/handlers.h"
#include "controller/requests/queries.h"
#include "core/admission/reserve.h"
#include "core/model/gres_text.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& each : list) out += (out.empty() ? "" : ",") + each;
  return out;
}

Reserve to_reserve(const wire::Reserve& ask, std::string asker) {
  Reserve out;
  out.name = ask.name();
  out.asker = std::move(asker);
  if (ask.has_start_us()) out.start = bounded_time(ask.start_us());
  if (ask.has_end_us()) out.end = bounded_time(ask.end_us());
  if (ask.has_duration_us()) out.duration = bounded_duration(ask.duration_us());
  if (ask.has_nodes()) out.nodes = ask.nodes();
  if (ask.has_node_count()) out.node_count = ask.node_count();
  if (ask.has_partition()) out.partition = ask.partition();
  if (ask.has_users()) out.users = ask.users();
  if (ask.has_accounts()) out.accounts = ask.accounts();
  if (ask.has_groups()) out.groups = ask.groups();
  if (ask.has_flags()) out.flags = ask.flags();
  if (ask.has_features()) out.features = ask.features();
  if (ask.has_comment()) out.comment = ask.comment();
  if (ask.has_licences()) out.licences = ask.licences();
  if (ask.has_max_start_delay_seconds()) out.max_start_delay_seconds = ask.max_start_delay_seconds();
  const auto op = [](const std::string& text) { return text.empty() ? '=' : text[0]; };
  out.nodes_op = op(ask.nodes_op());
  out.users_op = op(ask.users_op());
  out.accounts_op = op(ask.accounts_op());
  out.groups_op = op(ask.groups_op());
  out.flags_op = op(ask.flags_op());
  out.node_count_change = ask.node_count_change();
  out.start_change = bounded_duration(ask.start_change_us());
  out.end_change = bounded_duration(ask.end_change_us());
  out.duration_change = bounded_duration(ask.duration_change_us());
  out.skip = ask.skip();
  return out;
}

void show(const State& state, const Reservation& reservation, Time now, wire::ReservationView& out) {
  out.set_name(reservation.name);
  out.set_start_us(reservation.starts(now).value);
  out.set_end_us(reservation.ends(now).value);
  out.set_nodes(hostlist_of(state, reservation.nodes));
  out.set_node_count(static_cast<std::uint32_t>(reservation.nodes.size()));
  std::int64_t cpus = 0, cores = 0;
  for (const std::uint32_t node : reservation.nodes) {
    const NodeDef& def = *state.node(NodeIndex{node}).def;
    cpus += def.usable_cpus().value;
    cores += def.usable_cpus().value / std::max(def.threads_per_core, 1u);
  }
  out.set_cpus(static_cast<std::uint32_t>(cpus));
  out.set_cores(static_cast<std::uint32_t>(cores));
  if (reservation.partition != unlimited)
    out.set_partition(state.partition(PartitionIndex{reservation.partition}).def.name);
  out.set_flags(flag_words(reservation));
  out.set_users(joined(reservation.users));
  out.set_accounts(joined(reservation.accounts));
  out.set_groups(joined(reservation.groups));
  out.set_licences(format_licences(reservation.licences));
  out.set_features(reservation.features);
  out.set_comment(reservation.comment);
  out.set_id(reservation.id.value);
  out.set_max_start_delay_seconds(reservation.max_start_delay_seconds);
  out.set_active(reservation.starts(now) <= now && now < reservation.ends(now));
}

}  // namespace

void ReservationCommands::reserve(const wire::Reserve&) {
  c_.identities.find(
      asker_.uid, asker_.gid, [&c = c_, asker = asker_, request = request_](Result<UserIdentity> identity) {
        ReservationCommands self{c, asker, request};
        const wire::Reserve& ask = request.reserve();
        const Reserve wanted = to_reserve(ask, identity ? identity->user_name : std::to_string(asker.uid.value));
        auto decision = ask.change() ? decide_change_reservation(c.commit.decided(), wanted, self.actor_, c.loop.now())
                                     : decide_reserve(c.commit.decided(), wanted, self.actor_, c.loop.now());
        if (!decision) return self.refuse_with(decision.error());
        wire::Reply out = self.reply();
        out.mutable_reserved()->set_name(decision->name);
        if (!self.happen(std::move(decision->events))) return;
        self.answer_when_durable(std::move(out));
      });
}

void ReservationCommands::remove(const wire::RemoveReservation& ask) {
  auto decision = decide_remove_reservation(c_.commit.decided(), ask.name(), actor_, c_.loop.now());
  if (!decision) return refuse_with(decision.error());
  if (!happen(*std::move(decision))) return;
  done_when_durable();
}

void SiteQueries::reservations(const wire::QueryReservations& ask) {
  as_user(
      privacy().hides(private_reservations),
      [ask, privacy = privacy(), out = reply()](Services& c, const Asker& asker, const UserIdentity& user) mutable {
        const ReadView view = c.read_view();
        out.mutable_reservations()->set_now_us(view.now.value);
        for (const auto& [id, reservation] : view.state.reservations)
          if ((ask.name().empty() || ask.name() == reservation->name) && privacy.sees(*reservation, user, view.state))
            show(view.state, *reservation, view.now, *out.mutable_reservations()->add_reservations());
        if (ask.with_past())
          for (const PastReservation& past : *view.state.past_reservations) {
            if ((!ask.name().empty() && ask.name() != past.reservation.name) ||
                !privacy.sees(past.reservation, user, view.state))
              continue;
            wire::ReservationView& shown = *out.mutable_reservations()->add_past();
            show(view.state, past.reservation, view.now, shown);
            shown.set_end_us(past.ended_at.value);
            shown.set_active(false);
          }
        c.clients.reply(asker.client, out);
      });
}

}  // namespace millrace
