//===- LaunchPlanTest.cpp - Launch plans from JSON ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stored plans are those that the schema is tested with
// (test/Emit/launch-plan-schema.test).
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/LaunchPlan.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

using namespace blockscale::runtime;

namespace {

struct StoredPlan {
  /// The rest of the line "--- ..." before it.
  std::string name;
  std::string text;
};

std::vector<StoredPlan> readPlans(const std::string &name) {
  std::ifstream file(std::string(BLOCKSCALE_TEST_DATA) + "/plans/" + name);
  std::vector<StoredPlan> plans;
  for (std::string line; std::getline(file, line);) {
    bool isHeader = line.rfind("---", 0) == 0;
    if (isHeader)
      plans.push_back({line.substr(line.find(' ') + 1), ""});
    else if (!plans.empty())
      plans.back().text += line + "\n";
  }
  return plans;
}

TEST(LaunchPlan, AcceptsStoredPlans) {
  std::vector<StoredPlan> plans = readPlans("accepted.txt");
  EXPECT_FALSE(plans.empty());
  for (const StoredPlan &plan : plans) {
    Result<LaunchPlan> parsed = parseLaunchPlan(plan.text);
    EXPECT_TRUE(parsed.ok()) << plan.name << ": " << parsed.message();
  }
}

TEST(LaunchPlan, RefusesStoredPlans) {
  std::vector<StoredPlan> plans = readPlans("refused.txt");
  EXPECT_FALSE(plans.empty());
  for (const StoredPlan &plan : plans) {
    Result<LaunchPlan> parsed = parseLaunchPlan(plan.text);
    EXPECT_FALSE(parsed.ok()) << plan.name;
    EXPECT_NE(parsed.message().find(plan.name), std::string::npos)
        << "expected: " << plan.name << "\nfound: " << parsed.message();
  }
}

TEST(LaunchPlan, Content) {
  Result<LaunchPlan> plan = parseLaunchPlan(readPlans("accepted.txt")[1].text);
  ASSERT_TRUE(plan.ok()) << plan.message();
  ASSERT_EQ(plan->functions.size(), 1u);
  const PlanFunction &function = plan->functions[0];
  EXPECT_EQ(function.dims, (std::vector<std::string>{"m", "n"}));
  ASSERT_EQ(function.buffers.size(), 6u);
  EXPECT_EQ(function.getBuffers(PlanBuffer::Role::Workspace),
            std::vector<size_t>{5});
  EXPECT_EQ(function.buffers[0].alignment, 128);
  EXPECT_TRUE(function.buffers[1].isScalar);
  EXPECT_EQ(function.buffers[3].layout, "swizzle_128x4, groups = 2, dim = 0");
  EXPECT_EQ(function.buffers[4].data, (std::vector<uint8_t>{1, 2, 3}));
  ASSERT_EQ(function.steps.size(), 2u);
  EXPECT_EQ(function.steps[0].copy->to.offset.getText(), "8");
  const PlanLaunch &launch = *function.steps[1].launch;
  EXPECT_EQ(launch.grid[0].getText(), "ceildiv(m, 128)");
  ASSERT_EQ(launch.parameters.size(), 7u);
  EXPECT_EQ(launch.parameters[1].address.buffer, 5u);
  EXPECT_EQ(launch.parameters[4].scalar, 1u);
  EXPECT_EQ(launch.parameters[5].bits, 0x3F800000u);
  const PlanTensorMap &map = launch.parameters[6].map;
  EXPECT_EQ(map.element, 9u);
  EXPECT_EQ(map.swizzle, 3u);
  EXPECT_EQ(map.l2Promotion, 3u);
  EXPECT_EQ(map.box, (std::vector<uint32_t>{64, 8}));
}

/// A damaged text is a plan or a failure; nothing else happens.
TEST(LaunchPlan, SurvivesDamage) {
  std::string text = readPlans("accepted.txt")[1].text;
  size_t refused = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'\0', '"', '}', ']', '9', '-', 'x', '\xFF'}) {
      std::string damaged = text;
      damaged[i] = c;
      refused += !parseLaunchPlan(damaged).ok();
    }
    refused += !parseLaunchPlan(text.substr(0, i)).ok();
    refused += !parseLaunchPlan(text.substr(0, i) + text.substr(i + 1)).ok();
  }
  EXPECT_GT(refused, 5 * text.size());
}

TEST(LaunchPlan, FailuresNameThePlace) {
  EXPECT_EQ(parseLaunchPlan("{\n  \"version\": 3}").message(),
            "2:14: expected version 1 of launch plans, but got 3");
  EXPECT_EQ(parseLaunchPlan("{]").message(),
            "1:2: expected a key, but got ']'");
}

TEST(LaunchPlan, FindsFunctions) {
  LaunchPlan plan;
  plan.functions.resize(2);
  plan.functions[0].name = "f";
  plan.functions[1].name = "g";
  EXPECT_EQ(*plan.find("g"), &plan.functions[1]);
  EXPECT_EQ(plan.find("h").message(),
            "expected the name of a function of the plan (f, g), but got 'h'");
  EXPECT_FALSE(plan.find("").ok());
  plan.functions.pop_back();
  EXPECT_EQ(*plan.find(""), plan.functions.data());
}

} // namespace
