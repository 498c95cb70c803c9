//===- FusionPlanTest.cpp - What runs as one kernel -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/FusionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ScopedPrinter.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// A square, its transform, and quantizations of both, that of the transform by
/// an amax of it: two passes over the square.
constexpr const char *kPlannedText = R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @f(%a: tensor<8192x4096xbf16>, %e: tensor<8192x4096xbf16>)
    -> (tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>,
        tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN>) {
  %x = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8192x4096xbf16>) outs(%e : tensor<8192x4096xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    %f = arith.extf %p : bf16 to f32
    %m = arith.mulf %f, %f : f32
    %r = arith.truncf %m : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8192x4096xbf16>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<8192x4096xbf16>
      -> tensor<8192x4096xf4E2M1FN>, tensor<8192x256xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<8192x4096xbf16>
  %m = blockscale.amax %h : tensor<8192x4096xbf16> -> tensor<f32>
  %c, %t = blockscale.quantize %h block [16, 1] transposed
      recipe te global_amax(%m : tensor<f32>) : tensor<8192x4096xbf16>
      -> tensor<4096x8192xf4E2M1FN>, tensor<4096x512xf8E4M3FN>
  return %q, %s, %c, %t : tensor<8192x4096xf4E2M1FN>,
      tensor<8192x256xf8E4M3FN>, tensor<4096x8192xf4E2M1FN>,
      tensor<4096x512xf8E4M3FN>
}
)";

class FusionPlanTest : public ::testing::Test {
protected:
  FusionPlanTest() {
    context
        .loadDialect<BlockScaleDialect, arith::ArithDialect, func::FuncDialect,
                     linalg::LinalgDialect, tensor::TensorDialect>();
    module = parseSourceString<ModuleOp>(kPlannedText, &context);
  }

  FusionPlan plan(const FusionOptions &options) {
    return planFusion(*module->getOps<func::FuncOp>().begin(), options);
  }

  /// The names of the ops of each kernel, and the number of its results.
  static std::vector<std::string> describe(const FusionPlan &plan) {
    std::vector<std::string> kernels;
    for (const PlannedKernel &kernel : plan.kernels) {
      std::string text =
          kernel.family ? stringifyKernelFamily(*kernel.family).str() : "none";
      for (Operation *op : kernel.ops)
        text += (kernel.copied.contains(op) ? " copy of " : " ") +
                op->getName().stripDialect().str();
      kernels.push_back(text + ": " + std::to_string(kernel.results.size()));
    }
    return kernels;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

using Kernels = std::vector<std::string>;

TEST_F(FusionPlanTest, LeavesTheFunctionAlone) {
  std::string before = llvm::to_string(*module);
  for (Recompute recompute : {Recompute::Never, Recompute::Always})
    plan({target::findChip("sm_100a"),
          /*fuse=*/true,
          recompute,
          TransformSizes::Any,
          {}});
  EXPECT_EQ(llvm::to_string(*module), before);
}

TEST_F(FusionPlanTest, FirstPassKeepsWhatTheSecondReads) {
  FusionPlan found = plan({target::findChip("sm_100a"),
                           /*fuse=*/true,
                           Recompute::Never,
                           TransformSizes::Any,
                           {}});
  EXPECT_EQ(describe(found),
            (Kernels{"strips generic copy of hadamard amax: 2",
                     "strips amax quantize hadamard quantize: 4"}));
  // The second kernel takes the largest of the parts that the first one stores.
  ASSERT_EQ(found.inParts.size(), 1U);
}

TEST_F(FusionPlanTest, BothPassesComputeACopy) {
  FusionPlan found = plan({target::findChip("sm_100a"),
                           /*fuse=*/true,
                           Recompute::Always,
                           TransformSizes::Any,
                           {}});
  EXPECT_EQ(describe(found),
            (Kernels{"strips copy of generic copy of hadamard amax: 1",
                     "strips amax generic quantize hadamard quantize: 4"}));
  for (const auto &[op, readers] : found.copies) {
    ASSERT_EQ(readers.size(), 1U);
    EXPECT_TRUE(isa<AmaxOp>(readers.front()));
  }
}

TEST_F(FusionPlanTest, CpuHasAKernelOfEachOp) {
  EXPECT_EQ(describe(plan({})), (Kernels{"none quantize: 2", "none hadamard: 1",
                                         "none amax: 1", "none quantize: 2"}));
}

} // namespace
