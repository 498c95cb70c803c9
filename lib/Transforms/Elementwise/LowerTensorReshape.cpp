//===- LowerTensorReshape.cpp - Reshapes to sizes of the program ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_LOWERTENSORRESHAPE
#include "blockscale/Transforms/Passes.h.inc"

/// Element `number` of the shape of a reshape, as an index.
static Value getSize(PatternRewriter &rewriter, tensor::ReshapeOp op,
                     int64_t number) {
  Location loc = op.getLoc();
  Value size;
  if (auto elements = op.getShape().getDefiningOp<tensor::FromElementsOp>())
    size = elements.getElements()[number];
  else
    size = tensor::ExtractOp::create(
        rewriter, loc, op.getShape(),
        ValueRange(arith::ConstantIndexOp::create(rewriter, loc, number)));
  if (size.getType().isIndex())
    return size;
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                    size);
}

/// `value` of rank 1 with the size of `type`, where one of the two knows it.
static Value castTo(PatternRewriter &rewriter, Location loc, Value value,
                    RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(rewriter, loc, type, value);
}

namespace {

/// %y = tensor.reshape %x(%shape) : (tensor<?x64xf32>, tensor<3xindex>)
///          -> tensor<?x?x32xf32>
///   ->  %flat = tensor.collapse_shape %x [[0, 1]]
///       %y = tensor.expand_shape %flat [[0, 1, 2]] output_shape [%m, %n, 32]
struct LowerReshape : public OpRewritePattern<tensor::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto from = dyn_cast<RankedTensorType>(op.getSource().getType());
    auto to = dyn_cast<RankedTensorType>(op.getType());
    if (!from || !to)
      return rewriter.notifyMatchFailure(op, "a rank is not known");
    Location loc = op.getLoc();
    Type element = from.getElementType();
    auto getFlat = [&](RankedTensorType type) {
      int64_t size =
          type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
      return RankedTensorType::get(size, element);
    };
    auto all = [](int64_t rank) {
      SmallVector<ReassociationIndices> groups;
      if (rank > 0)
        groups.emplace_back(llvm::to_vector<2>(llvm::seq<int64_t>(rank)));
      return groups;
    };
    Value flat = op.getSource();
    if (from.getRank() == 0)
      flat = tensor::ExpandShapeOp::create(rewriter, loc, getFlat(from), flat,
                                           all(0));
    else if (from.getRank() > 1)
      flat = tensor::CollapseShapeOp::create(rewriter, loc, getFlat(from), flat,
                                             all(from.getRank()));
    flat = castTo(rewriter, loc, flat, getFlat(to));
    if (to.getRank() == 0) {
      rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, to, flat,
                                                           all(0));
      return success();
    }
    if (to.getRank() == 1) {
      rewriter.replaceOp(op, castTo(rewriter, loc, flat, to));
      return success();
    }
    SmallVector<OpFoldResult> sizes;
    for (auto [i, size] : llvm::enumerate(to.getShape()))
      sizes.push_back(ShapedType::isDynamic(size)
                          ? OpFoldResult(getSize(rewriter, op, i))
                          : OpFoldResult(rewriter.getIndexAttr(size)));
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(
        op, to, flat, all(to.getRank()), sizes);
    return success();
  }
};

struct LowerTensorReshapePass
    : public impl::LowerTensorReshapeBase<LowerTensorReshapePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerReshape>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace blockscale
