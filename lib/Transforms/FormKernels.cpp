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

/// Whether ops of `ops` need `value`, and others its sizes at most.
static bool isInternal(Value value, ArrayRef<Operation *> ops) {
  auto isInOps = [&](Operation *user) { return llvm::is_contained(ops, user); };
  return llvm::any_of(value.getUsers(), isInOps) &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           return isInOps(user) || isa<tensor::DimOp>(user);
         });
}

/// Wraps ops, which are in an order in which they can be computed:
///
///   %q, %s = blockscale.quantize %x ...
///   %h = blockscale.hadamard %x ...
///   %p, %t = blockscale.quantize %h ...
/// becomes
///   %q, %s, %p, %t = blockscale.kernel ins(%x) outs(%e0, %e1, %e2, %e3) {
///   ^bb0(%lx, %l0, %l1, %l2, %l3):
///     %0, %1 = blockscale.quantize %lx ...
///     %2 = blockscale.hadamard %lx ...
///     %3, %4 = blockscale.quantize %2 ...
///     blockscale.yield %0, %1, %3, %4
///   }
/// where the builder stands.
static LogicalResult wrapInKernel(OpBuilder &builder,
                                  ArrayRef<Operation *> ops) {
  Location loc = ops.front()->getLoc();
  llvm::SmallSetVector<Value, 4> inputs;
  SmallVector<Value> results, outputs;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(ops, operand.getDefiningOp()))
        inputs.insert(operand);
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifyResultShapes(builder, op, shapes)))
      return op->emitOpError("expected result sizes that can be computed from "
                             "the operands");
    for (auto [result, sizes] : llvm::zip_equal(op->getResults(), shapes)) {
      if (isInternal(result, ops))
        continue;
      results.push_back(result);
      outputs.push_back(createDestination(builder, result, sizes));
    }
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
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  YieldOp::create(builder, loc, llvm::map_to_vector(results, [&](Value result) {
                    return mapping.lookup(result);
                  }));
  for (auto [result, ofKernel] : llvm::zip_equal(results, kernel.getResults()))
    result.replaceAllUsesWith(ofKernel);
  for (Operation *op : llvm::reverse(ops)) {
    // Its sizes are those of its source.
    if (auto hadamard = dyn_cast<HadamardOp>(op))
      hadamard.replaceAllUsesWith(hadamard.getX());
    op->erase();
  }
  return success();
}

/// Whether `value` can be computed before `first`, the first one of `ops` in
/// their block, or with them.
static bool isAvailable(Value value, Operation *first,
                        ArrayRef<Operation *> ops) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != first->getBlock() ||
         llvm::is_contained(ops, definition) ||
         definition->isBeforeInBlock(first);
}

/// The one of `ops`, in the order of their block, where all can be computed;
/// null if there is none.
static Operation *findPlace(ArrayRef<Operation *> ops) {
  Operation *first = ops.front(), *last = ops.back();
  if (llvm::all_of(ops, [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          return isAvailable(operand, first, ops);
        });
      }))
    return first;
  auto isUsedEarly = [&](Operation *user) {
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    return !llvm::is_contained(ops, user) && ancestor &&
           ancestor->isBeforeInBlock(last);
  };
  bool hasPlace = llvm::none_of(ops, [&](Operation *op) {
    return llvm::any_of(op->getUsers(), isUsedEarly);
  });
  return hasPlace ? last : nullptr;
}

namespace {

/// Quantizations of one x that share a kernel, and the transforms of x that
/// some of them take.
struct Siblings {
  SmallVector<QuantizeOp> quantizes;
  llvm::SmallSetVector<Operation *, 2> transforms;

  SmallVector<Operation *> getOps() const {
    SmallVector<Operation *> ops(transforms.begin(), transforms.end());
    ops.append(quantizes.begin(), quantizes.end());
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return ops;
  }
};

struct FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    if (!chip.empty()) {
      const target::Chip *found = target::findChip(chip);
      if (!found) {
        emitError(getOperation()->getLoc())
            << "expected the chip to be one of " << target::listChips()
            << ", but got '" << chip << "'";
        return signalPassFailure();
      }
      if (failed(wrapSiblings(builder, *found)))
        return signalPassFailure();
    }
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

  /// Transforms that all who use them can compute in registers.
  llvm::SmallPtrSet<Operation *, 8> findTransforms(const target::Chip &chip) {
    llvm::SmallPtrSet<Operation *, 8> transforms;
    for (Operation *op : collect()) {
      auto hadamard = dyn_cast<HadamardOp>(op);
      if (!hadamard || llvm::none_of(op->getUsers(), llvm::IsaPred<QuantizeOp>))
        continue;
      if (std::optional<FusionObstacle> obstacle =
              findTransformObstacle(hadamard, chip))
        op->emitRemark("has a kernel of its own ") << *obstacle;
      else
        transforms.insert(op);
    }
    return transforms;
  }

  LogicalResult wrapSiblings(OpBuilder &builder, const target::Chip &chip) {
    llvm::SmallPtrSet<Operation *, 8> transforms = findTransforms(chip);
    llvm::MapVector<std::pair<Value, Block *>, Siblings> groups;
    for (Operation *op : collect()) {
      auto quantize = dyn_cast<QuantizeOp>(op);
      if (!quantize)
        continue;
      Value x = quantize.getX();
      Operation *transform = x.getDefiningOp();
      if (!transforms.contains(transform))
        transform = nullptr;
      else
        x = cast<HadamardOp>(transform).getX();
      Siblings &siblings = groups[{x, op->getBlock()}];
      siblings.quantizes.push_back(quantize);
      if (transform)
        siblings.transforms.insert(transform);
    }
    for (auto &[key, siblings] : groups)
      if (failed(wrap(builder, siblings)))
        return failure();
    return success();
  }

  LogicalResult wrap(OpBuilder &builder, Siblings &siblings) {
    auto isAlone = [&] {
      return siblings.quantizes.size() < 2 && siblings.transforms.empty();
    };
    if (isAlone())
      return success();
    llvm::erase_if(siblings.quantizes, [](QuantizeOp op) {
      std::optional<FusionObstacle> obstacle = findOneReadObstacle(op);
      if (obstacle)
        op.emitRemark() << "reads x in a kernel of its own " << *obstacle;
      return obstacle.has_value();
    });
    if (isAlone())
      return success();
    SmallVector<Operation *> ops = siblings.getOps();
    Operation *place = findPlace(ops);
    if (!place) {
      ops.back()->emitRemark()
          << "reads x in a kernel of its own: expected its operands to come "
             "before the first quantization of x, or the results of the "
             "others to be used after it";
      return success();
    }
    builder.setInsertionPoint(place);
    return wrapInKernel(builder, ops);
  }
};

} // namespace
} // namespace blockscale
