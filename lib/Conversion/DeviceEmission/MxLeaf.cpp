//===- MxLeaf.cpp - MX recipes --------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeLeaf.h"
#include "blockscale/Numerics/BlockScale.h"

using namespace mlir;

namespace blockscale {

namespace {

class MxLeaf final : public QuantizeLeaf {
public:
  MxLeaf(CvtEmitter &cvt, numerics::Recipe recipe,
         numerics::ElementFormat format)
      : QuantizeLeaf(cvt), recipe(recipe), format(format) {}

  void setGlobal(KernelBuilder &, Value) override {}
  Scales computeScales(KernelBuilder &b, ValueRange amaxes,
                       ArrayRef<BlockElements> blocks) override;

  Value scale(KernelBuilder &b, Value elements, Value factors) override {
    return arith::MulFOp::create(b, elements, factors);
  }

protected:
  numerics::ElementFormat getFormat() const override { return format; }

private:
  /// The i16 of the scale bytes of two blocks.
  Value roundUpPair(KernelBuilder &b, Value low, Value high);
  Value shiftExponentPair(KernelBuilder &b, Value low, Value high);
  /// The scale byte of a block as an i32.
  Value shiftExponent(KernelBuilder &b, Value amax);

  numerics::Recipe recipe;
  numerics::ElementFormat format;
};

} // namespace

/// rceil and rceil_sat: the byte of amax * (1 / largest value), rounded up.
Value MxLeaf::roundUpPair(KernelBuilder &b, Value low, Value high) {
  Value inverse = b.f32(numerics::getInverseMaxFinite(format));
  auto overflow = recipe == numerics::Recipe::RceilSat
                      ? numerics::Overflow::Saturate
                      : numerics::Overflow::Propagate;
  low = arith::MulFOp::create(b, low, inverse);
  high = arith::MulFOp::create(b, high, inverse);
  return cvt.encodeE8M0RoundUpPair(b, low, high, overflow);
}

/// floor, ceil and even: the exponent field of amax, whose mantissa was first
/// rounded, less the format's largest exponent.
Value MxLeaf::shiftExponent(KernelBuilder &b, Value amax) {
  const numerics::FormatInfo &info = numerics::getFormatInfo(format);
  Value bits = b.toBits(amax);
  Value rounded = bits;
  if (recipe == numerics::Recipe::Ceil)
    rounded =
        arith::AddIOp::create(b, bits, b.i32(numerics::kFloatMantissaMask));
  if (recipe == numerics::Recipe::Even) {
    uint32_t half =
        1u << (numerics::kFloatMantissaBits - info.mantissaBits - 1);
    rounded = arith::AddIOp::create(b, bits, b.i32(half));
    // Rounding up to infinity counts as infinity.
    bits = rounded;
  }
  Value exponent =
      arith::ShRUIOp::create(b, rounded, b.i32(numerics::kFloatMantissaBits));
  Value byte = arith::SubIOp::create(b, exponent, b.i32(info.maxExponent));
  byte = arith::MaxSIOp::create(b, byte, b.i32(0));
  Value isFinite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, bits,
                                         b.i32(numerics::kFloatInfinityBits));
  return arith::SelectOp::create(b, isFinite, byte, b.i32(numerics::kE8M0Nan));
}

Value MxLeaf::shiftExponentPair(KernelBuilder &b, Value low, Value high) {
  Value lowByte = shiftExponent(b, low);
  Value highByte = arith::ShLIOp::create(b, shiftExponent(b, high), b.i32(8));
  Value pair = arith::OrIOp::create(b, lowByte, highByte);
  return arith::TruncIOp::create(b, b.getI16Type(), pair);
}

/// 2^(127 - byte) (numerics: `decodeE8M0Reciprocal`).
static Value computeReciprocal(KernelBuilder &b, Value byte) {
  Value exponent = arith::SubIOp::create(b, b.i32(254), byte);
  Value bits =
      arith::ShLIOp::create(b, exponent, b.i32(numerics::kFloatMantissaBits));
  // Byte 254 is 2^-127, a subnormal; 255 is NaN.
  auto isByte = [&](uint32_t value) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, byte,
                                 b.i32(value));
  };
  bits = arith::SelectOp::create(
      b, isByte(254), b.i32(numerics::toBits(numerics::decodeE8M0(0))), bits);
  bits = arith::SelectOp::create(b, isByte(255), b.i32(numerics::kFloatNanBits),
                                 bits);
  return b.toFloat(bits);
}

QuantizeLeaf::Scales MxLeaf::computeScales(KernelBuilder &b, ValueRange amaxes,
                                           ArrayRef<BlockElements>) {
  bool roundsUp =
      recipe == numerics::Recipe::Rceil || recipe == numerics::Recipe::RceilSat;
  Scales scales;
  for (size_t i = 0; i < amaxes.size(); i += 2) {
    // A missing block is 0, whose byte is that of padding.
    bool isLast = i + 1 == amaxes.size();
    Value high = isLast ? b.f32(0.0f) : amaxes[i + 1];
    Value pair = roundsUp ? roundUpPair(b, amaxes[i], high)
                          : shiftExponentPair(b, amaxes[i], high);
    scales.pairs.push_back(pair);
    Value bytes = b.zext32(pair);
    scales.factors.push_back(
        computeReciprocal(b, arith::AndIOp::create(b, bytes, b.i32(0xFF))));
    if (!isLast)
      scales.factors.push_back(
          computeReciprocal(b, arith::ShRUIOp::create(b, bytes, b.i32(8))));
  }
  return scales;
}

std::unique_ptr<QuantizeLeaf> createMxLeaf(CvtEmitter &cvt,
                                           numerics::Recipe recipe,
                                           numerics::ElementFormat format) {
  return std::make_unique<MxLeaf>(cvt, recipe, format);
}

} // namespace blockscale
