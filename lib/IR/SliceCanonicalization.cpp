//===- SliceCanonicalization.cpp - Constants in slices of scales ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream folds constant offsets, sizes and strides into slices too, but drops
// the layout of a slice of smaller rank: of the scales of one expert, say.
// These patterns have the higher benefit, and leave it nothing to fold.
//
//===----------------------------------------------------------------------===//

#include "SliceCanonicalization.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// Where a slice lies, with its constants folded.
struct Place {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

} // namespace

/// The place of a slice with its constants folded; nothing where upstream's
/// pattern does no harm or finds nothing to fold.
template <typename OpTy>
static std::optional<Place> getFoldedPlace(OpTy op, RankedTensorType whole,
                                           RankedTensorType slice) {
  if (!hasLayout(whole) || whole.getRank() == slice.getRank())
    return std::nullopt;
  Place place{op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides()};
  bool isFolded =
      succeeded(foldDynamicIndexList(place.offsets, /*onlyNonNegative=*/true));
  isFolded |=
      succeeded(foldDynamicIndexList(place.sizes, /*onlyNonNegative=*/true));
  isFolded |= succeeded(foldDynamicIndexList(place.strides));
  if (!isFolded || !verifyInBoundsSlice(whole.getShape(), place.offsets,
                                        place.sizes, place.strides)
                        .isValid)
    return std::nullopt;
  return place;
}

/// The type of a slice, `type`, with the sizes that became static.
template <typename OpTy>
static RankedTensorType getFoldedType(OpTy op, RankedTensorType type,
                                      const Place &place) {
  SmallVector<int64_t> shape;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, size] : llvm::enumerate(place.sizes))
    if (!dropped.test(dim))
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

namespace {

/// %c1 = arith.constant 1
/// tensor.extract_slice %s[%c1, 0, 0] [1, 128, 4] [1, 1, 1]
///     : tensor<8x128x4, #swizzled> to tensor<128x4, #swizzled>
/// becomes
/// tensor.extract_slice %s[1, 0, 0] [1, 128, 4] [1, 1, 1]
///     : tensor<8x128x4, #swizzled> to tensor<128x4, #swizzled>
struct FoldConstantsOfExtractSlice
    : public OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Place> place =
        getFoldedPlace(op, op.getSourceType(), op.getType());
    if (!place)
      return rewriter.notifyMatchFailure(op, "no layout that could be lost");
    Value slice = tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), getFoldedType(op, op.getType(), *place),
        op.getSource(), place->offsets, place->sizes, place->strides);
    if (slice.getType() != op.getType())
      slice =
          tensor::CastOp::create(rewriter, op.getLoc(), op.getType(), slice);
    rewriter.replaceOp(op, slice);
    return success();
  }
};

/// tensor.insert_slice %s into %t[%c1, 0, 0] [1, 128, 4] [1, 1, 1]
///     : tensor<128x4, #swizzled> into tensor<8x128x4, #swizzled>
/// becomes
/// tensor.insert_slice %s into %t[1, 0, 0] [1, 128, 4] [1, 1, 1]
///     : tensor<128x4, #swizzled> into tensor<8x128x4, #swizzled>
template <typename OpTy>
struct FoldConstantsOfInsertSlice : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getSourceType();
    std::optional<Place> place = getFoldedPlace(op, op.getDestType(), type);
    if (!place)
      return rewriter.notifyMatchFailure(op, "no layout that could be lost");
    RankedTensorType folded = getFoldedType(op, type, *place);
    Value source = op.getSource();
    if (folded != type) {
      // The body of a scf.forall.in_parallel takes no cast.
      OpBuilder::InsertionGuard guard(rewriter);
      if (std::is_same_v<OpTy, tensor::ParallelInsertSliceOp>)
        rewriter.setInsertionPoint(op->getParentOp());
      source = tensor::CastOp::create(rewriter, op.getLoc(), folded, source);
    }
    rewriter.replaceOpWithNewOp<OpTy>(op, source, op.getDest(), place->offsets,
                                      place->sizes, place->strides);
    return success();
  }
};

} // namespace

void blockscale::populateSliceConstantPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldConstantsOfExtractSlice,
               FoldConstantsOfInsertSlice<tensor::InsertSliceOp>,
               FoldConstantsOfInsertSlice<tensor::ParallelInsertSliceOp>>(
      patterns.getContext(), PatternBenefit(2));
}
