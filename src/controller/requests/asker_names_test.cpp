// src/controller/requests/asker_names_test.cpp - whose rights by sacctmgr somebody has, when his number was another's
// before.
#include "controller/requests/asker_names.h"

#include <gtest/gtest.h>

#include "controller/controller_fixture.h"

namespace millrace {
namespace {

constexpr Time now{5'000'000};

TEST(AskerNames, A_name_is_looked_up_again_after_ten_minutes) {
  AskerNames names;
  EXPECT_TRUE(names.wants(UserId{7}, now));
  names.learn(UserId{7}, "anna", now);
  EXPECT_FALSE(names.wants(UserId{7}, now + seconds(599)));
  EXPECT_TRUE(names.wants(UserId{7}, now + seconds(600)));
  ASSERT_NE(names.find(UserId{7}), nullptr);
  EXPECT_EQ(*names.find(UserId{7}), "anna");
  names.learn(UserId{7}, "bert", now + seconds(600));
  EXPECT_EQ(*names.find(UserId{7}), "bert");
  EXPECT_FALSE(names.wants(UserId{7}, now + seconds(601)));
}

TEST(AskerNames, They_are_bounded_in_number) {
  AskerNames names;
  for (std::uint32_t uid = 1; uid <= 30'000; ++uid) names.learn(UserId{uid}, "u", now);
  EXPECT_LE(names.size(), 10'000u);
  EXPECT_NE(names.find(UserId{30'000}), nullptr);
}

class RightsOfNames : public ControllerTest {
 protected:
  RightsOfNames() {
    hooks.reconfigure = [this]() -> Result<Reconfiguration> { return Reconfiguration{nodes_named(nodes), {}}; };
    state.account_users.edit().push_back(AccountUser{.name = "alice", .admin_level = AdminLevel::administers});
    start();
  }
  bool may(UserId uid) {
    wire::Request request;
    request.mutable_update_node()->set_nodes("n1");
    request.mutable_update_node()->set_comment("c");
    return !ask(uid, request).has_failure();
  }
  void pass_minutes(int count) {
    for (int i = 0; i < count * 20; ++i) run();
  }
};

TEST_F(RightsOfNames, Who_gets_the_number_of_an_administrator_does_not_get_the_rights) {
  EXPECT_TRUE(may(UserId{1000}));
  identities.name = "bert";
  pass_minutes(11);
  EXPECT_FALSE(may(UserId{1000}));
}

TEST_F(RightsOfNames, Reading_the_configuration_again_looks_up_all_names) {
  EXPECT_TRUE(may(UserId{1000}));
  identities.name = "bert";
  wire::Request request;
  request.mutable_reconfigure();
  EXPECT_TRUE(ask(UserId{0}, request).has_done());
  EXPECT_FALSE(may(UserId{1000}));
}

TEST_F(RightsOfNames, A_name_service_that_does_not_answer_takes_no_rights_and_one_that_knows_nobody_does) {
  EXPECT_TRUE(may(UserId{1000}));
  identities.trouble = Error{Errc::unavailable, "down"};
  pass_minutes(11);
  EXPECT_TRUE(may(UserId{1000}));
  identities.trouble = Error{Errc::not_found, "nobody"};
  EXPECT_TRUE(may(UserId{1000})) << "a service that is down is asked once a minute";
  pass_minutes(2);
  EXPECT_FALSE(may(UserId{1000}));
}

}  // namespace
}  // namespace millrace
