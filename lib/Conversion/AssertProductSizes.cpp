//===- AssertProductSizes.cpp - Sizes before operands move ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/AssertedSizes.h"
#include "Emission/OperandChecks.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_ASSERTPRODUCTSIZES
#include "blockscale/Conversion/Passes.h.inc"

/// Asserts the rules about the operands of `op`, and marks it:
///
///   %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] ..
/// becomes
///   %found = tensor.dim %sb, %c1
///   %holds = arith.cmpi eq, %found, %expected
///   cf.assert %holds, "scaled_mm: expected dimension 1 of scale_b to fit .."
///   %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
///       {blockscale.sizes_asserted} ..
///
/// The rules are asked of a kernel that holds a copy of the op, and is erased.
template <typename OpTy>
static void assertSizes(OpTy op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto kernel = KernelOp::create(b, TypeRange(), op->getOperands(),
                                 /*outputs=*/ValueRange(),
                                 /*family=*/KernelFamilyAttr());
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, body.addArgument(operand.getType(), op.getLoc()));
  auto inside = OpBuilder::atBlockEnd(&body);
  auto copy = cast<OpTy>(inside.clone(*op, mapping));
  YieldOp::create(inside, op.getLoc(), ValueRange());

  emit::CallSite site(b, emit::KernelOperands(kernel, kernel.getOperands()),
                      op->getName().stripDialect());
  emit::requireOperands(copy, site);
  for (const emit::CallSite::Check &check : site.getChecks())
    emit::createAssert(b, check);
  kernel.erase();
  op->setAttr(emit::kSizesAssertedAttrName, b.getUnitAttr());
}

/// Whether types leave sizes of the op open that its operands tell: the rows of
/// prepacked data come from the memory of the result.
static bool hasSizesToAssert(Operation *op) {
  auto isDynamic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  };
  return llvm::any_of(op->getOperandTypes(), isDynamic) &&
         llvm::none_of(op->getOperandTypes(), [&](Type type) {
           return isPrepacked(type) && isDynamic(type);
         });
}

namespace {

struct AssertProductSizesPass
    : public impl::AssertProductSizesBase<AssertProductSizesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation()->walk([&](ProductOpInterface op) {
      if (hasSizesToAssert(op) && !op->getParentOfType<KernelOp>())
        products.push_back(op);
    });
    if (products.empty())
      return;
    for (Operation *product : products)
      TypeSwitch<Operation *>(product).Case<ScaledMMOp, ScaledGroupedMMOp>(
          [](auto op) { assertSizes(op); });
    resolveSizes();
  }

private:
  /// Asks for sizes of arguments instead of those of what is made of them:
  /// ops fuse with their only users.
  void resolveSizes() {
    RewritePatternSet patterns(&getContext());
    memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
    SmallVector<Operation *> questions;
    getOperation()->walk([&](tensor::DimOp op) { questions.push_back(op); });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(questions, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
