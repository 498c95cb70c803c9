//===- RowMajorData.cpp - Prepacked data in row-major order ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowMajorData.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

/// The sizes of the data: batches and K of the other operand, and rows.
static SmallVector<OpFoldResult> getDataSizes(OpBuilder &builder,
                                              ProductOpInterface op, bool ofB) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, ofB ? op.getA() : op.getB());
  OpFoldResult depth = sizes[getProductDims(op, !ofB).depth];
  if (op.getGroupOperand().dim == GroupDim::Rows)
    sizes.insert(
        sizes.begin(),
        tensor::getMixedSize(builder, loc, op.getGroupOperand().ends, 0));
  ProductDims dims = getProductDims(op, ofB);
  sizes[dims.depth] = depth;
  sizes[dims.rows] = getProductRows(builder, op, ofB);
  return sizes;
}

TypedValue<RankedTensorType>
createRowMajorData(OpBuilder &builder, ProductOpInterface op, bool ofB) {
  TypedValue<RankedTensorType> data = ofB ? op.getB() : op.getA();
  RankedTensorType type = data.getType();
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(getDataSizes(builder, op, ofB)))
    if (type.isDynamicDim(static_cast<unsigned>(dim)))
      dynamic.push_back(
          getValueOrCreateConstantIndexOp(builder, op.getLoc(), size));
  return PrepackOp::create(builder, op.getLoc(),
                           type.cloneWithEncoding(Attribute()), data, dynamic)
      .getResult();
}

} // namespace blockscale
