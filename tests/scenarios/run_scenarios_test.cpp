// tests/scenarios/run_scenarios_test.cpp - every *.scn of this folder as one test.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/scenario.h"

namespace {

std::vector<std::filesystem::path> scenarios() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(SCENARIO_DIR))
    if (entry.path().extension() == ".scn") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

class ScenarioFile : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScenarioFile, holds) {
  std::ifstream file(GetParam());
  std::stringstream text;
  text << file.rdbuf();
  const auto verdict = millrace::run_scenario(text.str());
  ASSERT_TRUE(verdict) << GetParam() << ": " << verdict.error().story;
  for (const std::string& line : *verdict) ADD_FAILURE() << GetParam().filename() << ": " << line;
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioFile, testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
