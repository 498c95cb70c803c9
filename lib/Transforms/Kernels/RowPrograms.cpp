//===- RowPrograms.cpp - Kernels of norms ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"
#include "KernelWrapping.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

using Values = llvm::SetVector<Value>;

/// A tensor of the shape of a result of a linalg op, which memory holds.
static Value getInit(OpResult result) {
  Value init = result;
  while (auto op = init.getDefiningOp<linalg::LinalgOp>())
    init = op.getTiedOpOperand(cast<OpResult>(init))->get();
  return init;
}

static Value createDestination(OpBuilder &builder, OpResult result) {
  if (isa<linalg::LinalgOp>(result.getOwner()))
    return getInit(result);
  ReifiedRankedShapedTypeDims shapes;
  // Quantizations have sizes.
  (void)reifyResultShapes(builder, result.getOwner(), shapes);
  return createEmptyTensor(builder, result, shapes[result.getResultNumber()]);
}

/// Sizes of what a program computes are those of its destinations.
static void replaceSizes(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (isa<linalg::LinalgOp>(op))
      for (OpResult result : op->getResults())
        result.replaceUsesWithIf(getInit(result), [](OpOperand &use) {
          return isa<tensor::DimOp>(use.getOwner());
        });
}

static Values getNeeded(Operation *op) {
  Values needed(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), needed);
  return needed;
}

/// What `ops` need from outside, besides what is made anew, and what that
/// needs.
static Values collectInputs(ArrayRef<Operation *> ops) {
  Values inputs;
  auto insert = [&](Value value) {
    if (!isMadeAnew(value.getDefiningOp()))
      inputs.insert(value);
  };
  for (Operation *op : ops)
    for (Value value : getNeeded(op))
      if (!llvm::is_contained(ops, value.getDefiningOp()))
        insert(value);
  // The sizes of tensors made anew are those of inputs, or inputs.
  auto isSizeOfInput = [&](Value size) {
    auto dim = size.getDefiningOp<tensor::DimOp>();
    return dim && inputs.contains(dim.getSource()) &&
           isMadeAnew(dim.getIndex().getDefiningOp());
  };
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (Value scalar = getFilledScalar(definition)) {
        insert(scalar);
        Value filled = cast<linalg::LinalgOp>(definition).getDpsInits().front();
        definition = filled.getDefiningOp();
        insert(filled);
      }
      if (auto empty = dyn_cast_if_present<tensor::EmptyOp>(definition))
        for (Value size : empty.getDynamicSizes())
          if (!isSizeOfInput(size))
            insert(size);
    }
  return inputs;
}

/// Clones what makes `value`, unless the kernel has it.
static void makeAnew(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  for (Value operand : getNeeded(op))
    makeAnew(builder, operand, mapping);
  builder.clone(*op, mapping);
}

KernelOp wrapRowProgram(ArrayRef<Operation *> ops, ValueRange results) {
  OpBuilder builder(ops.back());
  auto outputs = llvm::map_to_vector(results, [&](Value result) {
    return createDestination(builder, cast<OpResult>(result));
  });
  for (Operation *op : ops)
    // Quantizations have sizes.
    (void)replaceUnstoredSizes(builder, ops, op);
  replaceSizes(ops);
  return replaceByKernel(
      builder, ops.back()->getLoc(), ops, collectInputs(ops).getArrayRef(),
      outputs, results,
      [&](OpBuilder &builder, Operation *op, IRMapping &mapping) {
        for (Value value : getNeeded(op))
          makeAnew(builder, value, mapping);
        builder.clone(*op, mapping);
      });
}

} // namespace blockscale
