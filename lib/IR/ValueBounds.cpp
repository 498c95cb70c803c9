//===- ValueBounds.cpp - Sizes of results from sizes of operands ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// So that a slice of dynamic size is known to reach the end of its tensor.
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"

using namespace mlir;
using namespace blockscale;

void QuantizeOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  AffineExpr size = bounds.getExpr(getX(), dim);
  bool isBlocks =
      value == getScale() && dim == getScale().getType().getRank() - 1;
  bounds.bound(value)[dim] == (isBlocks ? size.ceilDiv(getBlockSize()) : size);
}

void SwizzleOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  bounds.bound(value)[dim] == bounds.getExpr(getSource(), dim);
  if (getSizes().empty() || !getResult().getType().isDynamicDim(dim))
    return;
  unsigned operand = getResult().getType().getDynamicDimIndex(dim);
  bounds.bound(value)[dim] == bounds.getExpr(getSizes()[operand]);
}
