//===- CostModelTest.cpp - What ops take on a GPU -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/CostModel.h"

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

class CostModelTest : public ::testing::Test {
protected:
  CostModelTest() {
    context.loadDialect<BlockScaleDialect, func::FuncDialect,
                        tensor::TensorDialect>();
  }

  /// The costs of the module's kernels in order.
  std::vector<KernelCost> getCosts(const std::string &text, CostModel model) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    std::vector<KernelCost> costs;
    if (!module) {
      ADD_FAILURE() << text;
      return costs;
    }
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (CostModel::isKernel(op))
        costs.push_back(llvm::cantFail(model.getCost(op)));
    });
    return costs;
  }

  MLIRContext context;
};

/// A linear layer as the project's quantizers and products make it.
std::string makeLinear(const LinearRecipe &recipe, int64_t m, int64_t k,
                       int64_t n) {
  std::string data = recipe.isFp4() ? "f4E2M1FN" : "f8E4M3FN";
  std::string scale = recipe.block == 16 ? "f8E4M3FN" : "f8E8M0FNU";
  std::string layout = "#blockscale.layout<swizzle_128x4>";
  int64_t cols = llvm::divideCeil(k, recipe.block);
  auto type = [&](int64_t rows, int64_t columns, const std::string &element) {
    return llvm::formatv("tensor<{0}x{1}x{2}>", rows, columns, element).str();
  };
  std::string x = type(m, k, "bf16");
  std::string xq = type(m, k, data);
  std::string xs = type(m, cols, scale + ", " + layout);
  std::string wq = type(n, k, data);
  std::string ws = type(n, cols, scale + ", " + layout);
  bool isGiven = recipe.globalScale != GlobalScaleSource::None;
  std::string globals, global;
  std::string body;
  if (isGiven) {
    global = "global_scale(%g : tensor<f32>)";
    globals = "global_scale_a(%g : tensor<f32>) global_scale_b(%h : "
              "tensor<f32>)";
  }
  if (recipe.globalScale == GlobalScaleSource::Dynamic)
    body = "%a = blockscale.amax %x : " + x + " -> tensor<f32>\n" +
           "%g = blockscale.global_scale %a : tensor<f32>\n";
  std::string given = recipe.globalScale == GlobalScaleSource::Static
                          ? "%g: tensor<f32>, "
                          : "";
  return llvm::formatv(
      "func.func @f(%x: {0}, {1}%h: tensor<f32>, %wq: {2}, %ws: {3}) {{\n"
      "{4}%q, %s = blockscale.quantize %x block [1, {5}] {6} : {0} -> {7}, "
      "{8}\n"
      "%y = blockscale.scaled_mm %q, %wq scales(%s, %ws) block [1, {5}] {9} : "
      "{7}, {2}, {8}, {3} -> {10}\n"
      "return\n}\n",
      x, given, wq, ws, body, recipe.block, global, xq, xs, globals,
      type(m, n, "bf16"));
}

// The ops of a linear layer cost what its formulas say: in the exact model
// kernel by kernel, in torchao's where one launch is not the limit.
TEST_F(CostModelTest, LinearLayersAreTheirFormulas) {
  using Sizes = std::array<int64_t, 3>;
  for (const char *name :
       {"mxfp8", "mxfp4", "nvfp4", "nvfp4_static", "nvfp4_no_global_scale"})
    for (const char *gpuName : {"B200", "GB200", "B300", "RTX 5090"})
      for (Sizes shape : {Sizes{8192, 5120, 7168}, Sizes{8192, 4096, 512},
                          Sizes{8193, 16416, 77}})
        for (Model model : {Model::Exact, Model::Torchao}) {
          const LinearRecipe &recipe = *findLinearRecipe(name);
          const target::Gpu &gpu = *target::findGpu(gpuName);
          std::vector<KernelCost> costs =
              getCosts(makeLinear(recipe, shape[0], shape[1], shape[2]),
                       CostModel(gpu, model));
          ASSERT_GE(costs.size(), 2u);
          LinearTimes times = getLinearTimes(
              model, recipe, gpu,
              {double(shape[0]), double(shape[1]), double(shape[2])});
          double quantization = 0;
          for (const KernelCost &cost : llvm::drop_end(costs))
            quantization += cost.seconds;
          std::string what =
              llvm::formatv("{0} {1} {2}", name, gpuName, getName(model));
          EXPECT_NEAR(quantization / times.quantization, 1, 1e-12) << what;
          EXPECT_NEAR(costs.back().seconds / times.product, 1, 1e-12) << what;
        }
}

// Each limit, and the time that it gives.
TEST_F(CostModelTest, Limits) {
  const target::Gpu &gpu = *target::findGpu("GB200");
  auto getCost = [&](const std::string &text) {
    return getCosts("func.func @f(%x: tensor<8192x4096xbf16>, "
                    "%small: tensor<16x64xbf16>, %g: tensor<f32>) {\n" +
                        text + "\nreturn\n}",
                    CostModel(gpu, Model::Exact))
        .front();
  };
  KernelCost cost =
      getCost("%0 = blockscale.amax %small : tensor<16x64xbf16> -> "
              "tensor<f32>");
  EXPECT_EQ(cost.limit, Limit::Launch);
  EXPECT_EQ(cost.seconds, 2e-6);
  EXPECT_EQ(cost.bytes, 2 * 16 * 64 + 4);
  EXPECT_EQ(cost.flops, 16 * 64);
  EXPECT_EQ(cost.launches, 1);
  cost = getCost("%0 = blockscale.amax %x : tensor<8192x4096xbf16> -> "
                 "tensor<f32>");
  EXPECT_EQ(cost.limit, Limit::Memory);
  EXPECT_DOUBLE_EQ(cost.seconds, (2.0 * 8192 * 4096 + 4) / 8e12 / 0.92);
  cost = getCost("%0 = blockscale.scale_sweep %x global_amax(%g : tensor<f32>) "
                 ": tensor<8192x4096xbf16> -> tensor<8192x256xf32>");
  EXPECT_EQ(cost.limit, Limit::F32Lanes);
  EXPECT_EQ(cost.flops, 126.0 * 5 * 8192 * 4096);
  EXPECT_DOUBLE_EQ(cost.seconds, cost.flops / (2.25e15 / 32) / 0.78);
}

// A product on a GPU without such tensor cores has no cost, but a reason.
TEST_F(CostModelTest, Reasons) {
  auto module = parseSourceString<ModuleOp>(
      makeLinear(*findLinearRecipe("mxfp4"), 128, 128, 128), &context);
  ASSERT_TRUE(module);
  CostModel model(*target::findGpu("H200"), Model::Exact);
  module->walk([&](ScaledMMOp op) {
    auto cost = model.getCost(op);
    ASSERT_FALSE(cost);
    EXPECT_EQ(llvm::toString(cost.takeError()),
              "expected a GPU with tensor cores for operands of 4 bits (B200, "
              "GB200, B300, RTX 5090, RTX PRO 6000, GB10), but got H200");
  });
}

} // namespace
