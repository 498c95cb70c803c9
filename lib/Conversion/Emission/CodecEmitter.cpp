//===- CodecEmitter.cpp - Code that encodes and decodes -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodecEmitter.h"

using namespace mlir;
using namespace blockscale::numerics;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace blockscale::emit {

namespace {

/// A sign-magnitude format narrower than f32, by its fields.
struct Fields {
  int mantissaBits;
  int bias;

  int getShift() const { return kFloatMantissaBits - mantissaBits; }
  /// Difference of the exponent biases, at the place of the f32 exponent.
  uint32_t getRebias() const {
    return static_cast<uint32_t>(kFloatBias - bias) << kFloatMantissaBits;
  }
  /// The smallest normal value.
  float getMinNormal() const { return powerOfTwo(1 - bias); }
  /// The distance of subnormal values.
  float getSpacing() const { return powerOfTwo(1 - bias - mantissaBits); }
};

} // namespace

static constexpr Fields kF16Fields = {10, 15};

static Fields getFields(ElementFormat format) {
  const FormatInfo &info = getFormatInfo(format);
  return {info.mantissaBits, info.bias};
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// The smaller one; `b` where one is NaN. Written as what vector units have.
static Lanes minOrSecond(Lanes a, Lanes b) {
  return select(compare(CmpFPredicate::OLT, a, b), a, b);
}

/// The code nearest to a magnitude, in the low 23 bits.
///
/// The power of two of a magnitude, but at least the smallest normal value, is
/// 2^mantissaBits times the spacing of codes around it. Adding this power
/// moved up by `shift` rounds to a multiple of the spacing, which the low bits
/// of the sum count. They start with the number of the codes below, so that
/// they end as the code.
static Lanes encodeMagnitude(const Fields &fields, Lanes magnitude) {
  int shift = fields.getShift();
  Lanes smallest = magnitude.like(fields.getMinNormal());
  Lanes power = toBits(select(compare(CmpFPredicate::OGT, magnitude, smallest),
                              magnitude, smallest)) &
                kFloatInfinityBits;
  uint32_t move = static_cast<uint32_t>(shift) << kFloatMantissaBits;
  uint32_t below = numerics::toBits(fields.getMinNormal()) >> shift;
  return toBits(magnitude + toF32((power + (power >> shift)) + (move - below)));
}

/// The magnitude that encodeMagnitude gives `code` for.
static uint32_t getMagnitudeOf(const Fields &fields, uint32_t code) {
  return (code << fields.getShift()) + fields.getRebias();
}

/// The sign bit of x, moved to `position`; 0 for NaN and, where dropped, -0.
static Lanes getSign(Lanes x, int position, NegativeZero negativeZero) {
  Lanes bits = toBits(x);
  // As signed integers, the bits of -0 .. -infinity are the smallest numbers,
  // below those of negative NaNs.
  Lanes isNegative = negativeZero == NegativeZero::Drop
                         ? compare(CmpFPredicate::OLT, x, 0.0f)
                         : compare(CmpIPredicate::slt, bits,
                                   kFloatSignMask | (kFloatInfinityBits + 1));
  return select(isNegative, bits.like(1u << position), bits.like(0));
}

/// E2M1 codes count steps of 1/2 to 2, then of 1 to 4, then of 2; ties to even
/// hold in each range because the offsets are even. So the code is
///
///   min(rint(2 a), rint(a) + 2, rint(a / 2) + 4, 7)
///
/// and adding 2^22, whose last place is 1/2, leaves rint(2 a) in the low bits.
/// NaN loses to 7.
static Lanes encodeE2M1Magnitude(Lanes a) {
  constexpr float kAnchor = 4194304.0f; // 2^22
  Lanes halves = a + kAnchor;
  Lanes ones = addExactProduct(a, a.like(0.5f), a.like(kAnchor + 1.0f));
  Lanes twos = addExactProduct(a, a.like(0.25f), a.like(kAnchor + 2.0f));
  Lanes smallest = minOrSecond(minOrSecond(halves, ones), twos);
  Lanes limited = minOrSecond(smallest, a.like(kAnchor + 3.5f));
  return toBits(limited) - numerics::toBits(kAnchor);
}

Lanes emitEncodeMagnitude(ElementFormat format, Lanes magnitude) {
  return encodeMagnitude(getFields(format), magnitude);
}

Lanes emitLimitMagnitude(ElementFormat format, Lanes magnitude) {
  return minOrSecond(magnitude,
                     magnitude.like(getFormatInfo(format).maxFinite));
}

Lanes emitEncode(ElementFormat format, Lanes x, NegativeZero negativeZero) {
  const FormatInfo &info = getFormatInfo(format);
  Lanes sign = getSign(x, info.bits - 1, negativeZero);
  Lanes magnitude = toF32(emitMagnitudeBits(toBits(x)));
  // A sum rather than a union: it merges with what else is added to codes.
  if (format == ElementFormat::E2M1)
    return encodeE2M1Magnitude(magnitude) + sign;
  Fields fields = getFields(format);
  Lanes limit =
      select(isNan(x), toF32(sign.like(getMagnitudeOf(fields, info.nanCode))),
             x.like(info.maxFinite));
  return encodeMagnitude(fields, minOrSecond(magnitude, limit)) | sign;
}

/// In units of 1/512, codes are 256 apart to 1024, then 512 to 2048, then 1024.
/// So the code below a magnitude, which stays below 4096, is
///
///   min(units / 256, units / 512 + 2, units / 1024 + 4)
Lanes emitEncodeStochastic(Lanes x, Lanes randomBits,
                           NegativeZero negativeZero) {
  constexpr uint32_t kTwo = 1024, kFour = 2048;
  Lanes sign = getSign(x, 3, negativeZero);
  // NaN becomes 6, whose code is NaN's too.
  Lanes magnitude = minUnsigned(emitMagnitudeBits(toBits(x)),
                                toBits(x).like(numerics::toBits(kE2M1Max)));
  Lanes units = truncateToI32(toF32(magnitude) * 512.0f);
  Lanes gain = select(compare(CmpIPredicate::ult, units, kFour),
                      randomBits << 1, randomBits << 2);
  gain = select(compare(CmpIPredicate::ult, units, kTwo), randomBits, gain);
  units = units + gain;
  Lanes code = minUnsigned(units >> 8, (units >> 9) + 2);
  return minUnsigned(code, (units >> 10) + 4) | sign;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// The f32 bits of a finite magnitude.
static Lanes decodeMagnitude(const Fields &fields, Lanes code) {
  Lanes normal = (code << fields.getShift()) + fields.getRebias();
  Lanes subnormal = toBits(convertToF32(code) * fields.getSpacing());
  Lanes isSubnormal =
      compare(CmpIPredicate::ult, code, 1u << fields.mantissaBits);
  return select(isSubnormal, subnormal, normal);
}

/// decodeMagnitude, with codes from `infinity` on for infinity and NaN.
static Lanes decodeIEEEMagnitude(const Fields &fields, Lanes code,
                                 uint32_t infinity) {
  Lanes finite = decodeMagnitude(fields, code);
  Lanes special =
      select(compare(CmpIPredicate::eq, code, infinity),
             code.like(kFloatInfinityBits), code.like(kFloatNanBits));
  return select(compare(CmpIPredicate::uge, code, infinity), special, finite);
}

Lanes emitDecode(ElementFormat format, Lanes code) {
  const FormatInfo &info = getFormatInfo(format);
  Fields fields = getFields(format);
  uint32_t signMask = 1u << (info.bits - 1);
  Lanes sign = (code & signMask) << (32 - info.bits);
  Lanes magnitude = code & (signMask - 1);
  if (info.hasInfinity)
    return toF32(
        decodeIEEEMagnitude(fields, magnitude, info.maxFiniteCode + 1u) | sign);
  Lanes bits = decodeMagnitude(fields, magnitude);
  if (info.hasNan)
    bits = select(compare(CmpIPredicate::ugt, magnitude, info.maxFiniteCode),
                  bits.like(kFloatNanBits), bits);
  return toF32(bits | sign);
}

Lanes emitDecodeE8M0(Lanes byte) {
  Lanes bits = byte << kFloatMantissaBits;
  bits = select(compare(CmpIPredicate::eq, byte, 0),
                bits.like(numerics::toBits(decodeE8M0(0))), bits);
  bits = select(compare(CmpIPredicate::eq, byte, kE8M0Nan),
                bits.like(kFloatNanBits), bits);
  return toF32(bits);
}

Lanes emitDecodeE8M0Reciprocal(Lanes byte) {
  Lanes isNan = compare(CmpIPredicate::eq, byte, kE8M0Nan);
  return emitDecodeE8M0(select(isNan, byte, byte.like(254) - byte));
}

Lanes emitDecodeScale(ScaleFormat format, Lanes byte) {
  return format == ScaleFormat::E8M0 ? emitDecodeE8M0(byte)
                                     : emitDecode(ElementFormat::E4M3, byte);
}

//===----------------------------------------------------------------------===//
// f32, bf16 and f16
//===----------------------------------------------------------------------===//

Lanes emitEncodeFloat(Type type, Lanes x) {
  if (type.isF32())
    return toBits(x);
  if (type.isBF16()) {
    Lanes bits = select(isNan(x), toBits(x).like(kFloatNanBits), toBits(x));
    return truncate((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, 16);
  }
  constexpr uint32_t kInfinity = 0x7C00, kNan = 0x7E00;
  Lanes sign = getSign(x, 15, NegativeZero::Keep);
  Lanes magnitude = emitMagnitudeBits(toBits(x));
  Lanes limited = minUnsigned(
      magnitude, magnitude.like(getMagnitudeOf(kF16Fields, kInfinity)));
  Lanes encoded = select(
      isNan(x), magnitude.like(getMagnitudeOf(kF16Fields, kNan)), limited);
  return truncate(encodeMagnitude(kF16Fields, toF32(encoded)) | sign, 16);
}

Lanes emitDecodeFloat(Type type, Lanes bits) {
  if (type.isF32())
    return toF32(bits);
  Lanes wide = extend(bits, 32);
  if (type.isBF16())
    return toF32(wide << 16);
  Lanes sign = (wide & 0x8000) << 16;
  return toF32(decodeIEEEMagnitude(kF16Fields, wide & 0x7FFF, 0x7C00) | sign);
}

Lanes emitMagnitudeBits(Lanes bits) {
  unsigned width = bits.getElementType().getIntOrFloatBitWidth();
  return bits & ((uint64_t(1) << (width - 1)) - 1);
}

} // namespace blockscale::emit
