// src/cli/render/golden_cluster.h - for tests: the cluster of the recordings as its controller would describe it, and
// how output is compared with them.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/render/columns.h"
#include "cli/render/job_words.h"
#include "cli/render/node_columns.h"
#include "cli/render/show_records.h"

namespace millrace {

// A compiler cache may have made the path relative to the folder of the build, which is where this program lies.
inline std::filesystem::path repository() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path() / __FILE__;
  return std::filesystem::weakly_canonical(here).parent_path().parent_path().parent_path().parent_path();
}
inline std::filesystem::path recordings() { return repository().parent_path() / "shared/compat/golden"; }

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// What the command printed: without the line that names it and the one with its exit code.
inline std::string recorded(const std::string& name) {
  std::string text = slurp(recordings() / name);
  text.erase(0, text.find('\n') + 1);
  return text.substr(0, text.rfind("# rc="));
}

inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

inline std::int64_t at(const char* clock, int day = 15) {
  tm parts{};
  parts.tm_year = 126, parts.tm_mon = 10, parts.tm_mday = day;
  std::sscanf(clock, "%d:%d:%d", &parts.tm_hour, &parts.tm_min, &parts.tm_sec);
  return static_cast<std::int64_t>(timegm(&parts)) * 1'000'000;
}

inline wire::JobView job(std::uint32_t id, const char* name, wire::JobStateName state) {
  wire::JobView v;
  v.set_job_id(id);
  v.set_name(name);
  v.set_user_name("root");
  v.set_group_name("root");
  v.set_state(state);
  v.set_reason("None");
  v.set_partition("main");
  v.set_node_count(1);
  v.set_time_limit_minutes(5);
  v.set_priority(1);
  v.set_submit_at_us(at("07:22:20"));
  v.set_eligible_at_us(at("07:22:20"));
  v.set_account("root");
  v.set_qos("normal");
  v.set_requeue(true);
  v.set_batch(true);
  v.set_work_dir("/tmp/golden.8Ni8");
  v.set_std_in("/dev/null");
  v.set_std_out("/dev/null");
  v.set_submit_host("localhost");
  v.set_submit_sid(4182);
  v.set_cpus(1);
  v.set_requested_cpus(1);
  v.set_requested_nodes(1);
  v.set_tasks(1);
  v.set_cpus_per_task(1);
  v.set_min_cpus_per_node(1);
  v.set_memory_per_node_mib(50);
  v.set_requested_memory_mib(50);
  v.set_last_evaluated_us(at("07:22:21"));
  if (state != wire::PENDING) {
    v.set_nodes("c1");
    v.set_batch_host("c1");
    v.set_allocated_memory_mib(50);
    v.set_start_at_us(at("07:22:21"));
    v.set_end_at_us(at("07:27:21"));
  }
  return v;
}

// The cluster of the recordings, as its controller would describe it.
class Golden : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
    make_jobs();
    make_nodes();
    context_ = {at("07:22:28"), "clientsnew", &names_};
  }

  void make_jobs() {
    wire::JobView rest = job(87, "wrap", wire::PENDING);
    rest.set_array_job_id(87);
    rest.set_array_tasks("3-4%2");
    rest.set_array_throttle(2);
    rest.set_reason("JobArrayTaskLimit");
    rest.clear_eligible_at_us();
    rest.set_accrue_at_us(at("07:22:21"));
    rest.set_submit_line("sbatch --parsable --array=1-4%2 -t 5 --mem 50 -o /dev/null --wrap sleep 20");

    wire::JobView dependent = job(89, "wrap", wire::PENDING);
    dependent.set_reason("Dependency");
    dependent.set_dependency("afterok:88(unfulfilled)");
    dependent.clear_eligible_at_us();
    dependent.set_last_evaluated_us(at("07:22:20"));
    dependent.set_submit_line("sbatch --parsable -d afterok:88 -t 5 --mem 50 -o /dev/null --wrap true");

    wire::JobView held = job(88, "wrap", wire::PENDING);
    held.set_reason("JobHeldUser");
    held.set_priority(0);
    held.clear_eligible_at_us();
    held.set_time_limit_minutes(1564);
    held.set_max_node_count(1);
    held.set_last_evaluated_us(at("07:22:20"));
    held.set_submit_line("sbatch --parsable -H -t 1-02:03:04 --mem 50 -o /dev/null --wrap true");

    wire::JobView big = job(86, "gold", wire::RUNNING);
    big.set_nodes("c[1-2]");
    big.set_node_count(2);
    big.set_cpus(4);
    big.set_requested_cpus(4);
    big.set_requested_nodes(2);
    big.set_tasks(4);
    big.set_tasks_per_node(2);
    big.set_min_cpus_per_node(2);
    big.set_memory_per_node_mib(100);
    big.set_requested_memory_mib(200);
    big.set_allocated_memory_mib(200);
    big.set_cpus_per_task_asked(true);
    big.set_time_limit_minutes(10);
    big.set_end_at_us(at("07:32:21"));
    big.set_comment("a b");
    big.set_command("/tmp/golden.8Ni8/g.sh");
    big.set_submit_line("sbatch --parsable g.sh a1 a2");
    big.set_std_out("/tmp/golden.8Ni8/g.86.out");

    wire::JobView one = job(92, "wrap", wire::RUNNING), two = job(93, "wrap", wire::RUNNING);
    for (wire::JobView* task : {&one, &two}) {
      task->set_array_job_id(87);
      task->set_array_task(task == &one ? 1 : 2);
      task->set_array_throttle(2);
      task->set_eligible_at_us(at("07:22:21"));
      task->set_submit_line(rest.submit_line());
    }
    wire::JobView gpu = job(90, "wrap", wire::RUNNING);
    gpu.mutable_resources()->set_tres_per_node("gres/gpu:1");
    gpu.mutable_resources()->set_requested_gres_tres("gres/gpu=1");
    gpu.mutable_resources()->set_allocated_gres_tres("gres/gpu=1");
    jobs_ = {rest, dependent, held, big, one, gpu, two};
    failed_ = job(91, "wrap", wire::FAILED);
    failed_.set_reason("NonZeroExitCode");
    failed_.set_exit_code(3);
    failed_.set_end_at_us(at("07:22:21"));
    failed_.set_submit_line("sbatch --parsable -t 5 --mem 50 -o /dev/null --wrap exit 3");
  }

  void make_nodes() {
    for (int i = 1; i <= 4; ++i) {
      wire::NodeView node;
      node.set_name("c" + std::to_string(i));
      node.set_address("127.0.0.1");
      node.set_host_name("vm");
      node.set_port(static_cast<std::uint32_t>(37000 + i));
      node.set_base(i <= 2 ? wire::NodeView::MIXED : wire::NodeView::IDLE);
      node.set_cpus(8);
      node.set_boards(1);
      node.set_sockets(8);
      node.set_cores_per_socket(1);
      node.set_threads_per_core(1);
      node.set_memory_mib(4000);
      node.set_weight(1);
      node.set_gres("gpu:2");
      node.set_gres_tres("gres/gpu=2");
      if (i == 1) node.set_allocated_gres_tres("gres/gpu=1");
      node.set_arch("x86_64");
      node.set_os("Linux 6.18.44-fc-v445 #1 SMP PREEMPT_DYNAMIC @0");
      node.set_version("26.11.0-0rc1");
      node.set_boot_at_us(at("06:24:24"));
      node.set_agent_started_at_us(at("07:12:04"));
      node.add_partitions("main");
      node.add_partitions(i <= 2 ? "debug" : "gpu");
      constexpr std::uint32_t cpus[] = {5, 2, 0, 0}, load[] = {531, 412, 482, 482},
                              free[] = {18593, 20812, 19796, 19796}, used[] = {250, 100, 0, 0};
      constexpr const char* busy[] = {"07:22:11", "07:19:11", "07:17:49", "07:12:04"};
      node.set_allocated_cpus(cpus[i - 1]);
      node.set_allocated_memory_mib(used[i - 1]);
      node.mutable_telemetry()->set_load_hundredths(load[i - 1]);
      node.mutable_telemetry()->set_free_memory_mib(free[i - 1]);
      node.set_last_busy_us(at(busy[i - 1]));
      nodes_.push_back(node);
    }
    const auto add = [&](const char* name, const char* nodes, std::uint32_t count, std::uint32_t limit,
                         std::uint32_t usual) {
      wire::PartitionView p;
      p.set_name(name);
      p.set_is_default(partitions_.empty());
      p.set_nodes(nodes);
      p.set_node_count(count);
      p.set_cpu_count(count * 8);
      p.set_memory_mib(count * 4000u);
      p.set_max_time_minutes(limit);
      p.set_default_time_minutes(usual);
      p.set_max_nodes(UINT32_MAX);
      p.set_gres_tres("gres/gpu=" + std::to_string(count * 2));
      p.set_priority_tier(1);
      p.set_priority_job_factor(1);
      partitions_.push_back(p);
    };
    add("main", "c[1-4]", 4, UINT32_MAX, 60);
    add("debug", "c[1-2]", 2, 30, 0);
    add("gpu", "c[3-4]", 2, 1440, 0);
  }

  std::vector<JobRow> rows() {
    std::vector<JobRow> out;
    for (const auto& view : jobs_) out.push_back({&view, {}, &context_});
    return out;
  }

  std::string queue(std::string_view long_format, bool header = true) {
    std::vector<std::string> unknown;
    auto list = rows();
    std::string wrong;
    sort_jobs(list, "P,t,-p", wrong);
    return render_jobs(list, parse_long_format(long_format, job_columns(), unknown), header);
  }

  std::string sinfo(NodeViewOptions options, std::string format = "", std::string_view sort = "#P,-t") {
    NodeListing listing;
    for (const auto& p : partitions_) listing.partitions.push_back(&p);
    for (const auto& n : nodes_) listing.nodes.push_back(&n);
    listing.show_empty = !options.per_node && !options.reasons;
    std::vector<std::string> unknown;
    std::string letters;
    const bool own = format.empty();
    auto fields = own ? parse_long_format<NodeGroup>(sinfo_default_format(options), node_columns(), unknown)
                  : format[0] == '%' ? parse_short_format<NodeGroup>(format, node_columns(), letters)
                                     : parse_long_format<NodeGroup>(format, node_columns(), unknown);
    EXPECT_TRUE(unknown.empty() && letters.empty());
    NodeContext context{&names_, "clientsnew"};
    auto groups = group_nodes(listing, fields, options, context);
    sort_groups(groups, options.per_node ? "N,#P" : sort);
    if (own) widen(fields, groups);
    return render_groups(groups, fields, own);
  }

  // Against the recording where there is one, and against our own copy in tests/golden in any case.
  void compare(const std::string& name, const std::string& ours, std::string theirs) {
    if (std::filesystem::exists(recordings() / name))
      EXPECT_EQ(ours, theirs) << name;
    else
      std::puts(("  no recording " + name + " here: compared with our fixture only").c_str());
    const auto fixture = repository() / "tests/golden/cli" / name;
    if (std::getenv("MR_UPDATE_GOLDEN") != nullptr) std::ofstream(fixture) << ours;
    EXPECT_EQ(ours, slurp(fixture)) << name << ": fixture; MR_UPDATE_GOLDEN=1 writes it anew";
  }
  void compare(const std::string& name, const std::string& ours) { compare(name, ours, recorded(name)); }

  // The script of each running job, in the order of the recording.
  std::vector<wire::StepView> steps() {
    std::vector<wire::StepView> out;
    for (const std::size_t i : {3u, 4u, 5u, 6u}) {
      wire::StepView step;
      step.set_job_id(jobs_[i].job_id());
      step.set_array_job_id(jobs_[i].array_job_id());
      if (jobs_[i].has_array_task()) step.set_array_task(jobs_[i].array_task());
      step.set_step(0xfffffffbu);
      step.set_name("batch");
      step.set_user_name("root");
      step.set_partition("main");
      step.set_nodes("c1");
      step.set_node_count(1);
      step.set_tasks(1);
      step.set_state(wire::RUNNING);
      step.set_start_at_us(at("07:22:21"));
      out.push_back(std::move(step));
    }
    return out;
  }

  std::string show(const wire::JobView& view, const char* clock, ShowOptions options = {}) {
    return show_job(view, at(clock), names_, options);
  }

  Names names_;
  JobContext context_;
  std::vector<wire::JobView> jobs_;
  wire::JobView failed_;
  std::vector<wire::NodeView> nodes_;
  std::vector<wire::PartitionView> partitions_;
};

}  // namespace millrace
