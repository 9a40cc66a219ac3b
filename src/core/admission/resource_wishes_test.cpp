// src/core/admission/resource_wishes_test.cpp - requests for devices, features and licences: what is taken, what is
// refused, what is held.
#include "core/admission/resource_wishes.h"

#include <gtest/gtest.h>

#include "core/admission/accept_placement.h"
#include "core/admission/cancel_job.h"
#include "core/admission/modify_job.h"
#include "core/admission/parse_dependency.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"
#include "core/ledger/licences.h"
#include "core/model/gres_text.h"
#include "core/model/sluid.h"

namespace millrace {
namespace {

class Requests : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<NodeDef> nodes(2);
    PartitionDef main, other;
    main.name = "main";
    main.is_default = true;
    other.name = "other";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{8};
      nodes[i].sockets = 2;
      nodes[i].cores_per_socket = 4;
      nodes[i].kinds = *parse_node_gres("gpu:a100:4");
      nodes[i].features = i == 0 ? "ib" : "eth";
      main.nodes.push_back(nodes[i].name);
    }
    other.nodes = {"n1"};
    Policy policy;
    policy.licences = {{"foo", 2}};
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main, other}, policy, now_}});
    for (std::uint32_t i = 0; i < 2; ++i)
      happen(
          decide_register(state_, {NodeIndex{i}, "boot", {Cpus{8}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now_));
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) millrace::apply(state_, event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }

  SubmitJob asking(ResourceWishes wishes, std::uint32_t tasks = 0, std::uint32_t uid = 1) {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{uid}, GroupId{1}, "u", "g", {}, "h", {}});
    ask.spec.work_dir = "/";
    ask.spec.min_nodes = ask.spec.cpus_per_task = 0;
    ask.spec.tasks = tasks;
    ask.script_bytes = 1;
    ask.time_limit_minutes = 10;
    ask.wishes = std::move(wishes);
    return ask;
  }

  // The words of the refusal, or the key of the new job as a number.
  std::string submit(const SubmitJob& ask) {
    const auto decision = decide(state_, ask, {ask.spec.owner->uid, false}, now_);
    if (!decision)
      return decision.error().notes.empty() ? slurm_text(decision.error().code) : decision.error().notes.front();
    const JobKey key = state_.next_key;
    happen(decision->events);
    return std::to_string(key.value);
  }
  std::string submit(ResourceWishes wishes, std::uint32_t tasks = 0) {
    return submit(asking(std::move(wishes), tasks));
  }
  const JobSpec& last() const { return *state_.job(JobKey{state_.next_key.value - 1}).spec; }

  State state_;
  Time now_{1'000'000'000};
};

TEST_F(Requests, An_array_limit_of_zero_is_none) {
  SubmitJob ask = asking({});
  ask.array = "1-4%0";
  ASSERT_EQ(submit(ask), "1");
  EXPECT_EQ(state_.arrays.at(JobKey{1})->spec.throttle, 0u);
}

TEST_F(Requests, Processors_by_gpu_mean_nothing_without_gpus) {
  ASSERT_EQ(submit({.cpus_per_gpu = 2}), "1");
  EXPECT_EQ(last().cpus_per_task, 1u);
}

TEST_F(Requests, No_node_is_both_required_and_excluded) {
  SubmitJob ask = asking({});
  ask.required_nodes = "n0,n1";
  ask.excluded_nodes = "n1";
  EXPECT_EQ(submit(ask), "node n1 is both required and excluded");
  ask.required_nodes = "n0";
  ASSERT_EQ(submit(ask), "1");
  ModifyJob change;
  change.excluded_nodes = "n0";
  const auto decision = decide_modify(state_, {JobKey{1}, {}, false}, change, {UserId{1}, false}, now_);
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, RefusalCode::invalid_node_name);
  change.excluded_nodes = "n1";
  EXPECT_TRUE(decide_modify(state_, {JobKey{1}, {}, false}, change, {UserId{1}, false}, now_));
}

TEST_F(Requests, Dependencies_in_every_way_they_are_written) {
  ASSERT_EQ(submit(asking({})), "1");
  ASSERT_EQ(submit(asking({})), "2");
  const auto shown = [&](std::string_view text) -> std::string {
    const auto parsed = parse_dependencies(state_, text);
    if (!parsed) return "refused";
    std::string out;
    for (const Dependency& d : parsed->list)
      out += (out.empty() ? "" : ",") + std::to_string(static_cast<int>(d.kind)) + ":" + std::to_string(d.shown.value) +
             "+" + std::to_string(d.delay_minutes);
    return out;
  };
  const std::string any = std::to_string(static_cast<int>(DependencyKind::afterany)),
                    ok = std::to_string(static_cast<int>(DependencyKind::afterok));
  EXPECT_EQ(shown("1"), any + ":1+0");
  EXPECT_EQ(shown("1,2"), any + ":1+0," + any + ":2+0");
  EXPECT_EQ(shown("AFTEROK:1,2"), ok + ":1+0," + any + ":2+0");
  EXPECT_EQ(shown("afterok:1+5"), ok + ":1+5");
  EXPECT_EQ(shown("afterany:1:1,AfterAny:1,afterok:1"), any + ":1+0," + ok + ":1+0");
  EXPECT_EQ(shown("Singleton,singleton"), std::to_string(static_cast<int>(DependencyKind::singleton)) + ":0+0");
  for (const std::string_view bad : {"1?2", "1+5", "1:2", "afterok:1+x", "afterany:1:", "afterok", "7"})
    EXPECT_EQ(shown(bad), "refused") << bad;
  const std::string sluid = sluid_text(state_.find_job(JobId{2})->key.value);
  EXPECT_EQ(shown("afterok:" + sluid + "+5," + sluid), ok + ":2+5," + any + ":2+0");
  const auto why = [&](std::string_view text) { return parse_dependencies(state_, text).error().notes.front(); };
  EXPECT_EQ(why("afterok:s0000000000ZZZ"), "dependency on 's0000000000ZZZ': no such job");
  EXPECT_EQ(why("afterok:s0000000000ZZU"), "dependency on 's0000000000ZZU': SLUID is invalid");
}

TEST_F(Requests, A_job_waits_for_so_many_others_at_most) {
  std::string text = "afterok";
  for (std::size_t i = 1; i <= dependencies_most + 1; ++i) {
    ASSERT_EQ(submit(asking({})), std::to_string(i));
    text += ":" + std::to_string(i);
  }
  const auto why = [&](const std::string& wish) -> std::string {
    const auto parsed = parse_dependencies(state_, wish);
    return parsed ? std::to_string(parsed->list.size()) : parsed.error().notes.front();
  };
  const std::string too_many = "a job waits for 1000 others at most; use an array or an intermediate job";
  EXPECT_EQ(why(text), too_many);
  EXPECT_EQ(why(text.substr(0, text.rfind(':'))), "1000");
  EXPECT_EQ(why("afterok:1" + std::string(100'000, ':')), too_many);  // before a word of it is looked at
}

TEST_F(Requests, The_jobs_of_one_user_wait_for_so_many_others_in_all) {
  for (int i = 1; i <= 10; ++i) ASSERT_EQ(submit(asking({})), std::to_string(i));
  SubmitJob ask = asking({}, 0, 7);
  ask.dependency = "afterany:1:2:3:4:5:6:7:8:9:10";
  for (int i = 11; i <= 13; ++i) ASSERT_EQ(submit(ask), std::to_string(i));
  const DependencyLimits limits{.of_user = 40, .in_all = 60};
  const auto why = [&](std::uint32_t uid, std::uint64_t more) -> std::string {
    const auto room = check_dependency_room(state_, UserId{uid}, more, limits);
    return room ? "may" : room.error().notes.front();
  };
  EXPECT_EQ(why(7, 10), "may");
  EXPECT_TRUE(why(7, 11).contains("waiting jobs of one user have 40 dependencies at most")) << why(7, 11);
  EXPECT_EQ(why(8, 30), "may");
  EXPECT_TRUE(why(8, 31).contains("60 are the most")) << why(8, 31);
  ASSERT_EQ(submit(asking({}, 0, 8)), "14");
  EXPECT_EQ(why(8, 0), "may");
  ASSERT_TRUE(decide_cancel(state_, {state_.find_job(JobId{11})->key, std::nullopt}, {UserId{0}, true}, now_));
  happen(*decide_cancel(state_, {state_.find_job(JobId{11})->key, std::nullopt}, {UserId{0}, true}, now_));
  EXPECT_EQ(why(7, 20), "may") << "what is over waits no more";
}

// What is asked when a job is submitted, with the usual limits.
TEST_F(Requests, A_submission_beyond_what_a_user_may_wait_for_is_refused_in_words) {
  ASSERT_EQ(submit(asking({}, 0, 7)), "1");
  Dependency one;
  one.kind = DependencyKind::afterany;
  one.target = JobKey{1};
  const JobKey key = state_.next_key;
  SubmitJob ask = asking({}, 0, 7);
  ask.dependency = "afterany:1";
  ASSERT_EQ(submit(ask), "2");
  state_.edit_job(key).dependencies = SharedValue(Dependencies{false, std::vector<Dependency>(200'000, one)});
  for (std::uint64_t i = 0; i < 200'000; ++i) state_.dependents.set({JobKey{1}, JobKey{1'000 + i}}, {});
  const auto refused = decide(state_, ask, {UserId{7}, false}, now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::dependency);
  EXPECT_TRUE(refused.error().notes.front().contains("one user")) << refused.error().notes.front();
  SubmitJob of_other = asking({}, 0, 8);
  of_other.dependency = "afterany:1";
  EXPECT_TRUE(decide(state_, of_other, {UserId{8}, false}, now_));
}

// A thousand jobs that wait for each other in every way an order allows: each is looked at once.
TEST_F(Requests, A_circle_is_found_through_any_number_of_ways) {
  std::string earlier = "afterok";
  constexpr int jobs = 200;
  for (int i = 1; i <= jobs; ++i) {
    SubmitJob ask = asking({});
    if (i > 1) ask.dependency = earlier;
    ASSERT_EQ(submit(ask), std::to_string(i));
    earlier += ":" + std::to_string(i);
  }
  ModifyJob change;
  change.dependency = "afterok:" + std::to_string(jobs);
  const auto circle = decide_modify(state_, {JobKey{1}, {}, false}, change, {UserId{1}, false}, now_);
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error().code, RefusalCode::circular_dependency);
  change.dependency = "afterok:1";
  EXPECT_TRUE(decide_modify(state_, {JobKey{jobs}, {}, false}, change, {UserId{1}, false}, now_));
}

TEST_F(Requests, Numbers_of_tasks_and_gpus_follow_from_each_other) {
  submit({.gpus = "4", .gpus_per_task = "2"});
  EXPECT_EQ(last().tasks, 2u);
  submit({.gpus = "2", .tasks_per_gpu = 3});
  EXPECT_EQ(last().tasks, 6u);
  submit({.tasks_per_gpu = 2}, 5);
  EXPECT_EQ(format_asks(last().resource_request().gres, GresScope::job), "gres/gpu:3");
  submit({.gpus = "8", .gpus_per_node = "4"});
  EXPECT_EQ(last().min_nodes, 2u);
  submit({.tres_per_task = "cpu:2,gres/gpu:1"}, 2);
  EXPECT_EQ(last().cpus_per_task, 2u);
  EXPECT_EQ(submit({.gpus = "5", .gpus_per_task = "2"}), "5 gpus in all, but 2 tasks with 2 each");
  EXPECT_EQ(submit({.gpus_per_socket = "1"}), "--gpus-per-socket needs --sockets-per-node");
  EXPECT_EQ(submit({.memory_per_gpu = 2}), "--mem-per-gpu needs a number of gpus");
}

TEST_F(Requests, What_can_never_be_had_is_refused_with_the_nearest_that_can) {
  EXPECT_EQ(submit({.gres = "gpu:8"}), "no node has 8 gpu; the most is 4 on n[0-1]");
  EXPECT_EQ(submit({.gpus = "9"}), "partition main has 8 gpu in all, 9 were asked for");
  EXPECT_EQ(submit({.features = "ib&eth"}), "no node of partition main is of this kind: features ib&eth");
  EXPECT_EQ(submit({.features = "ib&x"}), "no node has the feature 'x'; there is: eth, ib");
  EXPECT_EQ(submit({.licences = "foo:3"}), "there are only 2 of license foo");
  EXPECT_EQ(submit({.features = "ib*2"}), "fewer than 2 nodes of partition main have what 'ib*2' counts");
  EXPECT_EQ(submit({.distribution = "sideways"}).substr(0, 31), "distribution 'sideways': 'sidew");
}

TEST_F(Requests, A_list_has_a_node_for_each_task) {
  const auto with = [&](const std::string& list, std::uint32_t tasks) {
    SubmitJob ask = asking({.distribution = "arbitrary", .task_nodes = list}, tasks);
    ask.spec.min_nodes = ask.spec.max_nodes = 2;
    return submit(ask);
  };
  ASSERT_EQ(with("n1,n0,n1", 3), "1");
  EXPECT_EQ(last().resource_request().task_nodes, (std::vector<std::uint32_t>{1, 0, 1}));
  EXPECT_EQ(with("n1,n0,n1", 2), "--distribution=arbitrary: 2 tasks, but 3 nodes are listed");
  ASSERT_EQ(with("n1,n0,n1", 0), "2");
  EXPECT_EQ(last().tasks, 3u) << "as many as the list has, where nothing else is said";
  EXPECT_EQ(with("n1,y,x", 3), "no such node: y");
  EXPECT_EQ(with("n1,y,x", 4), "--distribution=arbitrary: 4 tasks, but 3 nodes are listed") << "none is looked up";
}

TEST_F(Requests, Names_of_many_nodes_are_found_as_those_of_one) {
  std::vector<NodeDef> defs = {*state_.node(NodeIndex{1}).def};
  happen({ClusterConfigured{defs, {}, {}, now_}});  // n0 is configured no longer
  const std::vector<std::string> names{"n1", "n1", "x", "n0", "n1", "", "x"};
  const auto found = find_nodes(state_, names);
  ASSERT_EQ(found.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(found[i], state_.find_node(names[i])) << names[i];
  EXPECT_EQ(found[0], NodeIndex{1});
  EXPECT_TRUE(find_nodes(state_, {}).empty());
}

TEST_F(Requests, Several_partitions_those_without_a_required_node_excepted) {
  SubmitJob ask = asking({});
  ask.partition = "main,other";
  submit(ask);
  EXPECT_EQ(last().resource_request().more_partitions, (std::vector<std::uint32_t>{1}));
  ask.required_nodes = "n0";
  submit(ask);
  EXPECT_TRUE(last().resource_request().more_partitions.empty());
  EXPECT_EQ(last().partition, PartitionIndex{0});
}

TEST_F(Requests, A_placement_names_its_cpus_devices_and_licences_and_gives_them_back) {
  const JobKey key{std::stoull(submit({.gres = "gpu:2", .licences = "foo"}))};
  NodeShare share{NodeIndex{0}, Cpus{1}, {}, 1, false, SharedValue(ShareDetail{{}, {}, {2}})};
  happen(decide_place(state_, {key, Attempt{0}, {share}, false}, now_));
  const Job& job = state_.job(key);
  ASSERT_EQ(job.state, JobState::running);
  EXPECT_EQ(job.placement->shares[0].detail->devices[0], 3u);
  EXPECT_EQ(job.placement->shares[0].detail->cpus, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(licences_free(state_).front().count, 1u);
  EXPECT_EQ(state_.node(NodeIndex{0}).use.devices[0], 3u);
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0}, now_));
  EXPECT_EQ(licences_free(state_).front().count, 2u);
  EXPECT_EQ(state_.node(NodeIndex{0}).use, NodeUse{});
}

TEST_F(Requests, A_proposal_that_cannot_be_had_says_what_it_waits_for) {
  const auto place = [&](const std::string& key, std::uint32_t node) {
    Reason why = Reason::none;
    const auto events = decide_place(
        state_, {JobKey{std::stoull(key)}, Attempt{0}, {{NodeIndex{node}, Cpus{1}, {}, 1}}, false}, now_, &why);
    happen(events);
    return events.empty() ? std::string{slurm_word(why)} : "placed";
  };
  EXPECT_EQ(place(submit({.licences = "foo:2"}), 0), "placed");
  EXPECT_EQ(place(submit({.licences = "foo"}), 0), "Licenses");
  EXPECT_EQ(place(submit({.features = "eth"}), 0), "BadConstraints");
  EXPECT_EQ(place(submit(asking({.exclusive_user = true}, 0, 7)), 1), "placed");
  EXPECT_EQ(place(submit(asking({})), 1), "Resources") << "a node of user 7 alone";
  EXPECT_EQ(place(submit(asking({}, 0, 7)), 1), "placed");
}

TEST_F(Requests, An_update_changes_only_what_it_says) {
  const JobKey key{std::stoull(submit({.gres = "gpu:2", .features = "ib", .licences = "foo"}))};
  ModifyJob change;
  change.wishes.gres = "gpu:1";
  change.wishes.features = "eth";
  const auto decision = decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_);
  ASSERT_TRUE(decision);
  happen(*decision);
  const ResourceRequest& request = state_.job(key).spec->resource_request();
  EXPECT_EQ(format_asks(request.gres, GresScope::node), "gres/gpu:1");
  EXPECT_EQ(request.features, "eth");
  EXPECT_EQ(request.licences.size(), 1u);
  change.wishes.gres = "gpu:5";
  EXPECT_FALSE(decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_));
}

TEST_F(Requests, Words_of_a_job_change_while_it_runs_and_some_only_by_an_administrator) {
  const JobKey key{std::stoull(submit(ResourceWishes{}))};
  happen(decide_place(state_, {key, Attempt{0}, {{NodeIndex{0}, Cpus{1}, {}, 1}}, false}, now_));
  ModifyJob change;
  change.change.comment = "c";
  change.extras = [](JobExtras& extras) { extras.extra = "x"; };
  const auto words = decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_);
  ASSERT_TRUE(words);
  happen(*words);
  change.extras = [](JobExtras& extras) { extras.admin_comment = "a"; };
  change.admin_words = true;
  EXPECT_FALSE(decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_));
  const auto admin = decide_modify(state_, {key, {}}, change, {UserId{0}, true}, now_);
  ASSERT_TRUE(admin);
  happen(*admin);
  EXPECT_EQ(state_.job(key).spec->extra_request().extra, "x") << "what is not said stays";
  EXPECT_EQ(state_.job(key).spec->extra_request().admin_comment, "a");
}

TEST_F(Requests, An_end_time_is_a_time_limit_from_the_start) {
  const JobKey key{std::stoull(submit(ResourceWishes{}))};
  ModifyJob change;
  change.end_at = now_ + minutes(5);
  EXPECT_FALSE(decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_)) << "one that waits has no end";
  happen(decide_place(state_, {key, Attempt{0}, {{NodeIndex{0}, Cpus{1}, {}, 1}}, false}, now_));
  const auto shorter = decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_);
  ASSERT_TRUE(shorter);
  happen(*shorter);
  EXPECT_EQ(state_.job(key).time_limit_minutes, 5u);
  change.end_at = now_ + minutes(50);
  EXPECT_FALSE(decide_modify(state_, {key, {}}, change, {UserId{1}, false}, now_))
      << "only an administrator may give it more";
}

}  // namespace
}  // namespace millrace
