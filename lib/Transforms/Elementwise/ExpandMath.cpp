//===- ExpandMath.cpp - Math that is the same on every target -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandSine.h"
#include "ScalarBuilder.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_EXPANDMATH
#include "blockscale/Transforms/Passes.h.inc"

namespace {

/// exp(x) is the product of both.
struct ExpFactors {
  Value fraction, power;
};

} // namespace

/// The factors 2 exp(r) and 2^(n-1) of exp(x), where x = n ln 2 + r and
/// |r| <= ln 2 / 2. `most` bounds x from above. Below 2^-125 the power is 0.
/// `coefficients` are those of r^2 and the powers above it.
static ExpFactors emitExp(ScalarBuilder &b, Value x, float most,
                          ArrayRef<float> coefficients, bool isExact) {
  // The nearest n is in the low bits of a sum whose unit is 1. The least n,
  // -126, makes the factor 2^(n-1) zero bits.
  constexpr float unitIsOne = 12582912.0f, least = -87.4f;
  x = arith::MaximumFOp::create(b, x, b.f32(least));
  x = arith::MinimumFOp::create(b, x, b.f32(most));
  Value sum = b.fma(x, b.f32(1.44269504f), b.f32(unitIsOne));
  Value n = arith::SubFOp::create(b, sum, b.f32(unitIsOne));
  Value r = b.fma(n, b.f32(-0.693147182f), x);
  // ln 2 is not an f32.
  if (isExact)
    r = b.fma(n, b.f32(1.90465421e-9f), r);
  Value p = b.f32(2 * coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    p = b.fma(p, r, b.f32(2 * coefficient));
  p = b.fma(p, r, b.f32(2));
  p = b.fma(p, r, b.f32(2));
  Value exponent = arith::ShLIOp::create(b, b.toBits(sum), b.i32(23));
  Value power = arith::AddIOp::create(b, exponent, b.i32(126u << 23));
  return {p, b.toFloat(power)};
}

/// 1 / d of a d from 1 to 2^126, but for its last bit: a first guess that
/// negates the exponent, within 5.1 %, one step of Newton's iteration whose 2
/// is moved so that errors are 0.13 % to either side, and one of third order.
/// It keeps -1/d.
static Value emitNegatedReciprocal(ScalarBuilder &b, Value d) {
  Value guess = arith::SubIOp::create(b, b.i32(0xFEF331C7u), b.toBits(d));
  Value m = b.toFloat(guess);
  m = arith::MulFOp::create(b, m, b.fma(d, m, b.f32(2.0013f)));
  Value error = b.fma(d, m, b.f32(1.0f));
  return b.fma(m, b.fma(error, error, error), m);
}

namespace {

/// math.exp %x : f32, which a library would compute.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not of a scalar f32");
    // Above, the result is infinite.
    constexpr float most = 89.0f;
    // The coefficients, from r^2 on, of the polynomial 1 + r + .. with the
    // least relative error.
    constexpr float coefficients[] = {0.49999994f, 0.16666521f, 0.04166839f,
                                      0.008368717f, 0.0013814599f};
    ScalarBuilder b(op.getLoc(), rewriter);
    ExpFactors exp = emitExp(b, op.getOperand(), most, coefficients,
                             /*isExact=*/true);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, exp.fraction, exp.power);
    return success();
  }
};

/// The logistic function, whose division is always of moderate numbers. Here
/// exp has fewer operations, and 1 is added before it is rounded:
///
///   %e = math.exp %x
///   %d = arith.addf %e, 1.0
///   %q = arith.divf %n, %d
struct ExpandLogistic : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not of a scalar f32");
    auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
    if (!sum)
      return rewriter.notifyMatchFailure(op, "no sum below");
    auto exp = sum.getLhs().getDefiningOp<math::ExpOp>();
    Value other = sum.getRhs();
    if (!exp) {
      exp = sum.getRhs().getDefiningOp<math::ExpOp>();
      other = sum.getLhs();
    }
    if (!exp || !matchPattern(other, m_OneFloat()))
      return rewriter.notifyMatchFailure(op, "the sum is not 1 + exp(x)");
    // Above, the result is less than 2^-125.
    constexpr float most = 87.0f;
    constexpr float coefficients[] = {0.4999923f, 0.16667114f, 0.041890156f,
                                      0.008312521f};
    ScalarBuilder b(op.getLoc(), rewriter);
    ExpFactors factors = emitExp(b, exp.getOperand(), most, coefficients,
                                 /*isExact=*/false);
    Value d = b.fma(factors.fraction, factors.power, b.f32(1.0f));
    Value m = emitNegatedReciprocal(b, d);
    Value n = op.getLhs();
    Value result = arith::NegFOp::create(b, m);
    if (!matchPattern(n, m_OneFloat()))
      result = arith::MulFOp::create(b, n, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// arith.maxnumf and arith.minnumf leave the sign of a zero open, which the ops
/// that propagate NaN do not:
///
///   select(isnan(a), b, select(isnan(b), a, maximumf(a, b)))
template <typename NumOp, typename PropagatingOp>
struct ExpandNumberOf : OpRewritePattern<NumOp> {
  using OpRewritePattern<NumOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(NumOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto isNaN = [&](Value value) -> Value {
      return arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO,
                                   value, value);
    };
    Value lhs = op.getLhs(), rhs = op.getRhs();
    Value result = PropagatingOp::create(rewriter, loc, lhs, rhs);
    result = arith::SelectOp::create(rewriter, loc, isNaN(rhs), lhs, result);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNaN(lhs), rhs, result);
    return success();
  }
};

/// math.absi %x, which a GPU has no intrinsic of one operand for, becomes
///
///   maxsi(x, 0 - x)
struct ExpandAbsI : OpRewritePattern<math::AbsIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::AbsIOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    Value zero = arith::ConstantOp::create(rewriter, loc,
                                           rewriter.getZeroAttr(x.getType()));
    Value negated = arith::SubIOp::create(rewriter, loc, zero, x);
    rewriter.replaceOpWithNewOp<arith::MaxSIOp>(op, x, negated);
    return success();
  }
};

/// math.fma %a, %b, %c : bf16, one rounding on some targets and two on others,
/// becomes
///
///   truncf(fma(extf(a), extf(b), extf(c)))
struct WidenFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isBF16() && !type.isF16())
      return rewriter.notifyMatchFailure(op, "not of a scalar of 16 bits");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> wide;
    for (Value operand : op->getOperands())
      wide.push_back(arith::ExtFOp::create(b, b.getF32Type(), operand));
    Value sum = math::FmaOp::create(b, wide[0], wide[1], wide[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, sum);
    return success();
  }
};

} // namespace

/// Functions that upstream writes as arithmetic of the same value everywhere.
static bool isApproximated(StringRef name) {
  return llvm::is_contained<StringRef>({"math.tanh", "math.erf", "math.log",
                                        "math.log2", "math.log1p",
                                        "math.expm1"},
                                       name);
}

/// Upstream's polynomials of logarithms take subnormal numbers for 2^-126. So
/// these get a number that is 2^24 times as large:
///
///   %y = math.log %x
///
/// becomes
///
///   %s = select(%x < 2^-126, 2^24 %x, %x)
///   %l = math.log %s
///   %y = select(%x < 2^-126, %l - log(2^24), %l)
static void scaleSubnormals(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<math::LogOp, math::Log2Op>(op) ||
        !op->getResult(0).getType().isF32())
      return;
    ScalarBuilder b(op->getLoc(), op);
    Value x = op->getOperand(0);
    Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                                          b.f32(0x1p-126f));
    Value large = arith::MulFOp::create(b, x, b.f32(0x1p24f));
    op->setOperand(0, arith::SelectOp::create(b, isSmall, large, x));
    b.setInsertionPointAfter(op);
    Value y = op->getResult(0);
    Value less = arith::SubFOp::create(
        b, y, b.f32(isa<math::LogOp>(op) ? 16.6355324f : 24.0f));
    Value result = arith::SelectOp::create(b, isSmall, less, y);
    SmallPtrSet<Operation *, 2> made{less.getDefiningOp(),
                                     result.getDefiningOp()};
    y.replaceAllUsesExcept(result, made);
  });
}

static LogicalResult expandLogistic(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  patterns.add<ExpandLogistic>(root->getContext());
  populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
  return applyPatternsGreedily(root, std::move(patterns));
}

static LogicalResult expandMath(Operation *root) {
  scaleSubnormals(root);
  RewritePatternSet patterns(root->getContext());
  patterns.add<ExpandExp, ExpandAbsI, WidenFma,
               ExpandNumberOf<arith::MaxNumFOp, arith::MaximumFOp>,
               ExpandNumberOf<arith::MinNumFOp, arith::MinimumFOp>>(
      root->getContext());
  populateExpandSinePatterns(patterns);
  math::populateExpansionPatterns(patterns, {"rsqrt", "clampf", "fpowi"});
  populateMathPolynomialApproximationPatterns(patterns, isApproximated);
  return applyPatternsGreedily(root, std::move(patterns));
}

namespace {

struct ExpandMathPass : public impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isa<linalg::GenericOp>(op) || !linalg::isElementwise(op))
        return;
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    });
    getOperation()->walk([](arith::ArithFastMathInterface op) {
      // Targets would make different use of the freedom.
      auto none = arith::FastMathFlagsAttr::get(op.getContext(),
                                                arith::FastMathFlags::none);
      if (op.getFastMathFlagsAttr())
        op->setAttr(op.getFastMathAttrName(), none);
    });
    if (failed(expandLogistic(getOperation())) ||
        failed(expandMath(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
