//===- FormKernels.cpp - Choose what runs as one kernel -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/FusionLegality.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FORMKERNELS
#include "blockscale/Transforms/Passes.h.inc"

/// An uninitialized tensor of the type of `result`, dynamic sizes reified from
/// the operands of its op.
static Value createDestination(OpBuilder &builder, OpResult result,
                               ArrayRef<OpFoldResult> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dim))
      dynamic.push_back(
          getValueOrCreateConstantIndexOp(builder, result.getLoc(), size));
  return tensor::EmptyOp::create(builder, result.getLoc(), type.getShape(),
                                 type.getElementType(), dynamic,
                                 type.getEncoding());
}

/// Wraps ops, the later ones of which do not depend on the first:
///
///   %q, %s = blockscale.quantize %x ...
///   %p, %t = blockscale.quantize %x ...
/// becomes
///   %q, %s, %p, %t = blockscale.kernel ins(%x) outs(%e0, %e1, %e2, %e3) {
///   ^bb0(%lx, %l0, %l1, %l2, %l3):
///     %0, %1 = blockscale.quantize %lx ...
///     %2, %3 = blockscale.quantize %lx ...
///     blockscale.yield %0, %1, %2, %3
///   }
/// where the builder stands.
static LogicalResult wrapInKernel(OpBuilder &builder,
                                  ArrayRef<Operation *> ops) {
  Location loc = ops.front()->getLoc();
  llvm::SmallSetVector<Value, 4> inputs;
  SmallVector<Value> results, outputs;
  for (Operation *op : ops) {
    inputs.insert_range(op->getOperands());
    llvm::append_range(results, op->getResults());
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifyResultShapes(builder, op, shapes)))
      return op->emitOpError("expected result sizes that can be computed from "
                             "the operands");
    for (auto [result, sizes] : llvm::zip_equal(op->getResults(), shapes))
      outputs.push_back(createDestination(builder, result, sizes));
  }
  auto kernel = KernelOp::create(builder, loc, ValueRange(results).getTypes(),
                                 inputs.getArrayRef(), outputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Value output : outputs)
    body->addArgument(output.getType(), loc);
  SmallVector<Value> yielded;
  for (Operation *op : ops)
    llvm::append_range(yielded, builder.clone(*op, mapping)->getResults());
  YieldOp::create(builder, loc, yielded);
  for (auto [result, ofKernel] : llvm::zip_equal(results, kernel.getResults()))
    result.replaceAllUsesWith(ofKernel);
  for (Operation *op : ops)
    op->erase();
  return success();
}

/// Whether what `value` is computed from comes before `op`, in whose block it
/// is computed if anywhere.
static bool isBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() ||
         definition->isBeforeInBlock(op);
}

/// Whether nothing that uses the results of `op` comes before `other`.
static bool isUsedAfter(Operation *op, Operation *other) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    Operation *ancestor = other->getBlock()->findAncestorOpInBlock(*user);
    return !ancestor || !ancestor->isBeforeInBlock(other);
  });
}

/// The one of `ops`, in the order of their block, where all can be computed;
/// null if there is none.
static Operation *findPlace(ArrayRef<Operation *> ops) {
  Operation *first = ops.front(), *last = ops.back();
  if (llvm::all_of(ops.drop_front(), [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          return isBefore(operand, first);
        });
      }))
    return first;
  if (llvm::all_of(ops.drop_back(),
                   [&](Operation *op) { return isUsedAfter(op, last); }))
    return last;
  return nullptr;
}

namespace {

struct FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    if (readOnce && failed(wrapSiblings(builder)))
      return signalPassFailure();
    for (Operation *op : collect()) {
      // Nothing to run where the layout stays.
      auto swizzle = dyn_cast<SwizzleOp>(op);
      if (swizzle && swizzle.getSource().getType() == swizzle.getType()) {
        swizzle.replaceAllUsesWith(swizzle.getSource());
        swizzle.erase();
        continue;
      }
      builder.setInsertionPoint(op);
      if (failed(wrapInKernel(builder, op)))
        return signalPassFailure();
    }
  }

private:
  /// Ops of the dialect that are in no kernel yet.
  SmallVector<Operation *> collect() {
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<KernelOp>(op))
        return WalkResult::skip();
      if (isa_and_present<BlockScaleDialect>(op->getDialect()))
        ops.push_back(op);
      return WalkResult::advance();
    });
    return ops;
  }

  /// Quantizations of one x in one block.
  LogicalResult wrapSiblings(OpBuilder &builder) {
    llvm::MapVector<std::pair<Value, Block *>, SmallVector<QuantizeOp>> groups;
    for (Operation *op : collect())
      if (auto quantize = dyn_cast<QuantizeOp>(op))
        groups[{quantize.getX(), op->getBlock()}].push_back(quantize);
    for (auto &[key, siblings] : groups) {
      if (siblings.size() < 2)
        continue;
      SmallVector<Operation *> ops;
      for (QuantizeOp op : siblings) {
        std::optional<FusionObstacle> obstacle = findOneReadObstacle(op);
        if (obstacle)
          op.emitRemark() << "reads x in a kernel of its own " << *obstacle;
        else
          ops.push_back(op);
      }
      if (ops.size() < 2)
        continue;
      Operation *place = findPlace(ops);
      if (!place) {
        ops.back()->emitRemark()
            << "reads x in a kernel of its own: expected its operands to come "
               "before the first quantization of x, or the results of the "
               "others to be used after it";
        continue;
      }
      builder.setInsertionPoint(place);
      if (failed(wrapInKernel(builder, ops)))
        return failure();
    }
    return success();
  }
};

} // namespace
} // namespace blockscale
