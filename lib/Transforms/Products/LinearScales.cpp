//===- LinearScales.cpp - Scales without a layout -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearScales.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/ProductSwizzle.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

/// The sizes of the scales of `data` that their type does not have.
static SmallVector<Value> getDynamicSizes(OpBuilder &builder, Location loc,
                                          Value scale, Value data,
                                          int64_t block) {
  auto type = cast<RankedTensorType>(scale.getType());
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(builder, loc, data);
  SmallVector<Value> sizes;
  for (auto [dim, size] :
       llvm::enumerate(getScaleSizes(builder, loc, extents, block)))
    if (type.isDynamicDim(dim))
      sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  return sizes;
}

static RankedTensorType getLinearType(Value scale) {
  return cast<RankedTensorType>(scale.getType()).cloneWithEncoding(Attribute());
}

Value createLinearScales(OpBuilder &builder, Location loc, Value scale,
                         Value data, int64_t block) {
  return SwizzleOp::create(builder, loc, getLinearType(scale), scale,
                           /*offsets=*/Value(),
                           getDynamicSizes(builder, loc, scale, data, block));
}

Value createLinearScales(OpBuilder &builder, ProductOpInterface op, Value scale,
                         Value data) {
  Location loc = op.getLoc();
  LayoutAttr grouped = getGroupedLayout(scale.getType());
  if (!grouped)
    return createLinearScales(builder, loc, scale, data, op.getBlockSize());
  int64_t block = grouped.getDim() == 1 ? op.getBlockSize() : 1;
  auto swizzle = SwizzleOp::create(
      builder, loc, getLinearType(scale), scale, op.getGroupOperand().ends,
      getDynamicSizes(builder, loc, scale, data, op.getBlockSize()), block);
  swizzle->setAttr(kEndsCheckedAttrName, builder.getUnitAttr());
  return swizzle;
}

} // namespace blockscale
