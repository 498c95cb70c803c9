//===- ValueBounds.cpp - Sizes of results from sizes of operands ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds of sizes of results, by which a slice of dynamic size is known to
// reach the end of its tensor.
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"

using namespace mlir;
using namespace blockscale;

void QuantizeOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  int64_t batch = getX().getType().getRank() - 2;
  if (dim < batch) {
    bounds.bound(value)[dim] == bounds.getExpr(getX(), dim);
    return;
  }
  ScaleForm form = {{{0, 1}, {1, 1}}};
  if (value == getScale())
    form = getScaleForm();
  else if (getTransposed())
    std::swap(form[0], form[1]);
  ScaleExtent extent = form[dim - batch];
  bounds.bound(value)[dim] ==
      bounds.getExpr(getX(), batch + extent.dim).ceilDiv(extent.divisor);
}

/// The sizes of a change of layout are those of its source, and where they are
/// not stored also its operands.
template <typename OpTy>
static void boundChangedLayout(OpTy op, Value value, int64_t dim,
                               ValueBoundsConstraintSet &bounds) {
  bounds.bound(value)[dim] == bounds.getExpr(op.getSource(), dim);
  if (op.getSizes().empty() || !op.getResult().getType().isDynamicDim(dim))
    return;
  unsigned operand = op.getResult().getType().getDynamicDimIndex(dim);
  bounds.bound(value)[dim] == bounds.getExpr(op.getSizes()[operand]);
}

void PrepackOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  boundChangedLayout(*this, value, dim, bounds);
}

void SwizzleOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  boundChangedLayout(*this, value, dim, bounds);
}
