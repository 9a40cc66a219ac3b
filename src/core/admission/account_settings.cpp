// src/core/admission/account_settings.cpp - see account_settings.h.
#include "core/admission/account_settings.h"

#include <algorithm>

#include "base/text.h"
#include "core/admission/charge_job.h"

namespace millrace {
namespace {

using Text = std::string_view;

std::unexpected<Error> bad(const AccountSetting& s, const std::string& right) {
  return fail(Errc::invalid, "'" + s.value + "' is not right for " + s.key + ", " + right);
}

bool clears(const AccountSetting& s) { return s.value == "-1" || s.value.empty(); }

Result<void> set_count(const AccountSetting& s, std::optional<std::uint32_t>& out) {
  const auto number = parse_integer(s.value);
  if (!clears(s) && (!number || *number < 0 || *number >= INT32_MAX))
    return bad(s, "a number is, or -1 to clear the limit");
  if (clears(s))
    out.reset();
  else
    out = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> set_number(const AccountSetting& s, std::uint32_t& out) {
  std::optional<std::uint32_t> value;
  MR_TRY_VOID(set_count(s, value));
  out = value.value_or(0);
  return {};
}

Result<void> set_minutes(const AccountSetting& s, std::optional<std::uint32_t>& out) {
  if (clears(s)) {
    out.reset();
    return {};
  }
  const auto time = parse_duration(s.value);
  if (!time) return bad(s, "a time is, as in 30, 1:00:00 or 2-00:00:00");
  out.reset();
  if (!time->unlimited) out = static_cast<std::uint32_t>((time->seconds + 59) / 60);
  return {};
}

Result<void> set_seconds(const AccountSetting& s, std::optional<std::uint32_t>& out) {
  const auto time = clears(s) ? std::optional<ParsedDuration>{ParsedDuration{true, 0}} : parse_duration(s.value);
  if (!time) return bad(s, "a time is, as in 5, 0:30 or 1:00:00");
  out.reset();
  if (!time->unlimited) out = static_cast<std::uint32_t>(time->seconds);
  return {};
}

// The list as it is written replaces single resources; -1 takes one away, an empty list or a bare -1 all.
Result<void> set_resources(const State& state, const AccountSetting& s, TresList& out) {
  if (clears(s)) {
    out.clear();
    return {};
  }
  auto list = parse_tres(s.value);
  if (!list) return fail(Errc::invalid, s.key + ": " + list.error().story);
  for (const TresAmount& each : *list) {
    if (!tres_slot(*state.tres_names, each.name))
      return fail(Errc::invalid,
                  s.key + ": " + each.name + " is not tracked; AccountingStorageTRES in slurm.conf names what is");
    set_tres(out, s.op == '-' ? TresAmount{each.name, -1} : each);
  }
  return {};
}

Result<void> set_one_resource(const AccountSetting& s, const char* name, TresList& out) {
  const auto amount = std::string_view{name} == "mem" && !clears(s)
                          ? parse_memory(s.value).transform([](Mebibytes m) { return m.value; })
                          : parse_integer(s.value);
  if (!clears(s) && (!amount || *amount < 0)) return bad(s, "an amount is, or -1 to clear the limit");
  set_tres(out, {name, clears(s) ? -1 : *amount});
  return {};
}

// =, += and -= of a list of QOS names.
Result<void> set_qos_list(const State& state, const AccountSetting& s, std::vector<std::uint32_t>& out) {
  std::vector<std::uint32_t> named;
  if (!clears(s))
    for (Text word : split(s.value, ',')) {
      word = trim(word);
      if (word.empty()) continue;
      char op = s.op;
      if (word[0] == '+' || word[0] == '-') op = word[0], word.remove_prefix(1);
      const Qos* qos = state.find_qos(lower(word));
      if (!qos) return fail(Errc::invalid, "there is no QOS " + std::string{word});
      if (op == '-')
        std::erase(out, qos->id.value);
      else if (op == '+' && std::ranges::find(out, qos->id.value) == out.end())
        out.push_back(qos->id.value);
      else if (op == '=')
        named.push_back(qos->id.value);
    }
  if (s.op == '=' && (clears(s) || !named.empty())) out = std::move(named);
  return {};
}

struct LimitSetter {
  Text names;  // comma between several
  TresList Limits::* list;
  std::optional<std::uint32_t> Limits::* number;
  bool is_time;
  const char* resource;  // an old option for this resource alone
};

// clang-format off
constexpr LimitSetter limit_rows[] = {
    {"grptres", &Limits::grp_tres, nullptr, false, nullptr},
    {"grptresmins", &Limits::grp_tres_mins, nullptr, false, nullptr},
    {"grptresrunmins", &Limits::grp_tres_run_mins, nullptr, false, nullptr},
    {"maxtres,maxtrespj,maxtresperjob", &Limits::max_tres_per_job, nullptr, false, nullptr},
    {"maxtrespn,maxtrespernode", &Limits::max_tres_per_node, nullptr, false, nullptr},
    {"maxtresmins,maxtresminspj,maxtresminsperjob", &Limits::max_tres_mins_per_job, nullptr, false, nullptr},
    {"grpjobs", nullptr, &Limits::grp_jobs, false, nullptr},
    {"grpsubmit,grpsubmitjobs", nullptr, &Limits::grp_submit, false, nullptr},
    {"grpwall", nullptr, &Limits::grp_wall_minutes, true, nullptr},
    {"maxjobs,maxjobsperuser,maxjobspu", nullptr, &Limits::max_jobs, false, nullptr},
    {"maxsubmit,maxsubmitjobs,maxsubmitjobsperuser,maxsubmitjobspu,maxsubmitpu", nullptr, &Limits::max_submit, false, nullptr},
    {"maxwall,maxwalldurationperjob,maxwallpj", nullptr, &Limits::max_wall_minutes, true, nullptr},
    {"grpcpus", &Limits::grp_tres, nullptr, false, "cpu"},
    {"grpnodes", &Limits::grp_tres, nullptr, false, "node"},
    {"grpmem,grpmemory", &Limits::grp_tres, nullptr, false, "mem"},
    {"grpcpumins", &Limits::grp_tres_mins, nullptr, false, "cpu"},
    {"grpcpurunmins", &Limits::grp_tres_run_mins, nullptr, false, "cpu"},
    {"maxcpus,maxcpusperjob", &Limits::max_tres_per_job, nullptr, false, "cpu"},
    {"maxnodes,maxnodesperjob", &Limits::max_tres_per_job, nullptr, false, "node"},
    {"maxcpumins,maxcpuminsperjob", &Limits::max_tres_mins_per_job, nullptr, false, "cpu"},
};

constexpr QosFlagWord qos_flag_rows[] = {
    {"DenyOnLimit", qos_deny_on_limit}, {"EnforceUsageThreshold", qos_enforce_usage_threshold}, {"NoDecay", qos_no_decay},
    {"NoReserve", qos_no_reserve}, {"OverPartQOS", qos_over_part_qos}, {"PartitionMaxNodes", qos_partition_max_nodes},
    {"PartitionMinNodes", qos_partition_min_nodes}, {"PartitionTimeLimit", qos_partition_time_limit},
    {"RequiresReservation", qos_requires_reservation}, {"UsageFactorSafe", qos_usage_factor_safe},
};
// clang-format on

bool is_named(Text names, Text key) {
  const auto words = split(names, ',');
  return std::ranges::find(words, key) != words.end();
}

// True when the key is that of a limit.
Result<bool> set_limit(const State& state, const AccountSetting& s, Limits& out) {
  for (const LimitSetter& row : limit_rows) {
    if (!is_named(row.names, s.key)) continue;
    const auto set = [&]() -> Result<void> {
      if (row.resource) return set_one_resource(s, row.resource, out.*row.list);
      if (row.list) return set_resources(state, s, out.*row.list);
      return row.is_time ? set_minutes(s, out.*row.number) : set_count(s, out.*row.number);
    };
    MR_TRY_VOID(set());
    return true;
  }
  return false;
}

std::unexpected<Error> unknown(const AccountSetting& s) {
  return fail(Errc::not_found, "Unknown option: " + s.key + "=" + s.value);
}

Result<void> set_flags(const AccountSetting& s, std::uint32_t& out) {
  std::uint32_t named = 0;
  if (!clears(s))
    for (const Text word : split(s.value, ',')) {
      const auto it = std::ranges::find_if(
          qos_flag_rows, [&](const QosFlagWord& row) { return equals_ignoring_case(row.word, trim(word)); });
      if (it == std::end(qos_flag_rows))
        return bad(s, "DenyOnLimit, NoDecay, NoReserve, OverPartQOS and others are flags");
      named |= it->flag;
    }
  out = s.op == '+' ? out | named : s.op == '-' ? out & ~named : named;
  return {};
}

Result<void> set_preempt_mode(const State& state, const AccountSetting& s, QosPreemptMode& out) {
  constexpr std::pair<Text, QosPreemptMode> words[] = {
      {"cluster", QosPreemptMode::cluster},     {"off", QosPreemptMode::off},
      {"cancel", QosPreemptMode::cancel},       {"requeue", QosPreemptMode::requeue},
      {"suspend", QosPreemptMode::suspend},     {"suspend,gang", QosPreemptMode::suspend},
      {"gang,suspend", QosPreemptMode::suspend}};
  for (const auto& [word, mode] : words)
    if (equals_ignoring_case(word, s.value)) {
      if (mode == QosPreemptMode::suspend && !state.policy->gang)
        return fail(Errc::invalid,
                    "preemptmode=suspend needs GANG in PreemptMode of slurm.conf, so that suspended jobs go on again");
      out = mode;
      return {};
    }
  return bad(s, "cluster, off, cancel, requeue or suspend is");
}

Result<void> set_usage_factor(const AccountSetting& s, std::uint32_t& out) {
  const auto factor = parse_decimal(s.value, 3);
  if (!factor || *factor > 1'000'000'000) return bad(s, "a number is, as in 0.5 or 2");
  out = static_cast<std::uint32_t>(*factor);
  return {};
}

}  // namespace

std::span<const QosFlagWord> qos_flag_words() { return qos_flag_rows; }

Result<void> set_association(const State& state, const AccountSetting& s, Association& out) {
  MR_TRY(const bool is_limit, set_limit(state, s, out.limits));
  if (is_limit) return {};
  if (s.key == "fairshare" || s.key == "share" || s.key == "shares") {
    if (equals_ignoring_case(s.value, "parent"))
      out.shares = shares_of_parent;
    else if (clears(s))
      out.shares = 1;
    else
      return set_number(s, out.shares);
    return {};
  }
  if (s.key == "priority") return set_number(s, out.priority);
  if (s.key == "qos" || s.key == "qoslevel") {
    // += and -= start from what it may use now, its parent's list included.
    const Association* above = state.find_association(out.parent);
    if (s.op != '=' && out.qos.empty() && above) out.qos = allowed_qos(state, *above);
    return set_qos_list(state, s, out.qos);
  }
  if (s.key == "defaultqos") {
    const Qos* qos = clears(s) ? nullptr : state.find_qos(lower(s.value));
    if (!qos && !clears(s)) return fail(Errc::invalid, "there is no QOS " + s.value);
    out.default_qos = qos ? qos->id : QosId{};
    return {};
  }
  if (s.key == "description") return out.description = s.value, Result<void>{};
  if (s.key == "organization") return out.organization = s.value, Result<void>{};
  return unknown(s);
}

Result<void> set_qos(const State& state, const AccountSetting& s, Qos& out) {
  MR_TRY(const bool is_limit, set_limit(state, s, out.limits));
  if (is_limit) return {};
  const auto named = [&](Text names) { return is_named(names, s.key); };
  if (named("priority")) return set_number(s, out.priority);
  if (named("description")) return out.description = s.value, Result<void>{};
  if (named("preempt")) return set_qos_list(state, s, out.preempts);
  if (named("preemptmode")) return set_preempt_mode(state, s, out.preempt_mode);
  if (named("gracetime")) return set_number(s, out.grace_seconds);
  if (named("preemptexempttime")) return set_seconds(s, out.preempt_exempt_seconds);
  if (named("usagefactor")) return set_usage_factor(s, out.usage_factor_thousandths);
  if (named("flags")) return set_flags(s, out.flags);
  if (named("maxtrespu,maxtresperuser")) return set_resources(state, s, out.max_tres_per_user);
  if (named("maxtrespa,maxtresperaccount,maxtresperacct")) return set_resources(state, s, out.max_tres_per_account);
  if (named("maxtresrunminspu,maxtresrunminsperuser")) return set_resources(state, s, out.max_run_mins_per_user);
  if (named("maxtresrunminspa,maxtresrunminsperaccount,maxtresrunminsperacct"))
    return set_resources(state, s, out.max_run_mins_per_account);
  if (named("mintres,mintresperjob,mintrespj")) return set_resources(state, s, out.min_tres_per_job);
  if (named("maxjobspa,maxjobsperaccount,maxjobsperacct")) return set_count(s, out.max_jobs_per_account);
  if (named("maxsubmitpa,maxsubmitjobspa,maxsubmitjobsperaccount,maxsubmitjobsperacct"))
    return set_count(s, out.max_submit_per_account);
  if (named("maxcpuspu,maxcpusperuser")) return set_one_resource(s, "cpu", out.max_tres_per_user);
  if (named("maxnodespu,maxnodesperuser")) return set_one_resource(s, "node", out.max_tres_per_user);
  if (named("mincpus,mincpusperjob")) return set_one_resource(s, "cpu", out.min_tres_per_job);
  return unknown(s);
}

}  // namespace millrace
