//===- FormKernels.cpp - Choose what runs as one kernel -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FORMKERNELS
#include "blockscale/Transforms/Passes.h.inc"

/// An uninitialized tensor of the type of `result`, dynamic sizes reified from
/// the operands of its op.
static FailureOr<Value> createDestination(OpBuilder &builder, OpResult result,
                                          ArrayRef<OpFoldResult> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dim))
      dynamic.push_back(
          getValueOrCreateConstantIndexOp(builder, result.getLoc(), size));
  return tensor::EmptyOp::create(builder, result.getLoc(), type.getShape(),
                                 type.getElementType(), dynamic,
                                 type.getEncoding())
      .getResult();
}

/// Wraps one op:
///
///   %q, %s = blockscale.quantize %x ...
/// becomes
///   %q, %s = blockscale.kernel ins(%x) outs(%empty0, %empty1) {
///   ^bb0(%lx, %lq, %ls):
///     %0, %1 = blockscale.quantize %lx ...
///     blockscale.yield %0, %1
///   }
static LogicalResult wrapInKernel(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  ReifiedRankedShapedTypeDims shapes;
  if (failed(reifyResultShapes(builder, op, shapes)))
    return op->emitOpError("expected result sizes that can be computed from "
                           "the operands");
  SmallVector<Value> outputs;
  for (OpResult result : op->getResults()) {
    FailureOr<Value> output =
        createDestination(builder, result, shapes[result.getResultNumber()]);
    if (failed(output))
      return failure();
    outputs.push_back(*output);
  }
  auto kernel = KernelOp::create(builder, loc, op->getResultTypes(),
                                 op->getOperands(), outputs);
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, body->addArgument(operand.getType(), loc));
  // The same value may be several operands; the clone maps each on its own.
  for (Value output : outputs)
    body->addArgument(output.getType(), loc);
  Operation *clone = builder.clone(*op, mapping);
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    clone->setOperand(i, body->getArgument(i));
  YieldOp::create(builder, loc, clone->getResults());
  op->replaceAllUsesWith(kernel->getResults());
  op->erase();
  return success();
}

namespace {

struct FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<KernelOp>(op))
        return WalkResult::skip();
      if (isa_and_present<BlockScaleDialect>(op->getDialect()))
        ops.push_back(op);
      return WalkResult::advance();
    });
    OpBuilder builder(&getContext());
    for (Operation *op : ops) {
      // Nothing to run where the layout stays.
      auto swizzle = dyn_cast<SwizzleOp>(op);
      if (swizzle && swizzle.getSource().getType() == swizzle.getType()) {
        swizzle.replaceAllUsesWith(swizzle.getSource());
        swizzle.erase();
      } else if (failed(wrapInKernel(builder, op))) {
        return signalPassFailure();
      }
    }
  }
};

} // namespace
} // namespace blockscale
