// src/cli/render/priority_columns.cpp - see priority_columns.h.
#include "cli/render/priority_columns.h"

#include "cli/render/field_table.h"
#include "core/model/sluid.h"

namespace millrace {
namespace {

using R = PriorityRow;
using F = wire::PriorityView::Factor;
using V = wire::PriorityView;
using P = wire::PriorityPolicy;

template <const F& (V::*factor)() const, std::uint32_t (P::*weight)() const>
void points(std::string& out, const R& r) {
  out += std::to_string(r.job ? (r.job->*factor)().points() : (r.all->policy().*weight)());
}
template <const F& (V::*factor)() const>
void part(std::string& out, const R& r) {
  if (r.job) out += format_billionths((r.job->*factor)().part(), 7);
}

std::string tres_points(const R& r) {
  std::string out;
  if (r.job) {
    for (const F& each : r.job->tres())
      out += (out.empty() ? "" : ",") + each.name() + '=' + std::to_string(each.points());
  } else {
    for (const wire::TresWeight& each : r.all->policy().tres())
      out += (out.empty() ? "" : ",") + each.name() + '=' + std::to_string(each.billionths() / 1'000'000'000);
  }
  return out;
}

void tres_parts(std::string& out, const R& r) {
  if (!r.job) return;
  bool first = true;
  for (const F& each : r.job->tres()) {
    out += (first ? "" : ",") + each.name() + '=' + format_billionths(each.part(), 7);
    first = false;
  }
}

void norm_priority(std::string& out, const R& r) {
  if (!r.job) return;
  const auto e14 = static_cast<std::uint64_t>(static_cast<unsigned __int128>(r.job->priority()) *
                                              100'000'000'000'000ULL / UINT32_MAX);
  out += std::to_string(e14 / 100'000'000'000'000ULL) + '.' +
         std::to_string(100'000'000'000'000ULL + e14 % 100'000'000'000'000ULL).substr(1);
}

// clang-format off
constexpr Column<R> columns[] = {
    {"", 'i', "JOBID", Cut::never, true, [](std::string& out, const R& r) { out += r.job ? r.job->shown_id() : "Weights"; }},
    {"", 'r', "PARTITION", Cut::to_width, true, [](std::string& out, const R& r) { if (r.job) out += r.job->partition(); }},
    {"", 'u', "USER", Cut::to_width, true, [](std::string& out, const R& r) { if (r.job) out += r.job->user_name(); }},
    {"", 'o', "ACCOUNT", Cut::to_width, true, [](std::string& out, const R& r) { if (r.job) out += r.job->account(); }},
    {"", 'c', "CLUSTER", Cut::to_width, true, [](std::string& out, const R& r) { if (r.job) out += r.all->cluster(); }},
    {"", 'Y', "PRIORITY", Cut::never, true, [](std::string& out, const R& r) { if (r.job) out += std::to_string(r.job->priority()); }},
    {"", 'y', "PRIORITY", Cut::never, true, norm_priority},
    {"", 'S', "SITE", Cut::never, true, [](std::string& out, const R& r) { out += r.job ? std::to_string(r.job->site()) : "1"; }},
    {"", 'A', "AGE", Cut::never, true, points<&V::age, &P::age>},
    {"", 'a', "AGE", Cut::never, true, part<&V::age>},
    {"", 'B', "ASSOC", Cut::never, true, points<&V::assoc, &P::assoc>},
    {"", 'b', "ASSOC", Cut::never, true, part<&V::assoc>},
    {"", 'F', "FAIRSHARE", Cut::never, true, points<&V::fairshare, &P::fairshare>},
    {"", 'f', "FAIRSHARE", Cut::never, true, part<&V::fairshare>},
    {"", 'J', "JOBSIZE", Cut::never, true, points<&V::job_size, &P::job_size>},
    {"", 'j', "JOBSIZE", Cut::never, true, part<&V::job_size>},
    {"", 'P', "PARTITION", Cut::never, true, points<&V::partition_factor, &P::partition>},
    {"", 'p', "PARTITION", Cut::never, true, part<&V::partition_factor>},
    {"", 'n', "QOSNAME", Cut::to_width, true, [](std::string& out, const R& r) { if (r.job) out += r.job->qos(); }},
    {"", 'Q', "QOS", Cut::never, true, points<&V::qos_factor, &P::qos>},
    {"", 'q', "QOS", Cut::never, true, part<&V::qos_factor>},
    {"", 'N', "NICE", Cut::never, true, [](std::string& out, const R& r) { if (r.job) out += std::to_string(r.job->nice()); }},
    {"", 's', "SLUID", Cut::to_width, true, [](std::string& out, const R& r) { if (r.job) out += sluid_text(r.job->job_key_low()); }},
    {"", 'T', "TRES", Cut::to_width, true, [](std::string& out, const R& r) { out += tres_points(r); }},
    {"", 't', "TRES", Cut::to_width, true, tres_parts},
};
// clang-format on

}  // namespace

const char* const sprio_long_format =
    "%.15i %9r %.8u %.8o %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10n %.10Q %.11N %.20T";

std::span<const Column<PriorityRow>> priority_columns() { return columns; }

std::string sprio_format(const wire::Priorities& all, bool norm) {
  const P& weights = all.policy();
  std::string out = norm ? "%.15i %9r %.16y" : "%.15i %9r %.10Y %.10S";
  const auto add = [&](bool has, char letter) {
    if (has) out += std::string{" %.10"} + (norm ? static_cast<char>(letter - 'A' + 'a') : letter);
  };
  add(weights.age() > 0, 'A');
  add(weights.assoc() > 0, 'B');
  add(weights.fairshare() > 0, 'F');
  add(weights.job_size() > 0, 'J');
  add(weights.partition() > 0, 'P');
  add(weights.qos() > 0, 'Q');
  if (weights.tres_size() > 0) out += norm ? " %.30t" : " %.20T";
  return out;
}

bool sprio_less(const PriorityRow& a, const PriorityRow& b, char letter) {
  for (const Column<PriorityRow>& column : columns) {
    if (column.letter != letter) continue;
    std::string left, right;
    column.value(left, a);
    column.value(right, b);
    const auto x = parse_integer(left), y = parse_integer(right);
    return x && y ? *x < *y : left < right;
  }
  return false;
}

}  // namespace millrace
