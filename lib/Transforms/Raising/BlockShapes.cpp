//===- BlockShapes.cpp - Shapes of blocks, row by row ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockShapes.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;

namespace blockscale {

bool canReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from == to)
    return true;
  return !ShapedType::isDynamicShape(from) && !ShapedType::isDynamicShape(to) &&
         !from.empty() && !to.empty() &&
         ShapedType::getNumElements(from) == ShapedType::getNumElements(to);
}

Value createReshape(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  RankedTensorType result = type.clone(shape);
  int64_t rank = type.getRank(), resultRank = result.getRank();
  auto groups = rank == resultRank
                    ? std::nullopt
                    : getReassociationIndicesForReshape(type, result);
  if (groups && rank > resultRank)
    return tensor::CollapseShapeOp::create(builder, loc, result, value,
                                           *groups);
  if (groups)
    return tensor::ExpandShapeOp::create(builder, loc, result, value, *groups);
  if (rank > 1) {
    ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(rank));
    value = tensor::CollapseShapeOp::create(builder, loc, value, {all});
  }
  if (resultRank == 1)
    return value;
  ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(resultRank));
  return tensor::ExpandShapeOp::create(builder, loc, result, value, {all});
}

bool hasBlockDim(RankedTensorType type, int64_t block) {
  return type.getRank() >= 3 && type.getShape().back() == block;
}

RankedTensorType getJoinedType(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape().drop_back());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() *= type.getShape().back();
  return type.clone(shape);
}

/// [[0], .., [rank - 2, rank - 1]].
static SmallVector<ReassociationIndices> getBlockGroups(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    groups.push_back({dim});
  groups.push_back({rank - 2, rank - 1});
  return groups;
}

Value createJoinedBlocks(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return tensor::CollapseShapeOp::create(builder, loc, getJoinedType(type),
                                         value, getBlockGroups(type.getRank()));
}

Value createSplitBlocks(OpBuilder &builder, Location loc, Value value,
                        Value like) {
  auto type = cast<RankedTensorType>(value.getType());
  auto shape = cast<RankedTensorType>(like.getType());
  return tensor::ExpandShapeOp::create(
      builder, loc, type.clone(shape.getShape()), value,
      getBlockGroups(shape.getRank()),
      tensor::getMixedSizes(builder, loc, like));
}

SmallVector<ReassociationIndices> getRowReassociation(int64_t rank) {
  return {llvm::to_vector(llvm::seq<int64_t>(rank - 1)), {rank - 1}};
}

Value flattenRows(OpBuilder &builder, Location loc, Value value) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return tensor::CollapseShapeOp::create(builder, loc, value,
                                         getRowReassociation(rank));
}

Value createRowReshape(OpBuilder &builder, tensor::CollapseShapeOp op,
                       Value rows) {
  return tensor::CollapseShapeOp::create(builder, op.getLoc(), rows,
                                         op.getReassociationIndices());
}

Value createRowReshape(OpBuilder &builder, tensor::ExpandShapeOp op,
                       Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(op.getResultType().getShape());
  shape.back() = type.getShape().back();
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  sizes.back() =
      tensor::getMixedSize(builder, op.getLoc(), rows, type.getRank() - 1);
  return tensor::ExpandShapeOp::create(builder, op.getLoc(), type.clone(shape),
                                       rows, op.getReassociationIndices(),
                                       sizes);
}

} // namespace blockscale
