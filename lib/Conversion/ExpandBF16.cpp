//===- ExpandBF16.cpp - Rounding to bf16 by integers ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_EXPANDBF16
#include "blockscale/Conversion/Passes.h.inc"

namespace {

/// arith.truncf %x : f32 to bf16 becomes
///
///   %bits + 0x7FFF + (%bits >> 16 & 1), of which the high half
///
/// and 0x7FFF for NaN, as GPUs have it.
struct ExpandTrunc : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type source = op.getIn().getType();
    auto mode = op.getRoundingmode();
    if (!getElementTypeOrSelf(source).isF32() ||
        !getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not from f32 to bf16");
    if (mode && *mode != arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "not to the nearest");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto like = [&](Type element) -> Type {
      auto shaped = dyn_cast<ShapedType>(source);
      return shaped ? shaped.clone(element) : element;
    };
    auto constant = [&](Type type, int64_t value) -> Value {
      TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
      if (auto shaped = dyn_cast<ShapedType>(type))
        attr = DenseElementsAttr::get(shaped, Attribute(attr));
      return arith::ConstantOp::create(b, attr);
    };
    Type words = like(b.getI32Type()), halves = like(b.getI16Type());
    Value bits = arith::BitcastOp::create(b, words, op.getIn());
    Value sixteen = constant(words, 16);
    Value odd = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, bits, sixteen), constant(words, 1));
    Value sum = arith::AddIOp::create(b, bits, constant(words, 0x7FFF));
    sum = arith::AddIOp::create(b, sum, odd);
    Value high = arith::TruncIOp::create(
        b, halves, arith::ShRUIOp::create(b, sum, sixteen));
    Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO,
                                        op.getIn(), op.getIn());
    high = arith::SelectOp::create(b, isNaN, constant(halves, 0x7FFF), high);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), high);
    return success();
  }
};

struct ExpandBF16Pass : public impl::ExpandBF16Base<ExpandBF16Pass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandTrunc>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
