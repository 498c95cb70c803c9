//===- ExpandBF16.cpp - Conversions of bf16 by integers -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/NarrowCodec.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

using emit::withElement;

#define GEN_PASS_DEF_EXPANDBF16
#include "blockscale/Conversion/Passes.h.inc"

static Value createConstant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, Attribute(attr));
  return arith::ConstantOp::create(b, attr);
}

static bool isBetween(Type narrow, Type wide) {
  return getElementTypeOrSelf(narrow).isBF16() &&
         getElementTypeOrSelf(wide).isF32();
}

namespace {

/// arith.truncf %x : f32 to bf16 becomes
///
///   %bits + 0x7FFF + (%bits >> 16 & 1), of which the high half
///
/// where NaN has those bits that give 0x7FFF, as GPUs have it. A select of the
/// halves would become one of bf16. An f64 becomes an f32 before that rounds as
/// it does.
struct ExpandTrunc : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getIn();
    bool isWide = getElementTypeOrSelf(x).isF64();
    if (!getElementTypeOrSelf(op.getType()).isBF16() ||
        !(isWide || getElementTypeOrSelf(x).isF32()))
      return rewriter.notifyMatchFailure(op, "not from f32 or f64 to bf16");
    if (!isNearest(op.getRoundingmode()))
      return rewriter.notifyMatchFailure(op, "not to the nearest");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (isWide)
      x = emit::emitRoundToOdd(b, x);
    Type source = x.getType();
    Type words = withElement(source, b.getI32Type());
    auto constant = [&](int64_t value) {
      return createConstant(b, words, value);
    };
    Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
    Value bits = arith::BitcastOp::create(b, words, x);
    bits = arith::SelectOp::create(b, isNaN, constant(0x7FFF0000), bits);
    Value odd = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, bits, constant(16)), constant(1));
    Value sum = arith::AddIOp::create(b, bits, constant(0x7FFF));
    sum = arith::AddIOp::create(b, sum, odd);
    Value high =
        arith::TruncIOp::create(b, withElement(source, b.getI16Type()),
                                arith::ShRUIOp::create(b, sum, constant(16)));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), high);
    return success();
  }
};

/// arith.extf %x : bf16 to f32 becomes
///
///   %bits << 16
struct ExpandExt : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Type source = op.getIn().getType();
    if (!isBetween(source, op.getType()))
      return rewriter.notifyMatchFailure(op, "not from bf16 to f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type words = withElement(source, b.getI32Type());
    Value half = arith::BitcastOp::create(
        b, withElement(source, b.getI16Type()), op.getIn());
    Value bits =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, words, half),
                              createConstant(b, words, 16));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), bits);
    return success();
  }
};

/// arith.sitofp %x : i64 to bf16 becomes
///
///   arith.sitofp %x : i64 to f32, and arith.truncf of that
///
/// which is what upstream made of it: it folds a truncf into the conversion
/// before. LLVM would call a function of a library that objects do not link.
template <typename OpTy>
struct ExpandFromInteger : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type result = op.getType();
    if (!getElementTypeOrSelf(result).isBF16())
      return rewriter.notifyMatchFailure(op, "not to bf16");
    Type wide = withElement(result, rewriter.getF32Type());
    Value number = OpTy::create(rewriter, op.getLoc(), wide, op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, result, number);
    return success();
  }
};

/// arith.fptosi %x : bf16 to i64 becomes
///
///   arith.extf %x : bf16 to f32, and arith.fptosi of that
template <typename OpTy>
struct ExpandToInteger : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type source = op.getIn().getType();
    if (!getElementTypeOrSelf(source).isBF16())
      return rewriter.notifyMatchFailure(op, "not from bf16");
    Type wide = withElement(source, rewriter.getF32Type());
    Value number =
        arith::ExtFOp::create(rewriter, op.getLoc(), wide, op.getIn());
    rewriter.replaceOpWithNewOp<OpTy>(op, op.getType(), number);
    return success();
  }
};

struct ExpandBF16Pass : public impl::ExpandBF16Base<ExpandBF16Pass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandTrunc, ExpandExt, ExpandFromInteger<arith::SIToFPOp>,
                 ExpandFromInteger<arith::UIToFPOp>,
                 ExpandToInteger<arith::FPToSIOp>,
                 ExpandToInteger<arith::FPToUIOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
