//===- CompileTest.cpp - What observers of a compilation see --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Compile.h"
#include "blockscale/Runtime/Bundle.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace {

constexpr const char *kSource = R"(
func.func @amax(%x: tensor<4x32xf32>) -> tensor<f32> {
  %a = blockscale.amax %x : tensor<4x32xf32> -> tensor<f32>
  return %a : tensor<f32>
})";

class Recorder : public CompileObserver {
public:
  Status begin(const std::string &step, size_t number, size_t count) override {
    EXPECT_EQ(number, steps.size());
    steps.push_back(step);
    total = count;
    return step == stopBefore ? Status::failure("stopped") : Status::success();
  }

  Status dump(ModuleOp, size_t number, const std::string &stage) override {
    numbers.push_back(number);
    dumps.push_back(stage);
    return Status::success();
  }

  std::string stopBefore;
  std::vector<std::string> steps, dumps;
  std::vector<size_t> numbers;
  size_t total = 0;
};

class CompileTest : public testing::Test {
protected:
  CompileTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(kSource, &context);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  CompileOptions options;
  Recorder recorder;
};

TEST_F(CompileTest, StepsAreCountedAndStagesDumped) {
  options.targets = {"sm_90a"};
  options.emission = Emission::PTX;
  Result<Compilation> result = compile(*module, options, recorder);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(recorder.steps.back(), "ptx");
  EXPECT_EQ(recorder.steps.size(), recorder.total);
  // Every stage has a dump; the input too, and what is emitted none.
  EXPECT_EQ(recorder.dumps.size(), recorder.total);
  EXPECT_EQ(recorder.dumps.front(), "input");
  EXPECT_EQ(recorder.dumps[1], recorder.steps[0]);
  EXPECT_EQ(recorder.numbers.back(), recorder.total - 1);
}

TEST_F(CompileTest, TargetsOfABundleAreCountedTogether) {
  options.targets = {"sm_90a", "sm_100a"};
  options.emission = Emission::Bundle;
  Result<Compilation> result = compile(*module, options, recorder);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(recorder.steps.size(), recorder.total);
  EXPECT_EQ(llvm::count(recorder.steps, "bundle"), 2);
}

/// Functions whose plans have workspaces, constants, dims, constraints and
/// tensor maps.
constexpr const char *kPlanned = R"(
func.func @quantize(%x: tensor<?x80xbf16>)
    -> (tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>) {
  %a = blockscale.amax %x : tensor<?x80xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a recipe torchao : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>
  return %q, %s : tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>
}
func.func @constants(%i: i64) -> (tensor<2x3xf32>, tensor<4xi32>, tensor<4xi32>) {
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %a, %b, %b : tensor<2x3xf32>, tensor<4xi32>, tensor<4xi32>
}
#sw = #blockscale.layout<swizzle_128x4>
func.func @product(%a: tensor<?x512xf4E2M1FN>, %as: tensor<?x32xf8E4M3FN, #sw>,
                   %b: tensor<256x512xf4E2M1FN>, %bs: tensor<256x32xf8E4M3FN, #sw>)
    -> tensor<?x256xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%as, %bs) block [1, 16]
      : tensor<?x512xf4E2M1FN>, tensor<256x512xf4E2M1FN>,
        tensor<?x32xf8E4M3FN, #sw>, tensor<256x32xf8E4M3FN, #sw> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
})";

// The text of a plan says all that the plan is, in a bundle as well: what is
// read of it is written as the same text.
TEST_F(CompileTest, PlansAreReadAsTheyAreWritten) {
  auto emit = [&](Emission emission) {
    module = parseSourceString<ModuleOp>(kPlanned, &context);
    options.targets = {"sm_100a"};
    options.emission = emission;
    CompileObserver observer;
    Result<Compilation> result = compile(*module, options, observer);
    EXPECT_TRUE(result.ok()) << result.message();
    return result.ok() ? result->output : std::string();
  };
  std::string text = emit(Emission::Plan);
  for (const char *part : {"\"workspace0\"", "\"constant1\"", "\"arg0_dim0\"",
                           "\"message\"", "\"tensor_map\"", "\"copy\""})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  Result<runtime::LaunchPlan> plan = runtime::parseLaunchPlan(text);
  ASSERT_TRUE(plan.ok()) << plan.message();
  EXPECT_EQ(runtime::writeLaunchPlan(*plan), text);
  auto bundle = runtime::Bundle::parse(emit(Emission::Bundle));
  ASSERT_TRUE(bundle.ok()) << bundle.message();
  EXPECT_EQ(runtime::writeLaunchPlan((*bundle)->getTargets()[0].plan), text);
}

TEST_F(CompileTest, OutputsAreToldFromWhatIsDamaged) {
  for (auto [emission, target] : {std::pair(Emission::Bundle, "sm_90a"),
                                  std::pair(Emission::Plan, "sm_90a"),
                                  std::pair(Emission::Object, "cpu")}) {
    options.targets = {target};
    options.emission = emission;
    OwningOpRef<ModuleOp> copy(module->clone());
    Result<Compilation> result = compile(*copy, options, recorder);
    ASSERT_TRUE(result.ok()) << result.message();
    const std::string &bytes = result->output;
    EXPECT_TRUE(isOutput(bytes, emission));
    EXPECT_FALSE(isOutput("", emission));
    EXPECT_FALSE(isOutput(bytes.substr(0, bytes.size() / 2), emission));
    EXPECT_FALSE(isOutput("x" + bytes, emission));
    EXPECT_TRUE(isOutput(bytes, Emission::PTX));
    recorder = Recorder();
  }
}

TEST_F(CompileTest, AnObserverEndsTheCompilation) {
  options.targets = {"cpu"};
  recorder.stopBefore = "bufferize";
  Result<Compilation> result = compile(*module, options, recorder);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.message(), "stopped");
  EXPECT_EQ(recorder.steps.back(), "bufferize");
}

} // namespace
