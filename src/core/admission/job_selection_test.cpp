// src/core/admission/job_selection_test.cpp - names of jobs, and what a request that names very many costs.
#include "core/admission/job_selection.h"

#include <gtest/gtest.h>

#include "core/admission/cancel_job.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

class Selection : public testing::Test {
 protected:
  Selection() {
    NodeDef node;
    node.name = "n";
    node.cpus = Cpus{4};
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    main.nodes = {"n"};
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{{node}, {main}, Policy{}, now_}});
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1}, "u", "g", {1}, "h", {}});
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    ask.array = "0-999";
    happen(decide(state_, ask, alice_, now_).value().events);
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }
  void hold(const SelectedJob& which) { happen(decide_hold(state_, which, true, alice_, now_).value()); }

  const Time now_{1'000'000};
  const Actor alice_{.uid = UserId{1000}};
  State state_;
};

TEST_F(Selection, Each_record_is_given_out_once_however_often_it_is_named) {
  JobSelector selector;
  EXPECT_EQ(selector.select(state_, {JobId{1}, "1-3"})->size(), 3u);
  EXPECT_EQ(selector.select(state_, {JobId{1}, "2-4"})->size(), 1u);
  EXPECT_TRUE(selector.select(state_, {JobId{1}, "[1,2,3]"})->empty());
  EXPECT_EQ(selector.select(state_, {JobId{1}, {}})->size(), 1u) << "the rest as a whole";
  EXPECT_TRUE(selector.select(state_, {JobId{1}, {}})->empty());
}

TEST_F(Selection, A_request_that_names_an_array_again_and_again_gets_no_further) {
  for (const char* tasks : {"0-999", "[0-998:2]", "0-1000", "0-999,999999"}) {
    JobSelector selector(10'000);
    int names = 0;
    for (; names < 65'536 && !selector.is_exhausted(); ++names) selector.select(state_, {JobId{1}, tasks});
    EXPECT_LE(names, 10'000) << tasks;
    const auto refused = selector.select(state_, {JobId{1}, {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().notes.at(0), "the request names too many jobs at once; name fewer in each");
  }
}

TEST_F(Selection, The_first_name_is_always_looked_up) {
  JobSelector selector(10);
  EXPECT_EQ(selector.select(state_, {JobId{1}, "0-899"})->size(), 900u);
  EXPECT_FALSE(selector.select(state_, {JobId{1}, "0"}));
}

TEST_F(Selection, To_hold_what_is_held_changes_nothing) {
  hold({JobKey{1}, {}});
  EXPECT_TRUE(decide_hold(state_, {JobKey{1}, {}}, true, alice_, now_)->empty());
  EXPECT_TRUE(decide_hold(state_, {JobKey{1}, 7}, true, alice_, now_)->empty()) << "nothing is split off for it";
}

}  // namespace
}  // namespace millrace
