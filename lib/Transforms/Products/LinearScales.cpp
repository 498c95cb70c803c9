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

Value createLinearScales(OpBuilder &builder, ProductOpInterface op, Value scale,
                         Value data) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(scale.getType());
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(builder, loc, data);
  SmallVector<Value> sizes;
  for (auto [dim, size] :
       llvm::enumerate(getScaleSizes(builder, loc, extents, op.getBlockSize())))
    if (type.isDynamicDim(dim))
      sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  LayoutAttr layout = getLayout(type);
  bool isGrouped = layout.isGrouped();
  int64_t block = isGrouped && layout.getDim() == 1 ? op.getBlockSize() : 1;
  auto swizzle = SwizzleOp::create(
      builder, loc, type.cloneWithEncoding(Attribute()), scale,
      isGrouped ? op.getGroupOperand().ends : Value(), sizes, block);
  if (isGrouped)
    swizzle->setAttr(kEndsCheckedAttrName, builder.getUnitAttr());
  return swizzle;
}

} // namespace blockscale
