//===- ExpandSine.cpp - Sine and cosine as arithmetic ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rotary embeddings take the sine of a position times a frequency, which is as
// large as the longest sequence. So the angle is reduced without error for
// every f32: x / (pi/2) is a product of integers, the 24 bits of x and those
// bits of 2/pi that make less than four quarter turns.
//
//===----------------------------------------------------------------------===//

#include "ExpandSine.h"
#include "ScalarBuilder.h"

using namespace mlir;

namespace blockscale {

/// The first bits of 2/pi, behind 32 zeros.
static constexpr uint64_t kTwoOverPi[] = {
    0x00000000, 0xA2F9836E, 0x4E441529, 0xFC2757D1,
    0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
};

/// Words of kTwoOverPi in which the bits for an angle can begin.
static constexpr unsigned kBegins = 5;

/// 32 bits of kTwoOverPi, from bit 32 * (`word` + `next`) + `shift` on.
static Value emitBits(ScalarBuilder &b, Value word, unsigned next,
                      Value shift) {
  auto getPair = [&](unsigned first) {
    return b.i64(kTwoOverPi[first] << 32 | kTwoOverPi[first + 1]);
  };
  Value pair = getPair(next);
  for (unsigned begin = 1; begin < kBegins; ++begin) {
    Value isBehind =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, word, b.i32(begin));
    pair = arith::SelectOp::create(b, isBehind, getPair(begin + next), pair);
  }
  Value bits = arith::ShLIOp::create(b, pair, shift);
  return arith::ShRUIOp::create(b, bits, b.i64(32));
}

/// |x| / (pi/2) modulo 4, with 62 bits behind the point, of an x that is not
/// below 1/2. `exponent` is the biased one of x, and `magnitude` the bits of
/// |x|.
///
///   x = m 2^(e-150), and the bits of 2/pi from 2^(151-e) down make w 2^(56-e):
///   m w 2^-94, of which all above 2^2 falls away, and the low 32 bits are left
static Value emitQuarterTurns(ScalarBuilder &b, Value exponent,
                              Value magnitude) {
  Value mantissa = arith::AndIOp::create(b, magnitude, b.i32(0x7FFFFF));
  mantissa = arith::OrIOp::create(b, mantissa, b.i32(0x800000));
  mantissa = arith::ExtUIOp::create(b, b.getI64Type(), mantissa);
  Value first = arith::SubIOp::create(b, exponent, b.i32(120));
  first = arith::MaxSIOp::create(b, first, b.i32(0));
  Value word = arith::ShRUIOp::create(b, first, b.i32(5));
  Value shift = arith::AndIOp::create(b, first, b.i32(31));
  shift = arith::ExtUIOp::create(b, b.getI64Type(), shift);
  auto multiply = [&](unsigned next) -> Value {
    return arith::MulIOp::create(b, mantissa, emitBits(b, word, next, shift));
  };
  Value high = arith::ShLIOp::create(b, multiply(0), b.i64(32));
  Value low = arith::ShRUIOp::create(b, multiply(2), b.i64(32));
  Value sum = arith::AddIOp::create(b, high, multiply(1));
  return arith::AddIOp::create(b, sum, low);
}

/// A polynomial by Horner's rule.
static Value emitPolynomial(ScalarBuilder &b, Value z,
                            ArrayRef<double> coefficients) {
  Value p = b.f64(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    p = b.fma(p, z, b.f64(coefficient));
  return p;
}

/// The sine of `x`, or the sine of a quarter turn more, which is the cosine.
static Value emitSine(ScalarBuilder &b, Value x, bool isCosine) {
  Value bits = b.toBits(x);
  Value magnitude = arith::AndIOp::create(b, bits, b.i32(0x7FFFFFFF));
  Value exponent = arith::ShRUIOp::create(b, magnitude, b.i32(23));

  // The nearest number of quarter turns, and the angle from there.
  Value turns = emitQuarterTurns(b, exponent, magnitude);
  Value number = arith::AddIOp::create(b, turns, b.i64(uint64_t(1) << 61));
  number = arith::ShRUIOp::create(b, number, b.i64(62));
  number = arith::TruncIOp::create(b, b.getI32Type(), number);
  Value rest = arith::ShLIOp::create(b, turns, b.i64(2));
  rest = arith::SIToFPOp::create(b, b.getF64Type(), rest);
  constexpr double unit = 0x1.921fb54442d18p-64; // pi/2 2^-64.
  rest = arith::MulFOp::create(b, rest, b.f64(unit));

  // Small angles are left as they are.
  Value isSmall =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, exponent, b.i32(126));
  Value whole = arith::ExtFOp::create(b, b.getF64Type(), b.toFloat(magnitude));
  Value angle = arith::SelectOp::create(b, isSmall, whole, rest);
  number = arith::SelectOp::create(b, isSmall, b.i32(0), number);
  if (isCosine)
    number = arith::AddIOp::create(b, number, b.i32(1));

  // The polynomials of the least error, sin to 5e-12 of it and cos to 1e-13.
  Value z = arith::MulFOp::create(b, angle, angle);
  Value cube = arith::MulFOp::create(b, z, angle);
  constexpr double forSine[] = {-0.16666666641626706, 0.00833332938591448776,
                                -0.000198393348448477546,
                                2.71831158186662006e-6};
  Value sine = b.fma(emitPolynomial(b, z, forSine), cube, angle);
  constexpr double forCosine[] = {1.0,
                                  -0.5,
                                  0.041666666622827828,
                                  -0.00138888837533945898,
                                  0.0000247995200054054238,
                                  -2.72102375313105115e-7};
  Value cosine = emitPolynomial(b, z, forCosine);

  // Odd quarter turns exchange sine and cosine, and two change the sign.
  Value odd = arith::TruncIOp::create(b, b.getI1Type(), number);
  Value result = arith::SelectOp::create(b, odd, cosine, sine);
  result = arith::TruncFOp::create(b, b.getF32Type(), result);
  Value half = arith::AndIOp::create(b, number, b.i32(2));
  Value sign = arith::ShLIOp::create(b, half, b.i32(30));
  if (!isCosine) {
    Value own = arith::AndIOp::create(b, bits, b.i32(0x80000000));
    sign = arith::XOrIOp::create(b, sign, own);
  }
  result = b.toFloat(arith::XOrIOp::create(b, b.toBits(result), sign));
  Value isFinite =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, exponent, b.i32(255));
  return arith::SelectOp::create(
      b, isFinite, result, b.f32(std::numeric_limits<float>::quiet_NaN()));
}

namespace {

/// math.sin %x : f32 becomes arithmetic on integers of 64 bits and on f64.
template <typename Op, bool isCosine>
struct ExpandSine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not of a scalar f32");
    ScalarBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, emitSine(b, op.getOperand(), isCosine));
    return success();
  }
};

} // namespace

void populateExpandSinePatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandSine<math::SinOp, false>, ExpandSine<math::CosOp, true>>(
      patterns.getContext());
}

} // namespace blockscale
