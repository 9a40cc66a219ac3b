// src/core/model/tres_test.cpp - resources as people write them, and words of limits.
#include "core/model/tres.h"

#include <gtest/gtest.h>

#include <set>

#include "core/model/account_change.h"
#include "core/model/limit_reason.h"

namespace millrace {
namespace {

TEST(Tres, A_limit_that_is_taken_away_is_read_back) {
  EXPECT_EQ(format_tres(*parse_tres("cpu=5,mem=-1")), "cpu=5,mem=-1");
}

TEST(Tres, Are_read_and_written_in_one_order) {
  const auto list = parse_tres("GRES/gpu=2,Mem=4G,cpu=10,node=-1");
  ASSERT_TRUE(list) << list.error().story;
  EXPECT_EQ(format_tres(*list), "cpu=10,mem=4G,node=-1,gres/gpu=2");
  EXPECT_EQ(format_tres_amount("mem", 1500), "1500M");
}

TEST(Tres, Wrong_ones_say_what_would_be_right) {
  EXPECT_EQ(parse_tres("tea=2").error().story,
            "'tea' is not a trackable resource; cpu, mem, node, billing, gres/NAME and license/NAME are");
  EXPECT_EQ(parse_tres("cpu").error().story, "'cpu' is not of the form name=amount, as in cpu=10 or gres/gpu=2");
  EXPECT_EQ(parse_tres("cpu=many").error().story, "'many' is not an amount of cpu");
}

TEST(Tres, Weights_keep_their_unit_exactly) {
  const auto weights = parse_tres_weights("CPU=1.5,Mem=0.25G,GRES/gpu=2");
  ASSERT_TRUE(weights) << weights.error().story;
  EXPECT_EQ((*weights)[1], (TresWeight{"mem", 250'000'000, 1024}));
  EXPECT_EQ(format_tres_weight((*weights)[0]), "cpu=1.5");
  EXPECT_EQ(format_tres_weight((*weights)[1]), "mem=0.25G");
  EXPECT_EQ(format_tres_weight((*weights)[2]), "gres/gpu=2");
  EXPECT_FALSE(parse_tres_weights("cpu=2G"));
}

TEST(LimitReason, Every_limit_has_its_word) {
  EXPECT_STREQ(slurm_word(limit_reason(LimitScope::association, LimitKind::grp_tres, "cpu")), "AssocGrpCpuLimit");
  EXPECT_STREQ(slurm_word(limit_reason(LimitScope::association, LimitKind::grp_tres_mins, "gres/gpu")),
               "AssocGrpGRESMinutes");
  EXPECT_STREQ(slurm_word(limit_reason(LimitScope::qos, LimitKind::max_jobs)), "QOSMaxJobsPerUserLimit");
  EXPECT_STREQ(slurm_word(limit_reason(LimitScope::qos, LimitKind::grp_tres, "node")), "QOSGrpNodeLimit");
  EXPECT_STREQ(slurm_word(limit_reason(LimitScope::qos, LimitKind::max_submit_per_account)), "MaxSubmitJobsPerAccount");
  EXPECT_STREQ(slurm_word(Reason::priority), "Priority");
}

TEST(AccountChange, Reads_names_conditions_and_settings) {
  const std::string_view words[] = {
      "modify", "user", "where", "name=alice,bob", "account=physics", "set", "GrpTRES=cpu=10,mem=4G", "qos+=high"};
  const auto change = parse_account_change(words);
  ASSERT_TRUE(change) << change.error().story;
  EXPECT_EQ(change->action, AccountAction::modify);
  ASSERT_EQ(change->where.size(), 2u);
  EXPECT_EQ(change->where[0].value, "alice,bob");
  ASSERT_EQ(change->set.size(), 2u);
  EXPECT_EQ(change->set[0].key, "grptres");
  EXPECT_EQ(change->set[0].value, "cpu=10,mem=4G");
  EXPECT_EQ(change->set[1].op, '+');
}

}  // namespace
}  // namespace millrace
