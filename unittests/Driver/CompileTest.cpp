//===- CompileTest.cpp - What observers of a compilation see --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Compile.h"

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

TEST_F(CompileTest, AnObserverEndsTheCompilation) {
  options.targets = {"cpu"};
  recorder.stopBefore = "bufferize";
  Result<Compilation> result = compile(*module, options, recorder);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.message(), "stopped");
  EXPECT_EQ(recorder.steps.back(), "bufferize");
}

} // namespace
