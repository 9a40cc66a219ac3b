// src/wire/request_limits_test.cpp - every text and list of a request has a limit, and what is over it is named.
#include "wire/request_limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "agent.pb.h"
#include "client.pb.h"

namespace millrace {
namespace {

struct SchemaField {
  std::string type, name;
  std::uint32_t tag = 0;
  bool repeated = false;
};
using Schema = std::map<std::string, std::vector<SchemaField>>;  // by message

std::vector<std::string> words_of(const std::string& file) {
  std::ifstream in(std::string{SCHEMA_FILES} + "/" + file);
  EXPECT_TRUE(in) << file;
  std::stringstream text;
  for (std::string line; std::getline(in, line);) text << line.substr(0, line.find("//")) << '\n';
  std::vector<std::string> out;
  std::string word, all = text.str();
  for (std::size_t at = all.find("/*"); at != std::string::npos; at = all.find("/*"))
    all.erase(at, all.find("*/", at) + 2 - at);
  for (const char c : all) {
    const bool separates = std::string_view{"{}=;\n\t "}.contains(c);
    if (separates && !word.empty()) out.push_back(std::exchange(word, {}));
    if (std::string_view{"{}=;"}.contains(c)) out.emplace_back(1, c);
    if (!separates) word += c;
  }
  return out;
}

void read_schema(const std::string& file, Schema& schema) {
  const std::vector<std::string> words = words_of(file);
  std::vector<std::string> inside;  // messages; empty words for what else has braces
  for (std::size_t i = 0; i + 4 < words.size(); ++i) {
    if (words[i] == "message" && words[i + 2] == "{") {
      inside.push_back(words[++i]);
      schema[inside.back()];
      ++i;
    } else if (words[i] == "enum" && !inside.empty()) {
      schema[inside.back() + "." + words[i + 1]];  // hides a message of this name
    } else if (words[i] == "{") {
      inside.push_back(words[i - 2] == "oneof" ? inside.back() : "");
    } else if (words[i] == "}") {
      inside.pop_back();
    } else if (!inside.empty() && !inside.back().empty() && words[i + 1] == "=" && words[i + 3] == ";") {
      const bool labelled = i >= 2 && (words[i - 2] == "repeated" || words[i - 2] == "optional");
      schema[inside.back()].push_back({words[i - 1], words[i], static_cast<std::uint32_t>(std::stoul(words[i + 2])),
                                       labelled && words[i - 2] == "repeated"});
    }
  }
}

void compare(const Schema& schema, const MessageLimits& limits, std::set<std::string>& compared) {
  if (!compared.insert(std::string{limits.name}).second) return;
  const auto message = schema.find(std::string{limits.name});
  ASSERT_NE(message, schema.end()) << limits.name << " is not in schema/";
  std::map<std::uint32_t, const FieldLimit*> rows;
  std::uint32_t before = 0;
  for (const FieldLimit& row : limits.fields) {
    EXPECT_LT(before, row.tag) << limits.name << "." << row.name << ": rows are in the order of their tags";
    before = row.tag;
    rows[row.tag] = &row;
  }
  for (const SchemaField& field : message->second) {
    const std::string type = field.type;
    const bool is_enum = schema.contains(std::string{limits.name} + "." + field.type);
    const bool is_message = schema.contains(type) && !is_enum,
               is_text = field.type == "string" || field.type == "bytes";
    const std::string where = std::string{limits.name} + "." + field.name;
    const auto row = rows.find(field.tag);
    if (!is_message && !is_text && !field.repeated) {
      EXPECT_EQ(row, rows.end()) << where << " is a number";
      continue;
    }
    if (row == rows.end()) {
      ADD_FAILURE() << where << " has no limit in wire/request_limit_rows.cpp or agent_limit_rows.cpp";
      continue;
    }
    EXPECT_EQ(row->second->name, field.name) << where;
    EXPECT_EQ(row->second->repeated, field.repeated) << where;
    EXPECT_EQ(row->second->kind, is_message ? WireKind::message : is_text ? WireKind::text : WireKind::number) << where;
    if (is_message && row->second->message != nullptr) {
      EXPECT_EQ(row->second->message->name, type) << where;
      compare(schema, *row->second->message, compared);
    }
    rows.erase(row);
  }
  for (const auto& [tag, row] : rows) ADD_FAILURE() << limits.name << "." << row->name << " is not in schema/";
}

std::string problem_of(const wire::Request& request) {
  return over_limit(request.SerializeAsString()).value_or("none");
}

TEST(RequestLimits, Every_text_and_list_of_a_request_has_a_limit) {
  Schema schema;
  for (const char* file : {"job.proto", "client.proto"}) read_schema(file, schema);
  ASSERT_TRUE(schema.contains("JobDescription"));
  ASSERT_GT(schema["JobDescription"].size(), 40u);
  std::set<std::string> compared;
  compare(schema, request_limits(), compared);
  EXPECT_GT(compared.size(), 60u);
}

TEST(RequestLimits, Every_text_and_list_that_an_agent_says_has_a_limit) {
  Schema schema;
  for (const char* file : {"job.proto", "agent.proto"}) read_schema(file, schema);
  std::set<std::string> compared;
  compare(schema, agent_word_limits(), compared);
  EXPECT_TRUE(compared.contains("LaunchPlan"));
  EXPECT_TRUE(compared.contains("JobDescription"));
  EXPECT_GT(compared.size(), 25u);
}

TEST(RequestLimits, A_field_that_is_too_long_is_named_with_its_length_and_limit) {
  wire::Request request;
  request.set_number(77);
  request.mutable_submit()->mutable_job()->set_name(std::string(1024, 'n'));
  EXPECT_EQ(problem_of(request), "none");
  request.mutable_submit()->mutable_job()->set_name(std::string(4 << 20, 'n'));
  EXPECT_EQ(problem_of(request), "submit.job has 4194309 bytes; the limit is 4194304");
  request.mutable_submit()->mutable_job()->set_name(std::string(1025, 'n'));
  EXPECT_EQ(problem_of(request), "submit.job.name has 1025 bytes; the limit is 1024");
  EXPECT_EQ(number_of_request(request.SerializeAsString()), 77u);

  wire::Request update;
  update.mutable_update_job()->mutable_extras()->set_admin_comment(std::string(2000, 'c'));
  EXPECT_EQ(problem_of(update), "update_job.extras.admin_comment has 2000 bytes; the limit is 1024");
}

TEST(RequestLimits, Lists_are_counted_before_they_are_made) {
  wire::Request request;
  for (int i = 0; i < 64 * 1024; ++i) request.mutable_cancel()->add_jobs();
  EXPECT_EQ(problem_of(request), "none");
  request.mutable_cancel()->add_jobs();
  EXPECT_EQ(problem_of(request), "cancel.jobs has more entries; the limit is 65536");

  wire::Request numbers;
  for (std::uint32_t i = 0; i <= 64 * 1024; ++i) numbers.mutable_annotate_record()->add_job_ids(i);
  EXPECT_EQ(problem_of(numbers), "annotate_record.job_ids has more entries; the limit is 65536");

  wire::Request arguments;
  for (int i = 0; i < 17; ++i) arguments.mutable_submit()->mutable_job()->add_arguments(std::string(128 << 10, 'a'));
  EXPECT_EQ(problem_of(arguments), "submit.job.arguments has more bytes in all; the limit is 2097152");

  wire::Request trigger;
  trigger.mutable_set_trigger()->mutable_trigger()->add_due();
  EXPECT_EQ(problem_of(trigger), "set_trigger.trigger.due has more entries; the limit is 0");
}

TEST(RequestLimits, A_message_that_comes_twice_does_not_get_round_the_count) {
  wire::Request request;
  request.mutable_cancel()->add_jobs();
  const std::string once = request.SerializeAsString();
  EXPECT_EQ(over_limit(once + once), "cancel is given twice; the limit is 1");
}

TEST(RequestLimits, What_protobuf_reads_although_nobody_writes_it_is_looked_at) {
  // A group, after which protobuf reads on.
  wire::Request request;
  request.mutable_submit()->mutable_job()->set_name(std::string(2000, 'n'));
  const std::string group{"\x0b\x0c", 2};
  EXPECT_TRUE(wire::Request{}.ParseFromString(group + request.SerializeAsString()));
  EXPECT_EQ(over_limit(group + request.SerializeAsString()), " has a group, which no message has; the limit is 0");
  // A tag with bits above the 32nd, which protobuf drops.
  const std::string rest = request.SerializeAsString().substr(1);
  const std::string wide_tag{"\xd2\x80\x80\x80\x10", 5};
  wire::Request read;
  if (read.ParseFromString(wide_tag + rest) && read.has_submit()) EXPECT_NE(over_limit(wide_tag + rest), std::nullopt);
}

TEST(RequestLimits, What_is_no_request_is_left_to_the_decoder) {
  EXPECT_EQ(over_limit("\xff\xff\xff"), std::nullopt);
  EXPECT_EQ(over_limit(std::string_view{"\x52\x7f", 2}), std::nullopt) << "shorter than it says";
  EXPECT_EQ(number_of_request("\xff"), 0u);
}

std::string problem_of(const wire::ToController& word) {
  return agent_word_over_limit(word.SerializeAsString()).value_or("none");
}

TEST(RequestLimits, What_an_agent_says_does_not_grow_when_it_is_read) {
  std::string attempts;
  for (int i = 0; i < 64 * 1024; ++i) attempts += std::string{"\x0a\x00", 2};
  const auto report = [](const std::string& inside) {
    wire::RelayedReply any;  // a message of the same shape: its bytes have a length before them
    any.set_reply(inside);
    std::string out = any.SerializeAsString();
    out[0] = '\x5a';  // report
    return out;
  };
  EXPECT_EQ(agent_word_over_limit(report(attempts)), std::nullopt);
  EXPECT_EQ(agent_word_over_limit(report(attempts + std::string{"\x0a\x00", 2})),
            "report.attempts has more entries; the limit is 65536");
  wire::ToController nested;
  for (int i = 0; i < 20; ++i) {
    wire::AttemptStatus& attempt = *nested.mutable_report()->add_attempts();
    for (int step = 0; step < 40'000; ++step) attempt.add_steps();
  }
  EXPECT_EQ(problem_of(nested), "report.attempts.steps makes more parts in all; the limit is 524288");
  wire::ToController numbers;
  wire::LaunchPlan* plan = numbers.mutable_step()->mutable_launch()->mutable_plan();
  for (int i = 0; i < 5; ++i) plan->add_het_components()->mutable_ranks()->Resize(1024 * 1024, 1);
  EXPECT_EQ(problem_of(numbers),
            "step.launch.plan.het_components.ranks makes more numbers in all; the limit is 4194304");
}

TEST(RequestLimits, What_everybody_is_shown_of_a_node_is_short) {
  wire::ToController hello;
  hello.mutable_hello()->mutable_inventory()->set_os(std::string(1024, 'o'));
  EXPECT_EQ(problem_of(hello), "none");
  hello.mutable_hello()->mutable_inventory()->set_os(std::string(1025, 'o'));
  EXPECT_EQ(problem_of(hello), "hello.inventory.os has 1025 bytes; the limit is 1024");
  wire::ToController trouble;
  trouble.mutable_report()->mutable_telemetry()->add_devices()->set_trouble(std::string(2000, 't'));
  EXPECT_EQ(problem_of(trouble), "report.telemetry.devices.trouble has 2000 bytes; the limit is 1024");
}

TEST(RequestLimits, Plans_in_plans_are_not_followed_down) {
  wire::ToController launch;
  wire::LaunchPlan* plan = launch.mutable_step()->mutable_launch()->mutable_plan();
  plan->set_environment(std::string(environment_bytes_max, 'x'));
  plan = plan->add_het_components();
  EXPECT_EQ(problem_of(launch), "none");
  plan->add_het_components();
  EXPECT_EQ(problem_of(launch), "step.launch.plan.het_components.het_components has more entries; the limit is 0");
}

}  // namespace
}  // namespace millrace
