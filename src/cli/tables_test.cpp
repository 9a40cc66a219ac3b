// src/cli/tables_test.cpp - what is made of the tables: completion, man pages, the page about what differs from Slurm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/file_manuals.h"
#include "cli/manual_pages.h"
#include "cli/options/manual_html.h"
#include "config/conf_lines.h"
#include "config/keys.h"
#include "config/plugstack_conf.h"
#include "config/slurm_conf.h"

namespace millrace {
namespace {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>{file}, {}};
}

// A compiler cache may have made the path relative to the folder of the build, which is where this program lies.
std::filesystem::path repository() {
  return std::filesystem::weakly_canonical(std::filesystem::read_symlink("/proc/self/exe").parent_path() / __FILE__)
      .parent_path()
      .parent_path()
      .parent_path();
}

TEST(Tables, Every_command_of_its_own_name_has_options_and_a_man_page) {
  for (const CommandRow& row : command_rows()) {
    if (!row.own_name) continue;
    ASSERT_NE(row.manual, nullptr) << row.name;
    ASSERT_NE(row.options, nullptr) << row.name;
    EXPECT_TRUE(row.manual().starts_with(".TH ")) << row.name;
    for (const char* common : {"help", "usage", "version"})
      EXPECT_TRUE(std::ranges::any_of(row.options(),
                                      [&](const OptionText& option) { return option.name == common && option.built; }))
          << row.name << " --" << common;
  }
}

TEST(Tables, An_option_without_effect_or_refused_says_why_or_is_not_built_yet) {
  for (const CommandRow& row : command_rows()) {
    if (row.options == nullptr) continue;
    for (const OptionText& option : row.options())
      EXPECT_TRUE(option.effect != Effect::no_effect || !option.why.empty()) << row.name << " --" << option.name;
  }
}

TEST(Tables, Completion_offers_what_is_built_and_nothing_else) {
  const std::string script = bash_completion();
  EXPECT_NE(script.find("    squeue) words='--account= -A"), std::string::npos);
  EXPECT_EQ(script.find("--sibling="), std::string::npos) << "scancel --sibling is refused";
  EXPECT_NE(script.find("requeuehold"), std::string::npos);
  EXPECT_NE(script.find("complete -F _millrace millrace sbatch "), std::string::npos);
}

TEST(Tables, Completion_knows_keys_fields_and_values) {
  const std::string script = bash_completion();
  for (const char* part :
       {"  local job_keys='Account= ", " TimeLimit= ", "  local node_keys='State= Reason= ",
        "  local reservation_keys='Reservation= ReservationName= StartTime= ", "  local mail='NONE ALL ARRAY_TASKS ",
        "  local account_changes='job account user qos coordinator'\n", "    sacctmgr) words='--"})
    EXPECT_NE(script.find(part), std::string::npos) << part;
  EXPECT_EQ(script.find("BurstBuffer="), std::string::npos) << "it is refused";
}

TEST(Tables, Man_pages_of_files_name_every_key) {
  const std::string page = file_manual("slurm.conf");
  for (const ConfigKey& key : config_keys())
    EXPECT_TRUE(key.kind == KeyKind::live || page.find(key.name) != std::string::npos) << key.name;
  for (const FileKeyText& key : file_keys())
    EXPECT_NE(file_manual(key.file).find(".B " + std::string{key.key}), std::string::npos) << key.key;
  EXPECT_EQ(file_manual("nonsense"), "");
}

TEST(Tables, Every_man_page_is_a_page_of_the_web_with_the_same_terms) {
  const std::string index = manual_index_html();
  for (const ManualName& page : manual_names()) {
    const std::string text = manual_page(page.name), html = manual_html(text);
    EXPECT_TRUE(text.starts_with(".TH ")) << page.name;
    EXPECT_FALSE(page.summary.empty()) << page.name;
    EXPECT_NE(index.find("href=\"" + page.name + ".html\""), std::string::npos) << page.name;
    const auto count = [](std::string_view all, std::string_view part) {
      std::size_t n = 0;
      for (std::size_t at = 0; (at = all.find(part, at)) != std::string_view::npos; at += part.size()) ++n;
      return n;
    };
    EXPECT_EQ(count(text, "\n.TP\n"), count(html, "<dt id=")) << page.name;
    EXPECT_EQ(count(text, "\n.TP\n"), count(html, "<dd>")) << page.name;
    EXPECT_EQ(html.find("\n."), std::string::npos) << page.name;
    EXPECT_EQ(html.find('\\') == std::string::npos, text.find("\\e") == std::string::npos) << page.name;
  }
  for (const char* name : {"millrace", "sbatch", "slurm.conf", "plugstack.conf", "slurmctld", "slurmd"})
    EXPECT_NE(manual_page(name), "") << name;
  EXPECT_NE(manual_html(manual_page("squeue")).find("<dt id=\"-u\"><code>-u, --user=&lt;"), std::string::npos);
}

// An example of a man page that the reader of the file does not take is no example.
TEST(Tables, Examples_of_the_man_pages_of_files_are_taken) {
  for (const FileKeyText& key : file_keys()) {
    std::string text = "ClusterName=c\nSlurmctldHost=h\nGresTypes=gpu\nNodeName=n1 CPUs=8 RealMemory=1000" +
                       std::string{key.file == "gres.conf" && key.key == "NodeName" ? " Gres=gpu:2" : ""} +
                       "\nPartitionName=p Nodes=n1\n";
    CompanionLines companions;
    if (key.file == "plugstack.conf") {
      EXPECT_TRUE(parse_plugstack(std::string{key.example} + '\n', "/etc/slurm/plugstack.conf").problems.empty())
          << key.key;
      continue;
    }
    const auto lines = split_conf_text(std::string{key.example} + '\n', std::string{key.file});
    if (key.file == "gres.conf")
      companions.gres = lines;
    else if (key.file == "cgroup.conf")
      companions.cgroup = lines;
    else if (key.file == "topology.conf") {
      const bool blocks = key.key.starts_with("Block");
      text += blocks ? "TopologyPlugin=topology/block\n" : "TopologyPlugin=topology/tree\n";
      std::string all{key.example};
      if (key.key == "Switches") all += "\nSwitchName=s0 Nodes=n1";
      if (key.key == "BlockSizes") all = "BlockName=b0 Nodes=n1\n" + all;
      companions.topology = split_conf_text(all + '\n', "topology.conf");
    } else {
      text += "JobContainerType=job_container/tmpfs\n";
      std::string all{key.example};
      if (key.key != "BasePath") all = "BasePath=/var/lib/jobs " + all;
      companions.container = split_conf_text(all + '\n', "job_container.conf");
    }
    const ConfigurationReport report =
        parse_configuration(split_conf_text(text, "slurm.conf"), "/etc/slurm/slurm.conf", companions);
    EXPECT_TRUE(report.errors.empty()) << key.file << ' ' << key.key << ": " << report.errors[0];
    for (const auto& note : report.configuration.unknown)
      ADD_FAILURE() << key.file << ' ' << key.key << ": unknown " << note.key;
    for (const auto& note : report.configuration.not_built)
      EXPECT_NE(lower(note.key), lower(key.key)) << key.file << ": " << note.text;
  }
}

// The page is written by hand around a part that is not.
TEST(Tables, The_page_for_people_who_come_from_Slurm_is_true) {
  const auto path = repository() / "docs/user/coming-from-slurm.md";
  constexpr std::string_view begin = "<!-- made by `millrace differences` -->\n", end = "<!-- end -->\n";
  std::string page = slurp(path);
  const std::size_t from = page.find(begin), until = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(until, std::string::npos);
  if (std::getenv("MR_UPDATE_GOLDEN") != nullptr) {
    page.replace(from + begin.size(), until - from - begin.size(), differences_text());
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(from + begin.size(), until - from - begin.size()), differences_text())
      << "MR_UPDATE_GOLDEN=1 writes it anew";
}

}  // namespace
}  // namespace millrace
