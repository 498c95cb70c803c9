//===- SwizzleCanonicalization.cpp - Swizzles and movements of scales -----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes of layout move below slices of whole tiles, towards their users. One
// direction for both ways of swizzling cannot go back and forth, brings an
// unswizzle above a slice to the swizzle below it, where they cancel, and
// swizzles what the slice keeps instead of all.
//
//===----------------------------------------------------------------------===//

#include "SliceCanonicalization.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace blockscale;

/// The rows, or the columns, of the tiles that a swizzle makes or takes apart.
static int64_t getTileSize(SwizzleOp swizzle, int64_t dim) {
  const numerics::ScaleLayout *layouts[] = {
      &getScaleLayout(swizzle.getSource().getType()),
      &getScaleLayout(swizzle.getResult().getType())};
  int64_t size = 1;
  for (const numerics::ScaleLayout *layout : layouts)
    size = std::max(size,
                    dim == 0 ? layout->getTileRows() : layout->getTileCols());
  return size;
}

/// Whether a slice of `whole` takes whole tiles, which is known from constants.
template <typename OpTy>
static bool takesWholeTiles(OpTy slice, RankedTensorType whole,
                            SwizzleOp swizzle) {
  for (int64_t i = 0; i < 2; ++i) {
    int64_t unit = getTileSize(swizzle, i);
    int64_t dim = whole.getRank() - 2 + i;
    std::optional<int64_t> offset =
        getConstantIntValue(slice.getMixedOffsets()[dim]);
    std::optional<int64_t> size =
        getConstantIntValue(slice.getMixedSizes()[dim]);
    if (!offset || !size || slice.getDroppedDims().test(dim) ||
        !isConstantIntValue(slice.getMixedStrides()[dim], 1) ||
        *offset % unit != 0)
      return false;
    int64_t extent = whole.getDimSize(dim);
    if (*size % unit != 0 &&
        (ShapedType::isDynamic(extent) || *size != extent - *offset))
      return false;
  }
  return true;
}

/// The swizzle that makes `value` for one user, or null: with more the tensor
/// is swizzled anyway, and a producer that writes the layout takes the swizzle
/// in. Groups have no tiles of their own.
static SwizzleOp getMovableSwizzle(Value value) {
  auto swizzle = value.getDefiningOp<SwizzleOp>();
  if (!swizzle || !value.hasOneUse() || swizzle.getOffsets() ||
      swizzle.getSource().getType() == swizzle.getResult().getType() ||
      swizzle.getSource().getType().getShape() !=
          swizzle.getResult().getType().getShape())
    return {};
  Value source = swizzle.getSource();
  if (isa_and_present<QuantizeOp, ExpandScaleOp>(source.getDefiningOp()) &&
      source.hasOneUse() && hasKernelOrder(value.getType()))
    return {};
  return swizzle;
}

static RankedTensorType withEncoding(RankedTensorType type, Value like) {
  return type.cloneWithEncoding(
      cast<RankedTensorType>(like.getType()).getEncoding());
}

namespace {

/// A slice of swizzled scales is the swizzle of a slice.
///
///   %t = blockscale.swizzle %s : tensor<256x8> -> tensor<256x8, #swizzled>
///   %u = tensor.extract_slice %t[128, 4] [128, 4] [1, 1]
/// becomes
///   %t = tensor.extract_slice %s[128, 4] [128, 4] [1, 1]
///   %u = blockscale.swizzle %t : tensor<128x4> -> tensor<128x4, #swizzled>
struct MoveSwizzleBelowExtractSlice
    : public OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    SwizzleOp swizzle = getMovableSwizzle(op.getSource());
    if (!swizzle)
      return rewriter.notifyMatchFailure(op, "no swizzle to move");
    if (op.getType().getEncoding() != op.getSourceType().getEncoding())
      return rewriter.notifyMatchFailure(op, "the slice drops the layout");
    if (!takesWholeTiles(op, op.getSourceType(), swizzle))
      return rewriter.notifyMatchFailure(op, "the slice may cut a tile");
    Value source = swizzle.getSource();
    auto slice = tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), withEncoding(op.getType(), source), source,
        op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
    SmallVector<Value> sizes;
    if (slice.getType().getEncoding())
      sizes = getDynamicSizes(op);
    rewriter.replaceOpWithNewOp<SwizzleOp>(op, op.getType(), slice,
                                           /*offsets=*/Value(), sizes);
    return success();
  }

private:
  /// Sizes of the dynamic dimensions of the result. Only batches are dynamic.
  static SmallVector<Value> getDynamicSizes(tensor::ExtractSliceOp op) {
    SmallVector<Value> sizes;
    llvm::SmallBitVector dropped = op.getDroppedDims();
    for (auto [dim, size] : llvm::enumerate(op.getMixedSizes()))
      if (auto value = dyn_cast<Value>(size); value && !dropped.test(dim))
        sizes.push_back(value);
    return sizes;
  }
};

/// Whole tiles of one swizzle in another are those of one tensor.
///
///   %t = blockscale.swizzle %s
///   %u = blockscale.swizzle %r
///   %v = tensor.insert_slice %t into %u[128, 0] [128, 8] [1, 1]
/// becomes
///   %t = tensor.insert_slice %s into %r[128, 0] [128, 8] [1, 1]
///   %v = blockscale.swizzle %t
struct MoveSwizzleBelowInsertSlice
    : public OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    SwizzleOp piece = getMovableSwizzle(op.getSource());
    SwizzleOp whole = getMovableSwizzle(op.getDest());
    if (!piece || !whole)
      return rewriter.notifyMatchFailure(op, "not two swizzles to move");
    if (piece.getSource().getType().getEncoding() !=
            whole.getSource().getType().getEncoding() ||
        piece.getResult().getType().getEncoding() !=
            whole.getResult().getType().getEncoding())
      return rewriter.notifyMatchFailure(op, "the layouts differ");
    if (!takesWholeTiles(op, op.getDestType(), whole))
      return rewriter.notifyMatchFailure(op, "the slice may cut a tile");
    auto inserted = tensor::InsertSliceOp::create(
        rewriter, op.getLoc(), piece.getSource(), whole.getSource(),
        op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides());
    rewriter.replaceOpWithNewOp<SwizzleOp>(
        op, op.getType(), inserted, /*offsets=*/Value(), whole.getSizes());
    return success();
  }
};

/// Pieces of whole tiles that are unswizzled to be concatenated are placed as
/// they are. Not by tensor.concat, whose own canonicalization drops layouts.
///
///   %t = blockscale.swizzle %a : tensor<128x4, #swizzled> -> tensor<128x4>
///   %u = blockscale.swizzle %b : tensor<72x4, #swizzled> -> tensor<72x4>
///   %v = tensor.concat dim(0) %t, %u
///   %w = blockscale.swizzle %v : tensor<200x4> -> tensor<200x4, #swizzled>
/// becomes
///   %e = tensor.empty() : tensor<200x4, #swizzled>
///   %f = tensor.insert_slice %a into %e[0, 0] [128, 4] [1, 1]
///   %w = tensor.insert_slice %b into %f[128, 0] [72, 4] [1, 1]
struct PlaceSwizzledPieces : public OpRewritePattern<SwizzleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SwizzleOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getSource().getDefiningOp<tensor::ConcatOp>();
    if (!concat || !concat->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no concatenation to replace");
    RankedTensorType type = op.getResult().getType();
    if (!type.getEncoding() || concat.getResultType().getEncoding() ||
        op.getOffsets())
      return rewriter.notifyMatchFailure(op, "not from linear to tiles");
    if (!type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "the result has dynamic sizes");
    auto dim = static_cast<int64_t>(concat.getDim());
    SmallVector<Value> pieces;
    for (Value input : concat.getInputs()) {
      SwizzleOp piece = getMovableSwizzle(input);
      if (!piece || !piece.getSource().getType().hasStaticShape() ||
          piece.getSource().getType().getEncoding() != type.getEncoding())
        return rewriter.notifyMatchFailure(
            op, "a piece has another layout or dynamic sizes");
      pieces.push_back(piece.getSource());
    }
    for (Value piece : ArrayRef(pieces).drop_back())
      if (getSize(piece, dim) % getUnit(op, dim) != 0)
        return rewriter.notifyMatchFailure(op, "a piece ends in a tile");
    Value placed =
        tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                type.getElementType(), type.getEncoding());
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
    int64_t offset = 0;
    for (Value piece : pieces) {
      offsets[dim] = rewriter.getIndexAttr(offset);
      offset += getSize(piece, dim);
      placed = tensor::InsertSliceOp::create(
          rewriter, op.getLoc(), piece, placed, offsets,
          tensor::getMixedSizes(rewriter, op.getLoc(), piece), strides);
    }
    rewriter.replaceOp(op, placed);
    return success();
  }

private:
  static int64_t getSize(Value piece, int64_t dim) {
    return cast<RankedTensorType>(piece.getType()).getDimSize(dim);
  }

  /// Batches are padded alone.
  static int64_t getUnit(SwizzleOp op, int64_t dim) {
    int64_t i = dim - (op.getType().getRank() - 2);
    return i < 0 ? 1 : getTileSize(op, i);
  }
};

} // namespace

void SwizzleOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<MoveSwizzleBelowExtractSlice, MoveSwizzleBelowInsertSlice,
               PlaceSwizzledPieces>(context);
  populateSliceConstantPatterns(patterns);
}
