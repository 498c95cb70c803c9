//===- FusionModelTest.cpp - What fused kernels take ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/FusionModel.h"

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// A product of 1024 rows or `?` and its quantization, by rows and by columns.
constexpr const char *kText = R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @f(%a: tensor<{0}x4096xbf16>, %b: tensor<{0}x4096xbf16>,
             %e: tensor<{0}x4096xbf16>) -> ({1}) {
  %x = linalg.generic {indexing_maps = [#id, #id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<{0}x4096xbf16>, tensor<{0}x4096xbf16>)
      outs(%e : tensor<{0}x4096xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %r = arith.mulf %p, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<{0}x4096xbf16>
  %d, %s = blockscale.quantize %x block [1, 32] : tensor<{0}x4096xbf16>
      -> tensor<{0}x4096xf8E4M3FN>, tensor<{0}x128xf8E8M0FNU>
  %c, %t = blockscale.quantize %x block [32, 1] : tensor<{0}x4096xbf16>
      -> tensor<{0}x4096xf8E4M3FN>, tensor<{2}x4096xf8E8M0FNU>
  return {3}
}
)";

constexpr double kElements = 1024.0 * 4096;
/// What a product reads and writes, and what a quantization writes.
constexpr double kInput = 2 * 2 * kElements, kX = 2 * kElements;
constexpr double kQuantized = kElements + kElements / 32;

class FusionModelTest : public ::testing::Test {
protected:
  FusionModelTest() {
    context
        .loadDialect<BlockScaleDialect, arith::ArithDialect, func::FuncDialect,
                     linalg::LinalgDialect, tensor::TensorDialect>();
  }

  static void replaceAll(std::string &text, StringRef from, StringRef to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
  }

  /// Parses the program; `isXReturned` makes x a result as well.
  void parse(StringRef rows, bool isXReturned) {
    std::string text = kText, size = rows.str();
    std::string types = "tensor<{0}x4096xf8E4M3FN>, tensor<{0}x128xf8E8M0FNU>, "
                        "tensor<{0}x4096xf8E4M3FN>, tensor<{2}x4096xf8E8M0FNU>";
    std::string values = "%d, %s, %c, %t";
    if (isXReturned) {
      types += ", tensor<{0}x4096xbf16>";
      values += ", %x";
    }
    replaceAll(text, "{3}", values + " : " + types);
    replaceAll(text, "{1}", types);
    replaceAll(text, "{2}", size == "?" ? "?" : "32");
    replaceAll(text, "{0}", size);
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    ops.clear();
    module->walk([&](Operation *op) {
      if (isa<linalg::GenericOp, QuantizeOp>(op))
        ops.push_back(op);
    });
  }

  llvm::Expected<Cost> tryCost(ArrayRef<SmallVector<Operation *>> kernels,
                               ArrayRef<int64_t> dynamicSizes) {
    SmallVector<FusionModel::KernelOps> refs(kernels.begin(), kernels.end());
    return FusionModel(*target::findChip("sm_100a"), dynamicSizes)
        .getCost(refs);
  }

  Cost getCost(ArrayRef<SmallVector<Operation *>> kernels,
               ArrayRef<int64_t> dynamicSizes = {}) {
    return llvm::cantFail(tryCost(kernels, dynamicSizes));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  /// The product, the rows' quantization and the columns'.
  SmallVector<Operation *> ops;
};

TEST_F(FusionModelTest, OneKernelMovesNothingBetweenItsOps) {
  parse("1024", /*isXReturned=*/false);
  Cost apart = getCost({{ops[0]}, {ops[1]}, {ops[2]}});
  EXPECT_EQ(apart.bytes, kInput + 3 * kX + 2 * kQuantized);
  EXPECT_EQ(apart.launches, 3);
  Cost fused = getCost({{ops[0], ops[1], ops[2]}});
  EXPECT_EQ(fused.bytes, kInput + 2 * kQuantized);
  EXPECT_EQ(fused.launches, 1);
  EXPECT_EQ(fused.flops, apart.flops);
  EXPECT_LT(fused.seconds, apart.seconds);
}

TEST_F(FusionModelTest, WhatKernelsComputeEachIsNotStored) {
  parse("1024", /*isXReturned=*/false);
  Cost once = getCost({{ops[0], ops[1], ops[2]}});
  Cost twice = getCost({{ops[0], ops[1]}, {ops[0], ops[2]}});
  EXPECT_EQ(twice.bytes, 2 * (kInput + kQuantized));
  // The multiplication of each element, again.
  EXPECT_EQ(twice.flops, once.flops + 2 * kElements);
}

TEST_F(FusionModelTest, WhatOthersNeedIsStored) {
  parse("1024", /*isXReturned=*/true);
  Cost fused = getCost({{ops[0], ops[1], ops[2]}});
  EXPECT_EQ(fused.bytes, kInput + kX + 2 * kQuantized);
}

/// Two kernels that both quantize columns: the one makes x, the other reads it.
TEST_F(FusionModelTest, WhatOneOfTwoKernelsReadsIsStored) {
  parse("1024", /*isXReturned=*/false);
  Cost both = getCost({{ops[0], ops[1], ops[2]}, {ops[2]}});
  EXPECT_EQ(both.bytes, kInput + kX + 2 * kQuantized + kX + kQuantized);
}

TEST_F(FusionModelTest, AKernelStoresWhatItIsToldTo) {
  parse("1024", /*isXReturned=*/false);
  FusionModel model(*target::findChip("sm_100a"), {});
  SmallVector<Operation *> kernel{ops[0], ops[1]};
  SmallVector<Value> results(ops[1]->getResults());
  EXPECT_EQ(llvm::cantFail(model.getCost(kernel, results)).bytes,
            kInput + kQuantized);
  results.push_back(ops[0]->getResult(0));
  EXPECT_EQ(llvm::cantFail(model.getCost(kernel, results)).bytes,
            kInput + kX + kQuantized);
}

TEST_F(FusionModelTest, DynamicSizesAreAssumed) {
  parse("?", /*isXReturned=*/false);
  Cost fused = getCost({{ops[0], ops[1], ops[2]}}, {1024});
  EXPECT_EQ(fused.bytes, kInput + 2 * kQuantized);
  llvm::Expected<Cost> unknown = tryCost({{ops[0], ops[1], ops[2]}}, {});
  ASSERT_FALSE(unknown);
  EXPECT_NE(llvm::toString(unknown.takeError()).find("dynamic-sizes"),
            std::string::npos);
}

} // namespace
