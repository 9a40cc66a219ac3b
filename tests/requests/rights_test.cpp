// tests/requests/rights_test.cpp - who may ask what: the tables know every request and every field of the schema that
// names somebody, and the controller does what they say.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "controller/requests/request_table.h"
#include "request_schema.h"
#include "small_controller.h"
#include "small_state.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;

TEST(Rights, Table_has_every_kind_of_request) {
  const Schema schema = read_schema();
  std::set<int> listed;
  for (const RequestRow& right : request_table())
    EXPECT_TRUE(listed.insert(static_cast<int>(right.request)).second) << "twice: " << static_cast<int>(right.request);
  std::size_t kinds = 0;
  for (const SchemaField& field : schema.at("Request")) {
    if (std::islower(field.type.front())) continue;  // what every request has: its number, the cluster it is meant for
    ++kinds;
    EXPECT_TRUE(listed.contains(field.number)) << field.name << " is in no row of controller/requests/request_table";
  }
  EXPECT_EQ(kinds, listed.size());
  EXPECT_GT(kinds, 40u);
}

TEST(Rights, Table_has_every_field_that_names_somebody) {
  const Schema schema = read_schema();
  std::set<std::string> messages;
  reach(schema, "Request", messages);
  const std::regex names{
      R"((as_)?(uid|gid|user|users|group|groups|owner|user_name|group_name)|\w+_(uid|gid|user|users))"};
  std::set<std::string> found;
  for (const std::string& message : messages)
    for (const SchemaField& field : schema.at(message))
      if (field.type != "bool" && std::regex_match(field.name, names))
        found.insert(message.substr(message.find('.') + 1) + "." + field.name);
  std::set<std::string> listed;
  for (const FieldRight& right : field_rights())
    listed.insert(std::string{right.message} + "." + std::string{right.field});
  EXPECT_EQ(found, listed);
}

// Whose requests are tried.
struct Role {
  const char* name;
  std::uint32_t uid;
  Rank rank;
};
constexpr Role roles[] = {{"user", 1000, Rank::user},         {"coordinator", 1001, Rank::user},
                          {"operator", 1002, Rank::operates}, {"administrator", 1003, Rank::administers},
                          {"SlurmUser", 990, Rank::super},    {"root", 0, Rank::super}};

constexpr std::uint32_t denied = 2002;

// What a request of this kind without anything in it is told.
wire::Request empty_request(B kind) {
  // A field of wire type 2 with nothing in it.
  std::string bytes;
  std::uint64_t tag = static_cast<std::uint64_t>(kind) << 3 | 2;
  for (; tag >= 128; tag >>= 7) bytes += static_cast<char>(tag | 128);
  bytes += static_cast<char>(tag);
  bytes += '\0';
  wire::Request out;
  EXPECT_TRUE(out.ParseFromString(bytes));
  out.set_number(1);
  return out;
}

TEST(Rights, Requests_need_the_rank_of_their_row) {
  for (const RequestRow& right : request_table()) {
    if (right.rank == Rank::user || right.request == B::kShutdown) continue;
    fuzz::SmallController controller(fuzz::state_with_roles());
    for (const Role& role : roles) {
      const wire::Reply reply = controller.request(role.uid, empty_request(right.request).SerializeAsString());
      const bool refused = reply.failure().code() == denied;
      EXPECT_EQ(refused, role.rank < right.rank)
          << role.name << " asks " << static_cast<int>(right.request) << ": " << reply.failure().text();
    }
  }
}

// Each way in which somebody could run, write or speak as another user.
std::map<std::string, wire::Request> ways_to_be_another() {
  std::map<std::string, wire::Request> out;
  const auto job = [](wire::JobDescription& description) {
    description.set_name("x");
    description.set_work_dir("/");
  };
  wire::Request& submit = out["submit as another user"];
  job(*submit.mutable_submit()->mutable_job());
  submit.mutable_submit()->set_script("#!/bin/sh\n");
  wire::Request &group = out["submit as another group"] = submit,
                &component = out["a component of another user"] = submit;
  submit.mutable_submit()->mutable_job()->set_as_uid(0);
  submit.mutable_submit()->mutable_job()->set_as_gid(0);
  group.mutable_submit()->mutable_job()->set_as_gid(0);
  *component.mutable_submit()->add_more_components() = component.submit().job();
  component.mutable_submit()->mutable_more_components(0)->set_as_uid(0);
  wire::Request& crontab = out["the crontab of another user"];
  crontab.mutable_set_crontab()->set_uid(4711);
  crontab.mutable_set_crontab()->set_text("");
  wire::Request& entry = out["an entry of another user in one's own crontab"];
  entry.mutable_set_crontab()->set_text("@daily x\n");
  entry.mutable_set_crontab()->add_entries()->mutable_job()->mutable_job()->set_as_uid(0);
  out["a token of another user"].mutable_issue_token()->set_user("root");
  wire::Request& step = out["a step in another user's job"];
  step.mutable_create_step()->set_job_id(1);
  wire::Request& attach = out["typing into another user's step"];
  attach.mutable_attach_step()->mutable_step()->mutable_job()->set_job_id(1);
  wire::Request& unasked = out["without an allocation"];
  job(*unasked.mutable_submit()->mutable_job());
  unasked.mutable_submit()->mutable_job()->mutable_extras()->set_no_allocate(true);
  for (auto& [what, request] : out) request.set_number(1);
  return out;
}

TEST(Rights, Only_root_and_SlurmUser_act_as_somebody_else) {
  for (const auto& [what, request] : ways_to_be_another())
    for (const Role& role : roles) {
      fuzz::SmallController controller(fuzz::state_with_roles());  // job 1, root's, runs by now
      const wire::Reply reply = controller.request(role.uid, request.SerializeAsString());
      EXPECT_EQ(reply.failure().code() == denied, role.rank < Rank::super)
          << role.name << ": " << what << ": " << reply.failure().code() << " " << reply.failure().text();
    }
}

// The files of another user's job are written as that user.
TEST(Rights, Managers_of_a_job_do_not_say_which_files_it_writes) {
  for (const Role& role : roles) {
    fuzz::SmallController controller(fuzz::state_with_roles());
    wire::Request request;
    request.set_number(1);
    request.mutable_update_job()->mutable_job()->set_job_id(5);
    request.mutable_update_job()->set_std_out("/etc/passwd");
    const wire::Reply reply = controller.request(role.uid, request.SerializeAsString());
    ASSERT_TRUE(reply.has_jobs_changed());
    const bool refused = reply.jobs_changed().failed_size() > 0 && reply.jobs_changed().failed(0).code() == denied;
    EXPECT_EQ(refused, role.rank < Rank::super) << role.name;
    request.mutable_update_job()->clear_std_out();
    request.mutable_update_job()->set_comment("managed");
    const wire::Reply managed = controller.request(role.uid, request.SerializeAsString());
    EXPECT_EQ(managed.jobs_changed().failed_size() > 0, role.rank < Rank::operates) << role.name;
  }
}

}  // namespace
}  // namespace millrace
