// src/core/admission/change_account_test.cpp - what sacctmgr's words make of the tree, and what they are refused.
#include "core/admission/change_account.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "core/admission/charge_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

class Accounts : public testing::Test {
 protected:
  Accounts() {
    NodeDef node;
    node.name = "n0";
    node.cpus = Cpus{8};
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    main.nodes = {"n0"};
    Policy policy;
    policy.enforce = enforce_associations | enforce_limits | enforce_qos;
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{{node}, {main}, policy, now_}});
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) {
      apply(state_, event);
      EXPECT_EQ(broken_law(state_), std::nullopt);
    }
  }

  Result<AccountDecision> decide(std::string_view line, bool admin = true) {
    const auto words = split(line, ' ');
    const auto change = parse_account_change(words);
    if (!change) return std::unexpected(change.error());
    return decide_accounts(state_, *change, {UserId{admin ? 0u : 1000u}, admin}, now_);
  }
  std::string run(std::string_view line) {
    const auto decision = decide(line);
    if (!decision) return decision.error().story;
    happen(decision->events);
    return "";
  }
  std::expected<Charge, Refusal> charge(const std::string& user, const std::string& account, const std::string& qos) {
    JobSpec spec;
    spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1}, user, "g", {}, "h", {}});
    spec.account = account;
    return decide_charge(state_, spec, PartitionIndex{0}, qos);
  }

  State state_;
  Time now_{1'000'000'000};
};

TEST_F(Accounts, Grow_from_a_root_with_a_normal_QOS) {
  EXPECT_EQ(run("add account physics,chemistry fairshare=10"), "");
  EXPECT_EQ(run("add account optics parent=physics"), "");
  ASSERT_EQ(state_.associations.size(), 5u) << "with the account and the user root";
  EXPECT_EQ(default_account(state_, "root"), "root");
  EXPECT_EQ(state_.find_association(AssociationName{"physics", {}, {}})->parent,
            state_.find_association(AssociationName{"root", {}, {}})->id);
  EXPECT_NE(state_.find_qos("normal"), nullptr);
  EXPECT_EQ(decide("add account physics")->names.size(), 0u) << "it is there already";
}

TEST_F(Accounts, Give_a_job_its_default_account_and_QOS) {
  EXPECT_EQ(run("add account physics"), "");
  EXPECT_EQ(run("add qos high priority=10"), "");
  EXPECT_EQ(run("add account chemistry"), "");
  EXPECT_EQ(run("add user alice account=physics,chemistry"), "");
  EXPECT_EQ(charge("alice", "", "")->account, "physics");
  EXPECT_EQ(charge("alice", "Chemistry", "")->account, "chemistry");
  EXPECT_EQ(charge("alice", "", "")->qos, state_.find_qos("normal")->id);
  EXPECT_EQ(charge("alice", "", "high").error().code, RefusalCode::invalid_qos);
  EXPECT_EQ(run("modify user alice set qos+=high defaultaccount=chemistry"), "");
  EXPECT_EQ(charge("alice", "", "high")->account, "chemistry");
  EXPECT_EQ(charge("alice", "", "")->qos, state_.find_qos("normal")->id) << "+= keeps what was inherited";
  EXPECT_EQ(charge("bob", "", "").error().code, RefusalCode::invalid_account);
}

TEST_F(Accounts, Root_is_there_from_the_start_and_a_fact_with_the_first_change) {
  EXPECT_TRUE(decide("add account root")->names.empty());
  EXPECT_TRUE(decide("add account root")->events.empty());
  EXPECT_TRUE(decide("add user root account=root")->events.empty());
  EXPECT_TRUE(state_.associations.empty());
  EXPECT_EQ(run("modify account root set grpjobs=5"), "");
  EXPECT_EQ(state_.find_association(AssociationName{"root", {}, {}})->limits.grp_jobs, 5u);
  EXPECT_EQ(run("delete user root"), "");
  EXPECT_EQ(run("add account physics"), "");
  EXPECT_EQ(state_.find_association(AssociationName{"root", "root", {}}), nullptr)
      << "what was deleted does not grow again";
}

TEST_F(Accounts, Refuse_what_makes_no_sense) {
  EXPECT_EQ(run("add account physics"), "");
  EXPECT_EQ(run("add user alice"), "Need name of account to add user to.");
  EXPECT_EQ(run("add user alice account=law"), "This account 'law' doesn't exist.");
  EXPECT_EQ(run("add account optics parent=law"), "This parent account 'law' doesn't exist.");
  EXPECT_EQ(run("modify account physics set parent=physics"), "Account physics can not be moved below itself");
  EXPECT_EQ(run("modify account physics set colour=red"), "Unknown option: colour=red");
  EXPECT_EQ(run("modify account physics set grptres=gres/nic=3"),
            "grptres: gres/nic is not tracked; AccountingStorageTRES in slurm.conf names what is");
  EXPECT_EQ(run("modify account physics set maxjobs=many"),
            "'many' is not right for maxjobs, a number is, or -1 to clear the limit");
  EXPECT_EQ(run("modify account physics"), "You didn't give me anything to set");
  EXPECT_EQ(run("delete account root"), "The root account can not be removed");
  EXPECT_EQ(decide("add account optics", false).error().story, "Access/permission denied");
}

TEST_F(Accounts, Limits_are_set_replaced_and_cleared_one_by_one) {
  EXPECT_EQ(run("add account physics grptres=cpu=10,mem=4G maxwall=2-0"), "");
  const auto limits = [&] { return state_.find_association(AssociationName{"physics", {}, {}})->limits; };
  EXPECT_EQ(format_tres(limits().grp_tres), "cpu=10,mem=4G");
  EXPECT_EQ(limits().max_wall_minutes, 2880u);
  EXPECT_EQ(run("modify account physics set grptres=cpu=-1,node=2 maxwall=-1 grpjobs=3"), "");
  EXPECT_EQ(format_tres(limits().grp_tres), "mem=4G,node=2");
  EXPECT_EQ(limits().max_wall_minutes, std::nullopt);
  EXPECT_EQ(limits().grp_jobs, 3u);
}

TEST_F(Accounts, A_default_account_goes_only_with_its_users_or_after_they_have_another) {
  EXPECT_EQ(run("add account physics,chemistry,law"), "");
  EXPECT_EQ(run("add user alice account=physics,chemistry"), "");
  EXPECT_EQ(run("add user bob account=law"), "");
  const std::string refused = "You can not remove the default account of a user\n  A = physics U = alice";
  EXPECT_EQ(run("delete account physics"), refused);
  EXPECT_EQ(run("delete user alice account=physics"), refused);
  EXPECT_EQ(run("delete account law"), "") << "bob is nowhere else";
  EXPECT_EQ(run("modify user alice set defaultaccount=chemistry"), "");
  EXPECT_EQ(run("delete account physics"), "");
  EXPECT_EQ(default_account(state_, "alice"), "chemistry");
  EXPECT_EQ(run("delete user alice"), "") << "with all of hers";
}

TEST_F(Accounts, A_user_chooses_among_his_own_accounts_and_keys) {
  EXPECT_EQ(run("add account physics,theory,law"), "");
  EXPECT_EQ(run("add user alice account=physics,theory"), "");
  EXPECT_EQ(run("add user bob account=physics,theory"), "");
  Policy policy = *state_.policy;
  policy.track_wckeys = true;
  state_.policy = SharedValue(policy);
  EXPECT_EQ(run("modify user alice set wckeys=a,b"), "");
  const auto as_alice = [&](std::string_view line) -> std::string {
    const auto words = split(line, ' ');
    const auto decision =
        decide_accounts(state_, *parse_account_change(words), {.uid = UserId{1000}, .name = "alice"}, now_);
    if (!decision) return decision.error().story;
    happen(decision->events);
    return "";
  };
  EXPECT_EQ(as_alice("modify user alice set defaultaccount=theory"), "");
  EXPECT_EQ(default_account(state_, "alice"), "theory");
  EXPECT_EQ(as_alice("modify user where name=alice set defaultwckey=b"), "");
  EXPECT_EQ(state_.find_account_user("alice")->default_wckey, "b");
  EXPECT_EQ(as_alice("modify user alice set defaultwckey=c"), "User alice has no workload key c");
  EXPECT_EQ(as_alice("modify user alice set defaultaccount=law"), "User alice is not in account law");
  EXPECT_EQ(as_alice("modify user bob set defaultaccount=theory"), "Access/permission denied");
  EXPECT_EQ(as_alice("modify user alice,bob set defaultaccount=physics"), "Access/permission denied");
  EXPECT_EQ(as_alice("modify user alice set defaultaccount=physics maxjobs=5"), "Access/permission denied");
  EXPECT_EQ(as_alice("modify user alice set wckeys+=c"), "Access/permission denied");
}

TEST_F(Accounts, Every_change_is_kept_as_who_did_what) {
  EXPECT_EQ(run("add account physics"), "");
  EXPECT_EQ(run("add user alice account=physics fairshare=3"), "");
  EXPECT_EQ(run("modify user alice set maxjobs=5"), "");
  EXPECT_EQ(run("add account physics"), "") << "nothing is changed, and nothing is noted";
  ASSERT_EQ(state_.transactions.size(), 3u);
  const Transaction& added = *state_.transactions.at(TransactionId{2});
  EXPECT_EQ(added.action, "Add Users");
  EXPECT_EQ(added.where, "name='alice'");
  EXPECT_EQ(added.info, "acct='physics',fairshare='3'");
  EXPECT_EQ(added.actor, "0");
  EXPECT_EQ(added.accounts, "physics");
  EXPECT_EQ(added.users, "alice");
  EXPECT_EQ(state_.transactions.at(TransactionId{3})->action, "Modify Users");
  Transaction more = added;
  for (int i = 0; i < 10'010; ++i) {
    more.id = state_.next_transaction;
    apply(state_, TransactionNoted{more, now_});
  }
  EXPECT_EQ(state_.transactions.size(), 10'000u) << "the newest are kept";
}

TEST_F(Accounts, A_coordinator_changes_what_is_in_the_account_and_below) {
  EXPECT_EQ(run("add account physics,law"), "");
  EXPECT_EQ(run("add account optics parent=physics"), "");
  EXPECT_EQ(run("add user alice account=physics"), "");
  EXPECT_EQ(run("add coordinator account=physics names=bob"), "This user 'bob' doesn't exist.");
  EXPECT_EQ(run("add coordinator account=physics names=alice"), "");
  EXPECT_EQ(coordinated_by(state_, "alice"), (std::vector<std::string>{"optics", "physics"}));
  EXPECT_TRUE(decide("add coordinator account=physics names=alice")->names.empty()) << "she is one already";
  const auto as_alice = [&](std::string_view line) -> std::string {
    const auto words = split(line, ' ');
    const Actor alice{.uid = UserId{1000}, .name = "alice", .accounts = coordinated_by(state_, "alice")};
    const auto decision = decide_accounts(state_, *parse_account_change(words), alice, now_);
    if (!decision) return decision.error().story;
    happen(decision->events);
    return "";
  };
  EXPECT_EQ(as_alice("add user bob account=optics"), "");
  EXPECT_EQ(as_alice("modify user bob set maxjobs=2"), "");
  EXPECT_EQ(as_alice("add account lasers parent=optics"), "");
  EXPECT_EQ(as_alice("add user bob account=law"), "Access/permission denied");
  EXPECT_EQ(as_alice("modify account physics set grpjobs=3"), "Access/permission denied")
      << "her own account is its owner's";
  EXPECT_EQ(as_alice("modify account optics set grpjobs=3"), "");
  EXPECT_EQ(as_alice("add account more"), "Access/permission denied");
  EXPECT_EQ(as_alice("add qos high"), "Access/permission denied");
  EXPECT_EQ(as_alice("modify user bob set adminlevel=operator"), "Access/permission denied");
  EXPECT_EQ(as_alice("delete user bob account=optics"), "");
  EXPECT_EQ((*state_.transactions.at(TransactionId{state_.next_transaction.value - 1})).actor, "alice");
  EXPECT_EQ(run("delete coordinator account=physics names=alice"), "");
  EXPECT_EQ(as_alice("add user bob account=optics"), "Access/permission denied");
  EXPECT_EQ(run("add coordinator account=physics names=alice"), "");
  EXPECT_EQ(run("delete user alice"), "");
  EXPECT_TRUE(coordinated_by(state_, "alice").empty()) << "who is in no account coordinates none";
}

TEST_F(Accounts, A_user_has_a_level_and_workload_keys) {
  EXPECT_EQ(run("add account physics"), "");
  EXPECT_EQ(run("add user alice account=physics wckeys=a,b"),
            "wckeys: workload keys are not tracked; TrackWCKey=yes in slurm.conf does that");
  Policy policy = *state_.policy;
  policy.track_wckeys = true;
  state_.policy = SharedValue(policy);
  EXPECT_EQ(run("add user alice account=physics wckeys=b,a adminlevel=Operator"), "");
  const AccountUser* alice = state_.find_account_user("alice");
  ASSERT_NE(alice, nullptr);
  EXPECT_EQ(alice->admin_level, AdminLevel::operates);
  EXPECT_EQ(alice->wckeys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(decide_wckey(state_, "alice", "").value(), "*" + alice->default_wckey);
  EXPECT_EQ(decide_wckey(state_, "alice", "other").value(), "other") << "they are not enforced";
  EXPECT_EQ(decide_wckey(state_, "bob", "").value(), "");
  policy.enforce |= enforce_wckeys;
  state_.policy = SharedValue(policy);
  EXPECT_EQ(decide_wckey(state_, "alice", "other").error().code, RefusalCode::invalid_wckey);
  EXPECT_EQ(decide_wckey(state_, "bob", "").error().code, RefusalCode::invalid_wckey);
  EXPECT_EQ(run("modify user alice set defaultwckey=c"), "");
  EXPECT_EQ(decide_wckey(state_, "alice", "").value(), "*c");
  EXPECT_EQ(decide_wckey(state_, "alice", "c").value(), "c");
  EXPECT_EQ(run("modify user alice set adminlevel=king"),
            "'king' is not right for AdminLevel; None, Operator or Administrator is");
  EXPECT_EQ(run("delete user alice"), "");
  EXPECT_EQ(state_.find_account_user("alice"), nullptr);
}

}  // namespace
}  // namespace millrace
