// src/cli/render/data_text_test.cpp - what --json and --yaml print, whatever bytes a job's name holds.
#include "cli/render/data_text.h"

#include <gtest/gtest.h>

#include "cli/render/data_document.h"

namespace millrace {
namespace {

TEST(DataText, writes_json_in_the_layout_of_slurms_commands) {
  Data data{DataMap{}};
  data.at_path("jobs") = DataList{DataMap{
      {"name", "a/b"}, {"hold", false}, {"nice", -3}, {"billable", 4.0}, {"none", Data{}}, {"list", DataList{}}}};
  EXPECT_EQ(to_json(data),
            "{\n  \"jobs\": [\n    {\n      \"name\": \"a\\/b\",\n      \"hold\": false,\n      \"nice\": -3,\n      "
            "\"billable\": 4.0,\n      \"none\": null,\n      \"list\": [\n"
            "      ]\n    }\n  ]\n}\n");
}

TEST(DataText, escapes_what_json_cannot_hold) {
  EXPECT_EQ(to_json(Data{"\"\\\n\t\x01\x7f"}), "\"\\\"\\\\\\n\\t\\u0001\\u007f\"\n");
  EXPECT_EQ(to_json(Data{"gr\xc3\xbc\xc3\x9f"}), "\"gr\xc3\xbc\xc3\x9f\"\n");
  EXPECT_EQ(to_json(Data{"\xff|\xc3|\xed\xa0\x80|\xc0\xaf"}),
            "\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

TEST(DataText, paths_make_maps_in_the_order_of_writing) {
  Data data{DataMap{}};
  data.at_path("nodes/total") = 4u;
  data.at_path("name") = "p";
  data.at_path("nodes/configured") = "n[1-4]";
  EXPECT_EQ(to_json(data),
            "{\n  \"nodes\": {\n    \"total\": 4,\n    \"configured\": \"n[1-4]\"\n  },\n  \"name\": \"p\"\n}\n");
}

TEST(DataText, writes_yaml_that_keeps_texts_texts) {
  Data data{DataMap{}};
  data.at_path("jobs") = DataList{DataMap{{"name", "no"},
                                          {"nodes", "n1"},
                                          {"empty", ""},
                                          {"version", "26"},
                                          {"words", DataList{Data{"A"}, Data{"x: y"}}},
                                          {"time", number_or_not(7)}}};
  data.at_path("none") = DataList{};
  EXPECT_EQ(to_yaml(data),
            "---\njobs:\n- name: \"no\"\n  nodes: n1\n  empty: \"\"\n  version: \"26\"\n  words:\n  - A\n  - \"x: "
            "y\"\n  time:\n    set: true\n    infinite: false\n    number: 7\nnone: []\n...\n");
}

TEST(DataText, a_list_in_pieces_reads_as_the_whole) {
  for (const DataForm form : {DataForm::json, DataForm::yaml})
    for (std::size_t count = 0; count < 3; ++count) {
      DataList items;
      for (std::size_t i = 0; i < count; ++i)
        items.push_back(DataMap{{"id", static_cast<std::uint32_t>(i)}, {"words", DataList{Data{"a"}}}});
      DataListText text(form, "jobs");
      std::string out;
      for (const Data& item : items) text.add(out, item);
      const DataMap others{{"last_update", number_or_not(3)}, {"errors", DataList{}}};
      text.finish(out, others);
      DataMap whole{{"jobs", items}};
      whole.insert(whole.end(), others.begin(), others.end());
      EXPECT_EQ(out, to_text(Data{whole}, form));
    }
}

TEST(DataText, exit_codes_tell_errors_from_signals) {
  EXPECT_EQ(exit_code_data(0, 0).find("status")->list()->front(), Data{"SUCCESS"});
  EXPECT_EQ(exit_code_data(3, 0).find("status")->list()->front(), Data{"ERROR"});
  const Data killed = exit_code_data(0, 9);
  EXPECT_EQ(killed.find("status")->list()->front(), Data{"SIGNALED"});
  EXPECT_EQ(*killed.find("signal")->find("name"), Data{"KILL"});
}

TEST(DataDocument, says_what_was_asked_and_which_version_answers) {
  const std::string_view words[] = {"--json", "-j", "7"};
  const Data document = data_document({{"jobs", DataList{}}}, {"squeue", words, "here", "26.11.0"});
  EXPECT_EQ(*document.find("meta")->find("command"),
            (Data{DataList{Data{"squeue"}, Data{"--json"}, Data{"-j"}, Data{"7"}}}));
  EXPECT_EQ(*document.find("meta")->find("slurm")->find("cluster"), Data{"here"});
  EXPECT_TRUE(document.find("errors")->list()->empty());
}

TEST(DataDocument, knows_the_names_of_the_parsers) {
  EXPECT_TRUE(parse_data_wish(DataForm::json, ""));
  EXPECT_TRUE(parse_data_wish(DataForm::json, "v0.0.44"));
  EXPECT_TRUE(parse_data_wish(DataForm::yaml, "data_parser/v0.0.46"));
  EXPECT_TRUE(parse_data_wish(DataForm::json, "list")->list_parsers);
  EXPECT_FALSE(parse_data_wish(DataForm::json, "v0.0.30"));
}

}  // namespace
}  // namespace millrace
