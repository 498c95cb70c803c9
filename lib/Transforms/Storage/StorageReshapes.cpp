//===- StorageReshapes.cpp - Reshapes of storage --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoragePatterns.h"
#include "StorageRules.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

/// Rows of packed data end in whole bytes, so that rows may be counted in any
/// way. Columns that are split or joined are so in whole bytes if the shorter
/// rows have an even number of elements, or all of them.
template <typename OpTy>
static LogicalResult verifyReshape(OpTy op, RankedTensorType expanded) {
  for (RankedTensorType type : {op.getSrcType(), op.getResultType()})
    if (hasLayout(type))
      return op.emitOpError()
             << "expected a reshape of "
             << (isPrepacked(type) ? "row-major data (blockscale.prepack)"
                                   : "linear scales (blockscale.swizzle)")
             << ", but got " << type;
  if (op.getReassociationIndices().empty() ||
      op.getReassociationIndices().back().size() == 1)
    return success();
  int64_t last = expanded.getShape().back();
  int64_t unit = getStorageUnit(expanded, expanded.getRank() - 1);
  bool isWholeRow = llvm::all_of(
      ArrayRef<int64_t>(op.getReassociationIndices().back()).drop_back(),
      [&](int64_t dim) { return expanded.getDimSize(dim) == 1; });
  if (unit == 1 || isWholeRow ||
      (!ShapedType::isDynamic(last) && last % unit == 0))
    return success();
  return op.emitOpError()
         << "expected columns of packed data to be split or joined in rows of "
            "a static multiple of "
         << unit << " elements, but got " << expanded;
}

LogicalResult verifyCollapseShape(tensor::CollapseShapeOp op) {
  return verifyReshape(op, op.getSrcType());
}

LogicalResult verifyExpandShape(tensor::ExpandShapeOp op) {
  return verifyReshape(op, op.getResultType());
}

namespace {

/// tensor.collapse_shape %q [[0, 1], [2]] : tensor<2x4x9xf4> into
/// tensor<8x9xf4>
///   ->  tensor.collapse_shape %q' [[0, 1], [2]]
///           : tensor<2x4x5xi8> into tensor<8x5xi8>
struct ConvertCollapseShape : public StoragePattern<tensor::CollapseShapeOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::CollapseShapeOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, getStorage(op.getResultType()), adaptor.getSrc(),
        op.getReassociationIndices());
    return success();
  }
};

/// tensor.expand_shape, whose output sizes become those of the storage form.
struct ConvertExpandShape : public StoragePattern<tensor::ExpandShapeOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::ExpandShapeOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    RankedTensorType storage = getStorage(op.getResultType());
    SmallVector<OpFoldResult> sizes = withStaticSizes(
        rewriter, storage,
        getStorageSizes(rewriter, op.getLoc(), op.getResultType(),
                        op.getMixedOutputShape()));
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(
        op, storage, adaptor.getSrc(), op.getReassociationIndices(), sizes);
    return success();
  }
};

} // namespace

void populateStorageReshapePatterns(const TypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<ConvertCollapseShape, ConvertExpandShape>(converter,
                                                         patterns.getContext());
}

} // namespace blockscale
