//===- KernelPlace.cpp - Where a kernel of several ops stands -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlace.h"
#include "KernelWrapping.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

/// Whether `value` can be computed before `first`, the first one of `ops` in
/// their block, or with them.
static bool isAvailable(Value value, Operation *first,
                        ArrayRef<Operation *> ops) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != first->getBlock() ||
         llvm::is_contained(ops, definition) ||
         definition->isBeforeInBlock(first);
}

/// Moves slices, constants and scalars that `ops` need before the first one of
/// them. Fails where they need other things from behind it.
static LogicalResult moveOperands(ArrayRef<Operation *> ops) {
  Operation *first = ops.front();
  llvm::SetVector<Operation *> needed;
  auto insert = [&](Operation *op) {
    for (Value operand : getInputs(op))
      if (!isAvailable(operand, first, ops))
        needed.insert(operand.getDefiningOp());
  };
  llvm::for_each(ops, insert);
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i];
    bool isCheap =
        isPure(op) && op->getNumRegions() == 0 &&
        isa<affine::AffineDialect, arith::ArithDialect, tensor::TensorDialect>(
            op->getDialect());
    bool needsOps = llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::is_contained(ops, operand.getDefiningOp());
    });
    if (!isCheap || needsOps)
      return failure();
    insert(op);
  }
  SmallVector<Operation *> moved = needed.takeVector();
  llvm::sort(moved,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : moved)
    op->moveBefore(first);
  return success();
}

Operation *findPlace(ArrayRef<Operation *> ops) {
  Operation *first = ops.front(), *last = ops.back();
  if (llvm::all_of(ops, [&](Operation *op) {
        return llvm::all_of(getInputs(op), [&](Value operand) {
          return isAvailable(operand, first, ops);
        });
      }))
    return first;
  bool hasPlace = llvm::none_of(ops, [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
      // Sizes are those of what it is made of.
      bool isSize = getSameSizedSource(op) && isa<tensor::DimOp>(user);
      return !llvm::is_contained(ops, user) && !isSize && ancestor &&
             ancestor->isBeforeInBlock(last);
    });
  });
  if (hasPlace)
    return last;
  return succeeded(moveOperands(ops)) ? first : nullptr;
}

Operation *findPlaceOf(SmallVectorImpl<Operation *> &ops) {
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops.empty() ? nullptr : findPlace(ops);
}

} // namespace blockscale
