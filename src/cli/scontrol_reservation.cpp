// src/cli/scontrol_reservation.cpp - scontrol create, update, delete and show reservation.
#include <grp.h>
#include <time.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/job_values.h"
#include "cli/render/text_forms.h"
#include "cli/scontrol.h"
#include "cli/scontrol_data.h"

namespace millrace {
namespace {

using Text = std::string_view;

std::unexpected<Error> bad(Text key, Text value) {
  return fail(Errc::invalid, "Invalid " + std::string{key} + " value: " + std::string{value});
}

Result<std::int64_t> moment(Text key, Text value) {
  const auto at = parse_time_of_day(value, time(nullptr));
  if (!at) return bad(key, value);
  return *at * 1'000'000;
}

Result<std::int64_t> span(Text key, Text value) {
  const auto length = parse_duration(value);
  if (!length) return bad(key, value);
  return length->unlimited ? 365LL * 24 * 3600 * 1'000'000 : length->seconds * 1'000'000;
}

// node=4, license/matlab=2: what is counted in whole nodes and licences; parts of nodes cannot be kept.
Result<void> set_counts(wire::Reserve& to, Text value) {
  std::string licences;
  for (const Text word : split(value, ',')) {
    const std::size_t equals = word.find('=');
    const std::int64_t count = equals == Text::npos ? 0 : parse_integer(word.substr(equals + 1)).value_or(0);
    const std::string name = lower(word.substr(0, equals));
    if (count < 1 || count > 10'000'000) return bad("TRES", value);
    if (name == "node")
      to.set_node_count(static_cast<std::uint32_t>(count));
    else if (name.starts_with("license/"))
      licences += (licences.empty() ? "" : ",") + std::string{word.substr(8, equals - 8)} + ":" + std::to_string(count);
    else
      return fail(Errc::refused, "TRES=" + std::string{word} +
                                     " of a reservation is not built yet in Millrace: whole nodes (node=) and licences "
                                     "(license/NAME=) can be kept");
  }
  if (!licences.empty()) to.set_licences(licences);
  return {};
}

// A name nobody has would admit nobody, and nobody would notice. "-bob": everybody but bob.
std::optional<Error> unknown_one(Text list, const char* text, bool (*is_known)(Text name)) {
  for (Text name : split(list, ',')) {
    name = trim(name);
    if (name.starts_with('-')) name.remove_prefix(1);
    if (!name.empty() && !is_known(name)) return Error{Errc::not_found, std::string{text} + ": " + std::string{name}};
  }
  return std::nullopt;
}

Result<void> set_users(wire::Reserve& to, Text value) {
  to.set_users(std::string{value});
  if (auto unknown = unknown_one(value, "Invalid user id", [](Text name) { return parse_user(name).has_value(); }))
    return std::unexpected(*std::move(unknown));
  return {};
}

Result<void> set_groups(wire::Reserve& to, Text value) {
  to.set_groups(std::string{value});
  if (auto unknown = unknown_one(value, "Invalid group id", [](Text name) {
        return parse_integer(name) || getgrnam(std::string{name}.c_str()) != nullptr;
      }))
    return std::unexpected(*std::move(unknown));
  return {};
}

struct Key {
  Text name;
  Result<void> (*set)(wire::Reserve& to, Text value);
};

// clang-format off
constexpr Key keys[] = {
    {"Reservation", [](wire::Reserve& to, Text v) -> Result<void> { to.set_name(std::string{v}); return {}; }},
    {"ReservationName", [](wire::Reserve& to, Text v) -> Result<void> { to.set_name(std::string{v}); return {}; }},
    {"StartTime", [](wire::Reserve& to, Text v) -> Result<void> { MR_TRY(const auto at, moment("StartTime", v)); to.set_start_us(at); return {}; }},
    {"EndTime", [](wire::Reserve& to, Text v) -> Result<void> { MR_TRY(const auto at, moment("EndTime", v)); to.set_end_us(at); return {}; }},
    {"Duration", [](wire::Reserve& to, Text v) -> Result<void> { MR_TRY(const auto us, span("Duration", v)); to.set_duration_us(us); return {}; }},
    {"Nodes", [](wire::Reserve& to, Text v) -> Result<void> { to.set_nodes(std::string{v}); return {}; }},
    {"NodeCnt", [](wire::Reserve& to, Text v) -> Result<void> {
       const auto count = parse_integer(v);
       if (!count || *count < 1 || *count > 10'000'000) return bad("NodeCnt", v);
       to.set_node_count(static_cast<std::uint32_t>(*count));
       return {};
     }},
    {"PartitionName", [](wire::Reserve& to, Text v) -> Result<void> { to.set_partition(std::string{v}); return {}; }},
    {"Partition", [](wire::Reserve& to, Text v) -> Result<void> { to.set_partition(std::string{v}); return {}; }},
    {"Users", set_users},
    {"User", set_users},
    {"Accounts", [](wire::Reserve& to, Text v) -> Result<void> { to.set_accounts(std::string{v}); return {}; }},
    {"Account", [](wire::Reserve& to, Text v) -> Result<void> { to.set_accounts(std::string{v}); return {}; }},
    {"Groups", set_groups},
    {"Flags", [](wire::Reserve& to, Text v) -> Result<void> { to.set_flags(std::string{v}); return {}; }},
    {"Comment", [](wire::Reserve& to, Text v) -> Result<void> { to.set_comment(std::string{v}); return {}; }},
    {"Licenses", [](wire::Reserve& to, Text v) -> Result<void> { to.set_licences(std::string{v}); return {}; }},
    {"Licences", [](wire::Reserve& to, Text v) -> Result<void> { to.set_licences(std::string{v}); return {}; }},
    {"Features", [](wire::Reserve& to, Text v) -> Result<void> { to.set_features(std::string{v}); return {}; }},
    {"MaxStartDelay", [](wire::Reserve& to, Text v) -> Result<void> {
       if (v.empty()) return to.set_max_start_delay_seconds(0), Result<void>{};
       const auto length = parse_duration(v);
       if (!length || length->unlimited || length->seconds > INT32_MAX) return bad("MaxStartDelay", v);
       to.set_max_start_delay_seconds(static_cast<std::uint32_t>((length->seconds + 59) / 60 * 60));
       return {};
     }},
    {"TRES", set_counts},
    {"Skip", [](wire::Reserve& to, Text) -> Result<void> { to.set_skip(true); return {}; }},
    {"CoreCnt", nullptr}, {"CPUCnt", nullptr}, {"TRESPerNode", nullptr}, {"BurstBuffer", nullptr}, {"QOS", nullptr}, {"AllowedPartitions", nullptr}, {"NodeList", nullptr},
};
// clang-format on

// += and -= change what is there.
Result<void> change(wire::Reserve& to, Text name, char op, Text value) {
  const std::int64_t sign = op == '+' ? 1 : -1;
  const std::string sign_text(1, op);
  if (name == "nodes") return to.set_nodes(std::string{value}), to.set_nodes_op(sign_text), Result<void>{};
  if (name == "users" || name == "user") return to.set_users_op(sign_text), set_users(to, value);
  if (name == "accounts" || name == "account")
    return to.set_accounts(std::string{value}), to.set_accounts_op(sign_text), Result<void>{};
  if (name == "groups") return to.set_groups_op(sign_text), set_groups(to, value);
  if (name == "flags") return to.set_flags(std::string{value}), to.set_flags_op(sign_text), Result<void>{};
  if (name == "nodecnt") {
    const auto count = parse_integer(value);
    if (!count || *count < 1 || *count > 10'000'000) return bad("NodeCnt", value);
    return to.set_node_count_change(static_cast<std::int32_t>(sign * *count)), Result<void>{};
  }
  if (name == "starttime" || name == "endtime" || name == "duration") {
    MR_TRY(const std::int64_t length, span(name, value));
    if (name == "starttime")
      to.set_start_change_us(sign * length);
    else if (name == "endtime")
      to.set_end_change_us(sign * length);
    else
      to.set_duration_change_us(sign * length);
    return {};
  }
  return fail(Errc::refused, std::string{name} + sign_text + "= of a reservation is not built yet in Millrace");
}

Result<void> set(wire::Reserve& to, Text word) {
  const std::size_t equals = word.find('=');
  if (equals == Text::npos && equals_ignoring_case(word, "skip")) return to.set_skip(true), Result<void>{};
  if (equals == Text::npos)
    return fail(Errc::invalid, "Invalid input: " + std::string{word} + "; key=value would be right");
  std::string name = lower(word.substr(0, equals));
  if (name.ends_with('+') || name.ends_with('-')) {
    if (!to.change())
      return fail(Errc::invalid, "Invalid input: " + std::string{word} + "; += and -= are for scontrol update");
    return change(to, Text{name}.substr(0, name.size() - 1), name.back(), word.substr(equals + 1));
  }
  const auto matching = [&](bool exactly) {
    return std::ranges::find_if(keys, [&](const Key& key) {
      return exactly ? equals_ignoring_case(key.name, name)
                     : name.size() >= 3 && equals_ignoring_case(key.name.substr(0, name.size()), name);
    });
  };
  if (const Key* found = matching(true) != std::end(keys) ? matching(true) : matching(false); found != std::end(keys)) {
    const Key& key = *found;
    if (key.set == nullptr)
      return fail(Errc::refused,
                  std::string{word.substr(0, equals)} + "= of a reservation is not built yet in Millrace");
    return key.set(to, word.substr(equals + 1));
  }
  return fail(Errc::invalid, "Invalid input: " + std::string{word});
}

std::string null_or(const std::string& text) { return std::string{or_null(text)}; }
std::string time_text(std::int64_t us) { return format_time(us, "Unknown"); }
std::string duration_text(std::int64_t seconds) {
  const std::int64_t days = seconds / 86400;
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return (days > 0 ? std::to_string(days) + "-" : "") + two(seconds / 3600 % 24) + ":" + two(seconds / 60 % 60) + ":" +
         two(seconds % 60);
}

std::string show(const wire::ReservationView& r, bool one_line) {
  const std::string gap = one_line ? " " : "\n   ";
  std::string out = "ReservationName=" + r.name() + " StartTime=" + time_text(r.start_us()) +
                    " EndTime=" + time_text(r.end_us()) +
                    " Duration=" + duration_text((r.end_us() - r.start_us()) / 1'000'000);
  out += gap + "Nodes=" + null_or(r.nodes()) + " NodeCnt=" + std::to_string(r.node_count()) +
         " CoreCnt=" + std::to_string(r.cores()) + " Features=" + null_or(r.features()) +
         " PartitionName=" + null_or(r.partition()) + " Flags=" + r.flags();
  out += gap + "TRES=" + (r.cpus() > 0 ? "cpu=" + std::to_string(r.cpus()) : "");
  out += gap + "AllowedPartitions=(null) QOS=(null)";
  out += gap + "Users=" + null_or(r.users()) + " Groups=" + null_or(r.groups()) + " Accounts=" + null_or(r.accounts()) +
         " Licenses=" + null_or(r.licences()) + " State=" + (r.active() ? "ACTIVE" : "INACTIVE") +
         " BurstBuffer=(null)";
  out += gap +
         "MaxStartDelay=" + (r.max_start_delay_seconds() > 0 ? duration_text(r.max_start_delay_seconds()) : "(null)");
  if (!r.comment().empty()) out += gap + "Comment=" + r.comment();
  return out + (one_line ? "\n" : "\n\n");
}

}  // namespace

int scontrol_reserve(Scontrol& self, const Words& words, bool change) {
  wire::Request request;
  wire::Reserve& ask = *request.mutable_reserve();
  ask.set_change(change);
  const std::string failed = change ? "Error updating the reservation: " : "Error creating the reservation: ";
  for (const Text word : words) {
    if (const auto done = set(ask, word); !done) {
      if (done.error().code == Errc::not_found)
        say_plain(failed + done.error().story);
      else
        say_error(self.command, done.error().story);
      return 1;
    }
  }
  if (!change && !ask.has_start_us())
    return say_error(self.command, "A start time must be given.  No reservation created."), 1;
  if (!change && !ask.has_end_us() && !ask.has_duration_us())
    return say_error(self.command, "An end time or duration must be given.  No reservation created."), 1;
  if (change && ask.name().empty()) {
    say_error(self.command, "Reservation must be given. No reservation update processed.");
    return 1;
  }
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain(failed + reply.error().story);
    return 1;
  }
  return print(change ? "Reservation updated.\n" : "Reservation created: " + reply->reserved().name() + '\n');
}

int scontrol_remove_reservation(Scontrol& self, std::string_view word, std::string_view name) {
  wire::Request request;
  request.mutable_remove_reservation()->set_name(std::string{name});
  const auto reply = self.ask(request);
  if (reply) return 0;
  say_plain("delete_reservation " + std::string{word} + ": " + reply.error().story);
  return 1;
}

int scontrol_show_reservations(Scontrol& self, std::string_view name) {
  wire::Request request;
  request.mutable_query_reservations()->set_name(std::string{name});
  const auto reply = self.ask(request);
  if (!reply) {
    say_plain("slurm_load_reservations error: " + reply.error().story);
    return 1;
  }
  if (self.data && (name.empty() || reply->reservations().reservations_size() > 0))
    return print_reservations(self, reply->reservations());
  std::string out;
  for (const wire::ReservationView& each : reply->reservations().reservations()) out += show(each, self.show.one_line);
  if (!out.empty()) return print(out);
  print(name.empty() ? "No reservations in the system\n" : "Reservation " + std::string{name} + " not found\n");
  return name.empty() ? 0 : 1;
}

std::vector<std::string_view> scontrol_reservation_keys() {
  std::vector<Text> out;
  for (const Key& key : keys)
    if (key.set != nullptr) out.push_back(key.name);
  return out;
}

}  // namespace millrace
