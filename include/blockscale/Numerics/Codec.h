//===- Codec.h - f32 to narrow codes and back -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Encoding rounds to nearest, ties to the even code, and keeps the sign of
// zero, as PTX `cvt.rn.satfinite` does. Everything is integer arithmetic on the
// bits of the f32.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_CODEC_H
#define BLOCKSCALE_NUMERICS_CODEC_H

#include "blockscale/Numerics/Bits.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale::numerics {

/// What values beyond the largest finite one, infinity included, become.
enum class Overflow : uint8_t {
  /// The largest finite code (PTX `satfinite`).
  Saturate,
  /// Infinity or NaN where the format has them (E5M2: infinity, E4M3: NaN), as
  /// casts of ml_dtypes do; E2M1, E2M3 and E3M2 have neither and saturate.
  Propagate
};

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The code nearest to `x`, right-aligned. NaN gives `nanCode`, sign dropped.
constexpr uint8_t encode(ElementFormat format, float x,
                         Overflow overflow = Overflow::Saturate) {
  const FormatInfo &info = getFormatInfo(format);
  uint32_t magnitude = magnitudeBits(x);
  if (magnitude > kFloatInfinityBits)
    return info.nanCode;

  uint32_t sign = (toBits(x) >> 31) << (info.bits - 1);
  int exponent = static_cast<int>(magnitude >> kFloatMantissaBits) - kFloatBias;
  // Zero; f32 subnormals are far below half of any format's smallest value.
  if (exponent == -kFloatBias)
    return static_cast<uint8_t>(sign);
  uint32_t significand = (magnitude & kFloatMantissaMask) | 0x00800000u;

  // Below the smallest normal exponent the spacing of codes stays the same.
  int minExponent = 1 - info.bias;
  int spacingExponent = exponent > minExponent ? exponent : minExponent;
  int shift =
      kFloatMantissaBits - info.mantissaBits + (spacingExponent - exponent);
  uint32_t rounded = 0;
  if (shift <= kFloatMantissaBits + 1) {
    uint32_t odd = (significand >> shift) & 1;
    rounded = (significand + (1u << (shift - 1)) - 1 + odd) >> shift;
  }
  // Adding lets a carry out of the mantissa reach the exponent.
  uint32_t code =
      rounded + (static_cast<uint32_t>(spacingExponent - minExponent)
                 << info.mantissaBits);
  if (code > info.maxFiniteCode) {
    code = info.maxFiniteCode;
    if (overflow == Overflow::Propagate && (info.hasInfinity || info.hasNan))
      ++code;
  }
  return static_cast<uint8_t>(sign | code);
}

/// The value of a code; bits above the format's are ignored.
constexpr float decode(ElementFormat format, uint8_t code) {
  const FormatInfo &info = getFormatInfo(format);
  uint32_t sign = (code >> (info.bits - 1)) & 1;
  uint32_t magnitude = code & ((1u << (info.bits - 1)) - 1);
  uint32_t signBit = sign << 31;
  if (magnitude > info.maxFiniteCode) {
    bool infinity = info.hasInfinity && magnitude == info.maxFiniteCode + 1u;
    return fromBits(signBit | (infinity ? kFloatInfinityBits : kFloatNanBits));
  }
  uint32_t exponent = magnitude >> info.mantissaBits;
  uint32_t significand = magnitude & ((1u << info.mantissaBits) - 1);
  if (exponent != 0)
    significand |= 1u << info.mantissaBits;
  else
    exponent = 1;
  float spacing =
      powerOfTwo(static_cast<int>(exponent) - info.bias - info.mantissaBits);
  return fromBits(signBit | toBits(static_cast<float>(significand) * spacing));
}

/// Whether the code is NaN. E2M1, E2M3 and E3M2 have none.
constexpr bool isNanCode(ElementFormat format, uint8_t code) {
  return isNan(decode(format, code));
}

//===----------------------------------------------------------------------===//
// E8M0
//===----------------------------------------------------------------------===//

/// 2^(byte - 127); 2^-127 is an f32 subnormal. 255 is NaN.
constexpr float decodeE8M0(uint8_t byte) {
  if (byte == kE8M0Nan)
    return fromBits(kFloatNanBits);
  if (byte == 0)
    return fromBits(0x00400000u);
  return fromBits(static_cast<uint32_t>(byte) << kFloatMantissaBits);
}

/// The largest power of two not above |x| (PTX `cvt.rz.ue8m0x2.f32`); all
/// below 2^-126 gives byte 0. Infinity is 255 or, saturated, 254.
constexpr uint8_t encodeE8M0RoundDown(float x, Overflow overflow) {
  uint32_t magnitude = magnitudeBits(x);
  if (magnitude == kFloatInfinityBits && overflow == Overflow::Saturate)
    return kE8M0MaxFinite;
  return static_cast<uint8_t>(magnitude >> kFloatMantissaBits);
}

/// The smallest power of two not below |x| (PTX `cvt.rp.ue8m0x2.f32`). Above
/// 2^127, infinity included, it is 255 or, saturated, 254.
constexpr uint8_t encodeE8M0RoundUp(float x, Overflow overflow) {
  uint32_t magnitude = magnitudeBits(x);
  if (magnitude > kFloatInfinityBits)
    return kE8M0Nan;
  uint32_t exponent = magnitude >> kFloatMantissaBits;
  uint32_t mantissa = magnitude & kFloatMantissaMask;
  // In the subnormal range the lower power of two is 2^-127, half way up.
  uint32_t lower = exponent == 0 ? 0x00400000u : 0;
  uint32_t byte = exponent + (mantissa > lower ? 1 : 0);
  if (byte >= kE8M0Nan)
    return overflow == Overflow::Saturate ? kE8M0MaxFinite : kE8M0Nan;
  return static_cast<uint8_t>(byte);
}

/// 1 / 2^(byte - 127), exactly; byte 254 gives a subnormal, 255 NaN.
constexpr float decodeE8M0Reciprocal(uint8_t byte) {
  return byte == kE8M0Nan ? decodeE8M0(byte)
                          : decodeE8M0(static_cast<uint8_t>(254 - byte));
}

//===----------------------------------------------------------------------===//
// Scales and bf16
//===----------------------------------------------------------------------===//

constexpr float decodeScale(ScaleFormat format, uint8_t byte) {
  return format == ScaleFormat::E8M0 ? decodeE8M0(byte)
                                     : decode(ElementFormat::E4M3, byte);
}

constexpr bool isNanScale(ScaleFormat format, uint8_t byte) {
  return isNan(decodeScale(format, byte));
}

/// Whether a scale byte is a negative number. Scales are not: only E4M3 has a
/// sign bit, and on NaN it means nothing.
constexpr bool isNegativeScale(ScaleFormat format, uint8_t byte) {
  return format == ScaleFormat::E4M3 && (byte & 0x80) &&
         !isNanScale(format, byte);
}

constexpr float decodeBF16(uint16_t code) {
  return fromBits(static_cast<uint32_t>(code) << 16);
}

/// Nearest bf16, ties to even. NaN gives 0x7FC0, sign dropped.
constexpr uint16_t encodeBF16(float x) {
  if (isNan(x))
    return static_cast<uint16_t>(kFloatNanBits >> 16);
  uint32_t bits = toBits(x);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_CODEC_H
