// src/cli/render/acct_golden_test.cpp - sacct, sacctmgr, sdiag, sprio and sshare against recordings of a real Slurm,
// and against our own fixtures.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "cli/render/account_fields.h"
#include "cli/render/acct_data.h"
#include "cli/render/acct_fields.h"
#include "cli/render/data_text.h"
#include "cli/render/diagnostics_data.h"
#include "cli/render/diagnostics_text.h"
#include "cli/render/golden_cluster.h"
#include "cli/render/priority_columns.h"
#include "core/model/step.h"

namespace millrace {
namespace {

void compare(const std::string& name, const std::string& ours, const std::string& theirs) {
  if (std::filesystem::exists(recordings() / name)) {
    EXPECT_EQ(ours, theirs) << name;
  }
  const auto fixture = repository() / "tests/golden/cli" / name;
  if (std::getenv("MR_UPDATE_GOLDEN") != nullptr) std::ofstream(fixture) << ours;
  EXPECT_EQ(ours, slurp(fixture)) << name << ": fixture; MR_UPDATE_GOLDEN=1 writes it anew";
}
void compare(const std::string& name, const std::string& ours) { compare(name, ours, recorded(name)); }

void add_step(wire::JobView& job, std::uint32_t id, const char* name, std::uint32_t cpus, wire::JobStateName state,
              std::uint32_t code = 0) {
  wire::AccountedStep& step = *job.mutable_accounted()->add_steps();
  wire::StepView& view = *step.mutable_step();
  view.set_job_id(job.job_id());
  view.set_array_job_id(job.array_job_id());
  if (job.has_array_task()) view.set_array_task(job.array_task());
  view.set_step(id);
  view.set_name(name);
  view.set_cpus(cpus);
  view.set_tasks(1);
  view.set_nodes("c1");
  view.set_node_count(1);
  view.set_memory_mib(50);
  view.set_start_at_us(job.start_at_us());
  view.set_state(state);
  if (state == wire::RUNNING) return;
  step.set_end_at_us(job.start_at_us());
  step.set_exit_code(code);
}

wire::JobView job(std::uint32_t id, const char* name, wire::JobStateName state, std::uint32_t cpus) {
  wire::JobView v;
  v.set_job_id(id);
  v.set_name(name);
  v.set_user_name("root");
  v.set_group_name("root");
  v.set_state(state);
  v.set_reason("None");
  v.set_partition("main");
  v.set_account("root");
  v.set_qos("normal");
  v.set_node_count(1);
  v.set_cpus(cpus);
  v.set_requested_cpus(1);
  v.set_requested_nodes(1);
  v.set_tasks(1);
  v.set_cpus_per_task(1);
  v.set_time_limit_minutes(5);
  v.set_memory_per_node_mib(50);
  v.set_requested_memory_mib(50);
  v.set_priority(1);
  v.set_submit_at_us(at("07:22:20"));
  v.set_eligible_at_us(at("07:22:20"));
  v.set_work_dir("/tmp/golden.8Ni8");
  v.set_std_in("/dev/null");
  v.set_std_out("/dev/null");
  if (state == wire::PENDING) return v;
  v.set_nodes("c1");
  v.set_allocated_memory_mib(50);
  v.set_start_at_us(at("07:22:21"));
  v.mutable_accounted()->set_started(true);
  return v;
}

class AcctGolden : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
    context_ = {.now_us = at("07:22:28"), .cluster = "clientsnew", .names = &names_};
    jobs_.push_back(job(86, "gold", wire::RUNNING, 4));
    add_step(jobs_.back(), batch_step, "batch", 2, wire::RUNNING);
    add_step(jobs_.back(), 0, "bash", 4, wire::COMPLETED);
    jobs_.push_back(job(88, "wrap", wire::PENDING, 1));
    jobs_.push_back(job(91, "wrap", wire::FAILED, 1));
    jobs_.back().set_exit_code(3);
    jobs_.back().set_end_at_us(at("07:22:21"));
    jobs_.back().set_submit_line("sbatch --parsable -t 5 --mem 50 -o /dev/null --wrap exit 3");
    add_step(jobs_.back(), batch_step, "batch", 1, wire::FAILED, 3);
    for (const std::uint32_t task : {1u, 2u}) {
      wire::JobView of_array = job(91 + task, "wrap", wire::RUNNING, 1);
      of_array.set_array_job_id(87);
      of_array.set_array_task(task);
      add_step(of_array, batch_step, "batch", 1, wire::RUNNING);
      jobs_.push_back(of_array);
    }
    wire::JobView rest = job(87, "wrap", wire::PENDING, 1);
    rest.set_array_job_id(87);
    rest.set_array_tasks("3-4%2");
    jobs_.push_back(rest);
  }

  std::string sacct(std::initializer_list<std::uint32_t> ids, const char* columns, TableStyle style,
                    bool only_jobs = false) {
    std::vector<AcctRow> rows;
    for (const wire::JobView& job : jobs_) {
      const std::uint32_t id = job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
      if (std::ranges::find(ids, id) == ids.end()) continue;
      rows.push_back({&job, nullptr, &context_});
      for (const wire::AccountedStep& step : job.accounted().steps())
        if (!only_jobs) rows.push_back({&job, &step, &context_});
    }
    return render_fields(*choose_fields(acct_fields(), columns), rows, style);
  }

  Names names_;
  AcctContext context_;
  std::vector<wire::JobView> jobs_;
};

TEST_F(AcctGolden, Sacct_tables) {
  compare("sacct-j.txt", sacct({86, 91}, sacct_default_fields, {}));
  compare("sacct-P.txt", sacct({86, 91, 87, 88}, sacct_default_fields, {.parsable = Parsable::without_end}));
  compare("sacct-X.txt", sacct({87, 91}, "JobID,JobIDRaw,State%20,ExitCode", {.header = false}, true));
  compare("sacct-bad.txt", sacct({}, sacct_default_fields, {.parsable = Parsable::without_end}));
}

TEST_F(AcctGolden, Sacct_of_cancelled_jobs) {
  for (wire::JobView& job : jobs_) {
    if (job.job_id() == 91 || job.job_id() == 88) continue;
    const char* clock = job.job_id() == 86 ? "07:22:35" : "07:22:33";
    job.set_state(wire::CANCELLED);
    job.set_end_at_us(at(clock));
    job.mutable_accounted()->set_cancelled_by(0);
    for (wire::AccountedStep& step : *job.mutable_accounted()->mutable_steps()) {
      if (step.step().state() != wire::RUNNING) continue;
      step.mutable_step()->set_state(wire::CANCELLED);
      step.set_end_at_us(at(clock));
      step.set_exit_signal(15);
    }
  }
  compare("sacct-cancelled.txt", sacct({86, 87}, "JobID,State,ExitCode,End", {.parsable = Parsable::without_end}));
  EXPECT_NE(sacct({86}, sacct_default_fields, {}).find("CANCELLED+"), std::string::npos)
      << "cut where the column is narrow";
}

TEST_F(AcctGolden, Sacct_long_table_has_the_same_columns) {
  const std::string ours = sacct({91}, sacct_long_fields, {.parsable = Parsable::without_end}),
                    theirs = recorded("sacct-l.txt");
  if (!theirs.empty()) {
    EXPECT_EQ(ours.substr(0, ours.find("91.batch")), theirs.substr(0, theirs.find("91.batch")));
  }
  compare("sacct-l.txt", ours, ours);  // what the script used was not seen there
}

// Every path that a real sacct has, and no other.
void paths_of(std::string_view json, std::vector<std::string>& out) {
  for (std::string_view line : split(json, '\n')) {
    line = trim(line);
    if (line.starts_with('"') && line.find("\": ") != std::string_view::npos)
      out.emplace_back(line.substr(1, line.find("\": ") - 1));
  }
}

TEST_F(AcctGolden, Sacct_json_has_the_keys_of_the_recording) {
  jobs_[2].mutable_accounted()->mutable_steps(0)->mutable_usage()->set_user_us(2240);
  std::vector<AcctRow> rows = {{&jobs_[2], nullptr, &context_}, {&jobs_[2], &jobs_[2].accounted().steps(0), &context_}};
  const std::string ours = to_json(Data{acct_data(rows)});
  std::vector<std::string> our_keys, their_keys;
  paths_of(ours, our_keys);
  std::string theirs = recorded("sacct-json.txt");
  if (theirs.empty()) return;
  paths_of(theirs.substr(0, theirs.find("\"meta\": {")), their_keys);
  for (auto* keys : {&our_keys, &their_keys}) {
    std::ranges::sort(*keys);
    keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
    std::erase_if(*keys, [](const std::string& key) { return key == "jobs"; });
  }
  EXPECT_EQ(our_keys, their_keys);
}

wire::Diagnostics diagnostics() {
  wire::Diagnostics d;
  d.set_now_us(at("07:22:32"));
  d.set_since_us(at("07:12:04"));
  d.set_threads(1);
  d.set_submitted(94), d.set_started(90), d.set_completed(58), d.set_cancelled(23);
  auto& main = *d.mutable_main();
  main.set_last_us(32), main.set_max_us(1817), main.set_total_us(28'362), main.set_count(423), main.set_total_depth(54),
      main.set_to_the_end(421);
  auto& backfill = *d.mutable_backfill();
  d.set_backfilled(32), d.set_backfilled_since_start(32), d.set_backfilled_components(10);
  backfill.set_count(22), backfill.set_last_at_us(at("07:19:14")), backfill.set_last_us(309), backfill.set_max_us(7367),
      backfill.set_total_us(29'995), backfill.set_last_depth(1);
  backfill.set_total_depth(32), backfill.set_last_queue(1), backfill.set_total_queue(31), backfill.set_last_table(1),
      backfill.set_total_table(32), backfill.set_to_the_end(22);
  d.set_clock_us(22);
  const auto add = [](auto* list, const char* name, std::uint32_t number, std::uint64_t count, std::int64_t total) {
    auto* calls = list->Add();
    calls->set_name(name), calls->set_number(number), calls->set_count(count), calls->set_total_us(total);
  };
  add(d.mutable_by_type(), "REQUEST_JOB_INFO", 2003, 62, 20'894);
  add(d.mutable_by_type(), "REQUEST_PARTITION_INFO", 2009, 141, 7996);
  add(d.mutable_by_user(), "", 0, 795, 322'707);
  return d;
}

TEST_F(AcctGolden, Sdiag_has_the_labels_that_exporters_look_for) {
  const wire::Diagnostics d = diagnostics();
  std::string theirs;
  const std::string recording = recorded("sdiag.txt");
  for (const std::string_view line : split(recording, '\n')) {
    const bool other_call = (line.starts_with("\tREQUEST_") || line.starts_with("\tMESSAGE_")) &&
                            !line.starts_with("\tREQUEST_JOB_INFO  ") && !line.starts_with("\tREQUEST_PARTITION_INFO ");
    if (!other_call) theirs += std::string{line} + '\n';
  }
  theirs.resize(theirs.empty() ? 0 : theirs.size() - 1);
  std::string ours = diagnostics_text(d, CallOrder::count, names_);
  // There the states were counted before the question.
  const std::size_t there = theirs.find("Job states ts:"), here = ours.find("Job states ts:");
  if (there != std::string::npos)
    theirs.replace(there, theirs.find('\n', there) - there, ours.substr(here, ours.find('\n', here) - here));
  compare("sdiag.txt", ours, theirs);
  EXPECT_LT(diagnostics_text(d, CallOrder::number, names_).find("JOB_INFO"),
            diagnostics_text(d, CallOrder::number, names_).find("PARTITION_INFO"));
  EXPECT_LT(diagnostics_text(d, CallOrder::total_time, names_).find("JOB_INFO"),
            diagnostics_text(d, CallOrder::total_time, names_).find("PARTITION_INFO"));
}

TEST_F(AcctGolden, Sdiag_json_has_the_keys_of_the_recording) {
  std::vector<std::string> our_keys, their_keys;
  paths_of(to_json(diagnostics_data(diagnostics(), names_)), our_keys);
  const std::string theirs = recorded("sdiag-json.txt");
  if (theirs.empty()) return;
  paths_of(theirs.substr(0, theirs.find("\"meta\": {")), their_keys);
  for (auto* keys : {&our_keys, &their_keys}) {
    std::ranges::sort(*keys);
    keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
    std::erase_if(*keys, [](const std::string& key) { return key == "statistics"; });
  }
  EXPECT_EQ(our_keys, their_keys);
}

wire::Accounts accounts() {
  wire::Accounts out;
  out.set_cluster("clientsnew");
  const auto add = [&](std::uint32_t id, std::uint32_t parent, const char* account, const char* user) {
    wire::AssociationView& view = *out.add_associations();
    wire::Association& a = *view.mutable_association();
    a.set_id(id), a.set_parent(parent), a.set_account(account), a.set_user(user), a.set_shares(1);
    a.set_is_default(id == 2);
    view.set_level_fs(-1);
    view.set_norm_shares(parent == 0 ? 0 : id == 4 ? 1'000'000'000 : 500'000'000);
    view.set_level_usage(parent == 0 ? 1'000'000'000 : 0);
    view.set_factor(1'000'000'000);
    if (parent == 0) a.add_qos(1);
    if (id == 1) a.set_description("default root account"), a.set_organization("root");
    if (id == 3) a.set_description("default"), a.set_organization("default");
  };
  add(1, 0, "root", "");
  add(2, 1, "root", "root");
  add(3, 1, "default", "");
  add(4, 3, "default", "root");
  wire::Qos& normal = *out.add_qos();
  normal.set_id(1), normal.set_name("normal"), normal.set_usage_factor_thousandths(1000);
  return out;
}

TEST_F(AcctGolden, Sacctmgr_and_sshare_tables) {
  const AccountBook book(accounts());
  const auto rows = [&](auto wanted) {
    std::vector<AssociationRow> out;
    for (const wire::AssociationView* view : book.in_tree_order)
      if (wanted(view->association())) out.push_back({&book, view, false});
    return out;
  };
  const auto everything = [](const wire::Association&) { return true; };
  const TableStyle style{.parsable = Parsable::without_end};
  const auto table = [&](const auto& list, const std::string& columns) {
    return render_fields(*choose_fields(association_fields(), columns), list, style);
  };
  compare("sacctmgr-assoc.txt", table(rows(everything), association_columns));
  auto only_accounts = rows([](const wire::Association& a) { return a.user().empty(); });
  std::ranges::sort(only_accounts, {}, [](const AssociationRow& row) { return row.association().account(); });
  compare("sacctmgr-acct.txt", table(only_accounts, account_columns));
  compare("sacctmgr-user.txt", table(rows([](const wire::Association& a) { return !a.user().empty(); }),
                                     std::string{user_columns} + "," + user_association_columns));
  compare("sacctmgr-qos.txt", render_fields(*choose_fields(qos_fields(), qos_columns),
                                            std::vector<QosRow>{{&book, &book.answer.qos(0)}}, style));
  std::vector<AssociationRow> shares = rows(everything);
  compare("sshare.txt", render_fields(*choose_fields(share_fields(), share_long_columns), shares, {}));
}

TEST_F(AcctGolden, Sprio_long_header) {
  std::string unknown, ours;
  const auto format = parse_short_format<PriorityRow>(std::string_view{sprio_long_format}, priority_columns(), unknown);
  append_header(ours, format);
  compare("sprio.txt", ours);
}

}  // namespace
}  // namespace millrace
