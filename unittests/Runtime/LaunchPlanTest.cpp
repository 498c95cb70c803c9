//===- LaunchPlanTest.cpp - Launch plans from JSON ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These tests read the stored plans that the schema is tested with
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

std::string readWritten() {
  std::ifstream file(std::string(BLOCKSCALE_TEST_DATA) + "/plans/written.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Each stored plan is written so that it is read as the same, and one of them,
// which has every member, letter by letter.
TEST(LaunchPlan, IsWrittenAsItIsRead) {
  std::vector<StoredPlan> plans = readPlans("accepted.txt");
  for (const StoredPlan &plan : plans) {
    Result<LaunchPlan> parsed = parseLaunchPlan(plan.text);
    ASSERT_TRUE(parsed.ok()) << plan.name << ": " << parsed.message();
    std::string written = writeLaunchPlan(*parsed);
    Result<LaunchPlan> again = parseLaunchPlan(written);
    ASSERT_TRUE(again.ok()) << plan.name << ": " << again.message();
    EXPECT_EQ(writeLaunchPlan(*again), written) << plan.name;
  }
  EXPECT_EQ(writeLaunchPlan(*parseLaunchPlan(plans[1].text)), readWritten());
}

// Every name of an enumeration, and every number, comes through.
TEST(LaunchPlan, WritesEveryName) {
  LaunchPlan plan = *parseLaunchPlan(readPlans("accepted.txt")[1].text);
  PlanFunction &function = plan.functions[0];
  PlanTensorMap &map = function.steps[1].launch->parameters[6].map;
  for (uint32_t i = 0; i < kTensorElementNames.size(); ++i) {
    map.element = i;
    map.swizzle = i % kSwizzleNames.size();
    map.interleave = i % kInterleaveNames.size();
    map.l2Promotion = i % kPromotionNames.size();
    map.fill = i % kFillNames.size();
    map.elementStrides = {i + 1, 2};
    function.constraints[0].relation =
        static_cast<Relation>(i % kRelationNames.size());
    Result<LaunchPlan> read = parseLaunchPlan(writeLaunchPlan(plan));
    ASSERT_TRUE(read.ok()) << read.message();
    const PlanFunction &found = read->functions[0];
    const PlanTensorMap &same = found.steps[1].launch->parameters[6].map;
    EXPECT_EQ(same.element, map.element);
    EXPECT_EQ(same.swizzle, map.swizzle);
    EXPECT_EQ(same.interleave, map.interleave);
    EXPECT_EQ(same.l2Promotion, map.l2Promotion);
    EXPECT_EQ(same.fill, map.fill);
    EXPECT_EQ(same.elementStrides, map.elementStrides);
    EXPECT_EQ(found.constraints[0].relation, function.constraints[0].relation);
  }
}

// Text and bytes of any kind come through, the bytes in the plan or beside it.
TEST(LaunchPlan, WritesAnyContent) {
  LaunchPlan plan = *parseLaunchPlan(readPlans("accepted.txt")[1].text);
  PlanFunction &function = plan.functions[0];
  for (int c = 0; c < 0x80; ++c)
    function.constraints[0].message += static_cast<char>(c);
  function.constraints[0].message += "\xC3\xA4";
  for (uint8_t byte : {0xFF, 0x00, 0x3E, 0x10, 0x80, 0x7F, 0xFB}) {
    Result<LaunchPlan> read = parseLaunchPlan(writeLaunchPlan(plan));
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read->functions[0].constraints[0].message,
              function.constraints[0].message);
    EXPECT_EQ(read->functions[0].buffers[4].data, function.buffers[4].data);
    function.buffers[4].data.push_back(byte);
  }
  // Equal constants are added once.
  plan.functions.push_back(plan.functions[0]);
  plan.functions[1].name = "g";
  std::vector<std::string> blobs = {"another"};
  std::string text = writeLaunchPlan(plan, &blobs);
  ASSERT_EQ(blobs.size(), 2u);
  EXPECT_EQ(std::vector<uint8_t>(blobs[1].begin(), blobs[1].end()),
            plan.functions[0].buffers[4].data);
  Result<LaunchPlan> read =
      parseLaunchPlan(text, {std::string_view(blobs[0]), blobs[1]});
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read->functions[1].buffers[4].blob, std::string_view(blobs[1]));
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

/// A plan of so many kernels, dims, workspaces, and steps that name them that
/// it takes minutes where each name is compared with all others. `kernel` is
/// what the steps launch.
std::string makeLargePlan(int count, const std::string &kernel) {
  std::string kernels, dims, arguments, workspaces, steps;
  for (int i = 0; i < count; ++i) {
    std::string number = std::to_string(i), comma = i ? "," : "";
    auto buffer = [&](const std::string &name, const std::string &size) {
      return comma + R"({"name": ")" + name + number +
             R"(", "type": "", "element": "i8", "layout": "row_major",
                 "dtype": "uint8", "shape": [)" +
             size + R"(], "bytes": 1, "alignment": 1})";
    };
    kernels += comma + R"({"name": "k)" + number + R"(", "parameters": []})";
    dims += comma + "\"d" + number + "\"";
    arguments += buffer("a", "\"d" + number + "\"");
    workspaces += buffer("w", "1");
    steps += comma + R"({"launch": {"kernel": ")" + kernel +
             (kernel == "k" ? number : "") +
             R"(", "grid": [1, 1, 1], "block": [1, 1, 1],
                 "cluster": [1, 1, 1], "shared": 0, "parameters": []}},
                {"copy": {"from": {"buffer": "w)" +
             number + R"("}, "to": {"buffer": "a0"}, "bytes": 1}})";
  }
  return R"({"version": 2, "chip": "sm_90", "kernels": [)" + kernels +
         R"(], "functions": [{"name": "f", "dims": [)" + dims +
         R"(], "arguments": [)" + arguments +
         R"(], "results": [], "constants": [], "constraints": [],
               "workspaces": [)" +
         workspaces + R"(], "steps": [)" + steps + "]}]}";
}

TEST(LaunchPlan, ReadsManyNames) {
  constexpr size_t kCount = 30000;
  Result<LaunchPlan> plan = parseLaunchPlan(makeLargePlan(kCount, "k"));
  ASSERT_TRUE(plan.ok()) << plan.message();
  const PlanFunction &function = plan->functions[0];
  EXPECT_EQ(function.buffers[kCount - 1].shape[0].getDim(), kCount - 1);
  EXPECT_EQ(function.steps[2 * kCount - 2].launch->kernel, kCount - 1);
  EXPECT_EQ(function.steps[2 * kCount - 1].copy->from.buffer, 2 * kCount - 1);
  // A failure of each step costs no list of all kernels.
  std::string message =
      parseLaunchPlan(makeLargePlan(kCount, "none")).message();
  EXPECT_NE(message.find("'kernel' to be one of k0, k1, k2, "),
            std::string::npos);
  EXPECT_NE(message.find(", k29999, but got 'none'"), std::string::npos);
}

TEST(LaunchPlan, FailuresNameThePlace) {
  EXPECT_EQ(parseLaunchPlan("{\n  \"version\": 3}").message(),
            "2:14: expected version 2 of launch plans, but got 3");
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
