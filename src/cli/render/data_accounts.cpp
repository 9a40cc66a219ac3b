// src/cli/render/data_accounts.cpp - see data_accounts.h.
#include "cli/render/data_accounts.h"

#include "base/text.h"

namespace millrace {
namespace {

using Q = QosRow;
using A = AssociationRow;
using TresList = google::protobuf::RepeatedPtrField<wire::TresAmount>;

// The numbers TRES have in Slurm; those of a cluster's own begin at 1001 in the order of their names here.
std::uint32_t tres_number(const AccountBook& book, std::string_view name) {
  constexpr std::string_view fixed[] = {"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"};
  for (std::uint32_t i = 0; i < std::size(fixed); ++i)
    if (fixed[i] == name) return i + 1;
  std::uint32_t next = 1001;
  for (const std::string& known : book.answer.tres_names()) {
    if (known == name) return next;
    bool is_fixed = false;
    for (const std::string_view each : fixed) is_fixed = is_fixed || each == known;
    if (!is_fixed) ++next;
  }
  return next;
}

Data tres_data(const AccountBook& book, const TresList& list) {
  DataList out;
  for (const wire::TresAmount& each : list) {
    const std::size_t slash = each.name().find('/');
    out.push_back(DataMap{{"type", each.name().substr(0, slash)},
                          {"name", slash == std::string::npos ? "" : each.name().substr(slash + 1)},
                          {"id", tres_number(book, each.name())},
                          {"count", each.amount()}});
  }
  return out;
}

// What one of the columns of sacctmgr shows.
template <class Row>
std::string column(std::span<const Field<Row>> fields, std::string_view header, const Row& row) {
  for (const Field<Row>& field : fields)
    if (field.header == header) return field.value(row);
  return {};
}

Data none(const Q&) { return number_not_set(); }
template <class Row>
const wire::Limits& limits_of(const Row& row);
template <>
const wire::Limits& limits_of(const Q& row) {
  return row.qos->limits();
}
template <>
const wire::Limits& limits_of(const A& row) {
  return row.association().limits();
}
template <class Row, auto get>
Data tres(const Row& row) {
  return tres_data(*row.book, get(limits_of(row)));
}
template <class Row, auto has, auto getter>
Data count(const Row& row) {
  return number_if((limits_of(row).*has)(), (limits_of(row).*getter)());
}
using L = wire::Limits;
constexpr auto grp_tres_run_mins = [](const L& l) -> const TresList& { return l.grp_tres_run_mins(); };
constexpr auto grp_tres_mins = [](const L& l) -> const TresList& { return l.grp_tres_mins(); };
constexpr auto grp_tres = [](const L& l) -> const TresList& { return l.grp_tres(); };
constexpr auto max_tres_mins_per_job = [](const L& l) -> const TresList& { return l.max_tres_mins_per_job(); };
constexpr auto max_tres_per_job = [](const L& l) -> const TresList& { return l.max_tres_per_job(); };
constexpr auto max_tres_per_node = [](const L& l) -> const TresList& { return l.max_tres_per_node(); };

// clang-format off
constexpr DataField<Q> qos_table[] = {
    {"description", "STRING", [](const Q& r) -> Data { return r.qos->description(); }},
    {"flags", "QOS_FLAGS", [](const Q& r) { return words_by_comma(column(qos_fields(), "Flags", r)); }},
    {"id", "UINT32", [](const Q& r) -> Data { return r.qos->id(); }},
    {"limits/grace_time", "UINT32", [](const Q& r) -> Data { return r.qos->grace_seconds(); }},
    {"limits/max/active_jobs/accruing", "UINT32_NO_VAL", none},
    {"limits/max/active_jobs/count", "UINT32_NO_VAL", count<Q, &L::has_grp_jobs, &L::grp_jobs>},
    {"limits/max/jobs/count", "UINT32_NO_VAL", count<Q, &L::has_grp_submit, &L::grp_submit>},
    {"limits/max/tres/total", "TRES_STR_LIST", tres<Q, grp_tres>},
    {"limits/max/tres/minutes/total", "TRES_STR_LIST", tres<Q, grp_tres_mins>},
    {"limits/max/tres/minutes/per/qos", "TRES_STR_LIST", tres<Q, grp_tres_run_mins>},
    {"name", "STRING", [](const Q& r) -> Data { return r.qos->name(); }},
    {"limits/max/wall_clock/per/qos", "UINT32_NO_VAL", count<Q, &L::has_grp_wall_minutes, &L::grp_wall_minutes>},
    {"limits/factor", "FLOAT64_NO_VAL", [](const Q&) { return real_if(false, 0); }},
    {"limits/max/jobs/active_jobs/per/account", "UINT32_NO_VAL", [](const Q& r) { return number_if(r.qos->has_max_jobs_per_account(), r.qos->max_jobs_per_account()); }},
    {"limits/max/jobs/active_jobs/per/user", "UINT32_NO_VAL", count<Q, &L::has_max_jobs, &L::max_jobs>},
    {"limits/max/accruing/per/account", "UINT32_NO_VAL", none},
    {"limits/max/accruing/per/user", "UINT32_NO_VAL", none},
    {"limits/max/jobs/per/account", "UINT32_NO_VAL", [](const Q& r) { return number_if(r.qos->has_max_submit_per_account(), r.qos->max_submit_per_account()); }},
    {"limits/max/jobs/per/user", "UINT32_NO_VAL", count<Q, &L::has_max_submit, &L::max_submit>},
    {"limits/max/tres/minutes/per/job", "TRES_STR_LIST", tres<Q, max_tres_mins_per_job>},
    {"limits/max/tres/per/account", "TRES_STR_LIST", [](const Q& r) { return tres_data(*r.book, r.qos->max_tres_per_account()); }},
    {"limits/max/tres/per/job", "TRES_STR_LIST", tres<Q, max_tres_per_job>},
    {"limits/max/tres/per/node", "TRES_STR_LIST", tres<Q, max_tres_per_node>},
    {"limits/max/tres/per/user", "TRES_STR_LIST", [](const Q& r) { return tres_data(*r.book, r.qos->max_tres_per_user()); }},
    {"limits/max/tres/minutes/per/account", "TRES_STR_LIST", [](const Q& r) { return tres_data(*r.book, r.qos->max_run_mins_per_account()); }},
    {"limits/max/tres/minutes/per/user", "TRES_STR_LIST", [](const Q& r) { return tres_data(*r.book, r.qos->max_run_mins_per_user()); }},
    {"limits/max/wall_clock/per/job", "UINT32_NO_VAL", count<Q, &L::has_max_wall_minutes, &L::max_wall_minutes>},
    {"limits/min/priority_threshold", "UINT32_NO_VAL", none},
    {"limits/min/tres/per/job", "TRES_STR_LIST", [](const Q& r) { return tres_data(*r.book, r.qos->min_tres_per_job()); }},
    {"preempt/list", "QOS_NAME_LIST", [](const Q& r) { return words_by_comma(r.book->qos_list(r.qos->preempts())); }},
    {"preempt/mode", "QOS_PREEMPT_MODES", [](const Q& r) -> Data { return DataList{Data{upper_case(column(qos_fields(), "PreemptMode", r))}}; }},
    {"preempt/exempt_time", "UINT32_NO_VAL", [](const Q& r) { return number_if(r.qos->has_preempt_exempt_seconds(), r.qos->preempt_exempt_seconds()); }},
    {"priority", "UINT32_NO_VAL", [](const Q& r) { return number_or_not(r.qos->priority()); }},
    {"usage_factor", "FLOAT64_NO_VAL", [](const Q& r) { return real_if(true, r.qos->usage_factor_thousandths() / 1000.0); }},
    {"usage_threshold", "FLOAT64_NO_VAL", [](const Q&) { return real_if(false, 0); }},
};

Data nothing_set(const A&) { return number_not_set(); }

constexpr DataField<A> association_table[] = {
    {"accounting", "ACCOUNTING_LIST", [](const A&) -> Data { return DataList{}; }},
    {"account", "STRING", [](const A& r) -> Data { return r.association().account(); }},
    {"cluster", "STRING", [](const A& r) -> Data { return r.book->answer.cluster(); }},
    {"comment", "STRING", [](const A&) -> Data { return ""; }},
    {"default/qos", "QOS_ID", [](const A& r) -> Data { return r.book->default_qos(r.association()); }},
    {"flags", "ASSOC_FLAGS", [](const A& r) { return words_of({{r.association().is_default(), "DEFAULT"}}); }},
    {"max/jobs/per/count", "UINT32_NO_VAL", count<A, &L::has_grp_jobs, &L::grp_jobs>},
    {"max/jobs/per/accruing", "UINT32_NO_VAL", nothing_set},
    {"max/jobs/per/submitted", "UINT32_NO_VAL", count<A, &L::has_grp_submit, &L::grp_submit>},
    {"max/tres/total", "TRES_STR_LIST", tres<A, grp_tres>},
    {"max/tres/group/minutes", "TRES_STR_LIST", tres<A, grp_tres_mins>},
    {"max/tres/group/active", "TRES_STR_LIST", tres<A, grp_tres_run_mins>},
    {"max/tres/minutes/total", "TRES_STR_LIST", tres<A, grp_tres_mins>},
    {"max/per/account/wall_clock", "UINT32_NO_VAL", count<A, &L::has_grp_wall_minutes, &L::grp_wall_minutes>},
    {"id", "ASSOC_ID_PTR", [](const A& r) -> Data {
       return DataMap{{"account", r.association().account()}, {"cluster", r.book->answer.cluster()}, {"partition", r.association().partition()}, {"user", r.association().user()}, {"id", r.association().id()}};
     }},
    {"is_default", "BOOL16", [](const A& r) -> Data { return r.association().is_default(); }},
    {"lineage", "STRING", [](const A& r) -> Data { return column(association_fields(), "Lineage", r); }},
    {"max/jobs/active", "UINT32_NO_VAL", count<A, &L::has_max_jobs, &L::max_jobs>},
    {"max/jobs/accruing", "UINT32_NO_VAL", nothing_set},
    {"max/jobs/total", "UINT32_NO_VAL", count<A, &L::has_max_submit, &L::max_submit>},
    {"max/tres/minutes/per/job", "TRES_STR_LIST", tres<A, max_tres_mins_per_job>},
    {"max/tres/per/job", "TRES_STR_LIST", tres<A, max_tres_per_job>},
    {"max/tres/per/node", "TRES_STR_LIST", tres<A, max_tres_per_node>},
    {"max/jobs/per/wall_clock", "UINT32_NO_VAL", count<A, &L::has_max_wall_minutes, &L::max_wall_minutes>},
    {"min/priority_threshold", "UINT32_NO_VAL", nothing_set},
    {"parent_account", "STRING", [](const A& r) -> Data { return column(association_fields(), "ParentName", r); }},
    {"partition", "STRING", [](const A& r) -> Data { return r.association().partition(); }},
    {"priority", "UINT32_NO_VAL", [](const A& r) { return number_if(r.association().priority() != 0, r.association().priority()); }},
    {"qos", "QOS_STRING_ID_LIST", [](const A& r) { return words_by_comma(r.book->allowed_qos(r.association())); }},
    {"shares_raw", "UINT32", [](const A& r) -> Data { return r.association().shares(); }},
    {"user", "STRING", [](const A& r) -> Data { return r.association().user(); }},
};
// clang-format on

Data short_association(const A& row) {
  const wire::Association& a = row.association();
  return DataMap{{"account", a.account()},
                 {"cluster", row.book->answer.cluster()},
                 {"partition", a.partition()},
                 {"user", a.user()},
                 {"id", a.id()}};
}

Data part(std::int64_t billionths) { return real_if(true, static_cast<double>(billionths) / 1e9); }

Data named_counts(const TresList& list) {
  DataList out;
  for (const wire::TresAmount& each : list)
    out.push_back(DataMap{{"name", each.name()}, {"value", number_or_not(static_cast<std::uint64_t>(each.amount()))}});
  return out;
}

}  // namespace

Data qos_data(const Q& row) { return to_data(std::span<const DataField<Q>>{qos_table}, row); }
Data association_data(const A& row) { return to_data(std::span<const DataField<A>>{association_table}, row); }

Data wckey_data(const AccountBook& book, const wire::AccountUser& user, const std::string& key) {
  return DataMap{{"accounting", DataList{}},
                 {"cluster", book.answer.cluster()},
                 {"id", 0u},
                 {"name", key},
                 {"user", user.name()},
                 {"flags", words_of({{key == user.default_wckey(), "DEFAULT"}})}};
}

namespace {

Data coordinator_list(const wire::Association& account) {
  DataList out;
  for (const std::string& name : account.coordinators()) out.push_back(DataMap{{"name", name}, {"direct", true}});
  return out;
}

}  // namespace

Data account_data(const A& row) {
  const wire::Association& a = row.association();
  DataList below;
  for (const wire::AssociationView* view : row.book->in_tree_order)
    if (view->association().account() == a.account()) below.push_back(short_association({row.book, view}));
  return DataMap{{"associations", std::move(below)}, {"coordinators", coordinator_list(a)},
                 {"description", a.description()},   {"name", a.account()},
                 {"organization", a.organization()}, {"flags", DataList{}}};
}

Data user_data(const AccountBook& book, const std::string& user) {
  DataList of_user;
  for (const wire::AssociationView* view : book.in_tree_order)
    if (view->association().user() == user) of_user.push_back(short_association({&book, view}));
  const wire::AccountUser* known = book.find_user(user);
  DataList coordinated, wckeys;
  for (const std::string_view account : split(book.coordinated_by(user), ','))
    if (!account.empty()) coordinated.push_back(DataMap{{"name", std::string{account}}, {"direct", true}});
  if (known)
    for (const std::string& key : known->wckeys()) wckeys.push_back(wckey_data(book, *known, key));
  return DataMap{
      {"administrator_level", DataList{Data{book.admin_level(user)}}},
      {"associations", std::move(of_user)},
      {"coordinators", coordinated},
      {"default",
       DataMap{{"account", book.default_account(user)}, {"qos", 0u}, {"wckey", known ? known->default_wckey() : ""}}},
      {"flags", DataList{}},
      {"name", user},
      {"old_name", ""},
      {"wckeys", wckeys}};
}

Data share_data(const A& row) {
  const wire::Association& a = row.association();
  return DataMap{
      {"id", a.id()},
      {"cluster", row.book->answer.cluster()},
      {"name", a.user().empty() ? a.account() : a.user()},
      {"parent", a.user().empty() ? column(association_fields(), "ParentName", row) : a.account()},
      {"partition", a.partition()},
      {"shares_normalized", part(row.view->norm_shares())},
      {"shares", number_or_not(a.shares())},
      {"tres", DataMap{{"run_seconds", named_counts(row.view->run_minutes())},
                       {"group_minutes", named_counts(a.limits().grp_tres_mins())},
                       {"usage", named_counts(row.view->used_minutes())}}},
      {"effective_usage", part(row.view->level_usage())},
      {"usage_normalized", part(row.view->norm_usage())},
      {"usage", row.view->raw_usage()},
      {"fairshare", DataMap{{"factor", part(row.view->factor())},
                            {"level", row.view->level_fs() < 0 ? number_infinite() : part(row.view->level_fs())}}},
      {"type", DataList{Data{a.user().empty() ? "ACCOUNT" : "USER"}}}};
}

std::vector<DataFieldText> qos_data_fields() { return field_texts(std::span<const DataField<Q>>{qos_table}); }
std::vector<DataFieldText> association_data_fields() {
  return field_texts(std::span<const DataField<A>>{association_table});
}

}  // namespace millrace
