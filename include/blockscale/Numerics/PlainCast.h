//===- PlainCast.h - Casts of narrow floats without a recipe ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a cast of one number means, as the arith dialect and PyTorch write it:
// no block, no scale, and no saturation where the format has something beyond
// its largest number. docs/Numerics.md, section 19, states the rules.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_PLAINCAST_H
#define BLOCKSCALE_NUMERICS_PLAINCAST_H

#include "blockscale/Numerics/Codec.h"

namespace blockscale::numerics {

/// Where a number between two others goes. Ties of `Nearest` go to the even
/// code, those of `NearestAway` to the larger magnitude.
enum class RoundingDirection : uint8_t {
  Nearest,
  NearestAway,
  TowardZero,
  Down,
  Up
};

/// The code of a magnitude that is rounded toward zero or away from it, or to
/// the nearest with ties away. Codes go on above the largest number, with one.
template <typename Number>
constexpr Bits<Number>
encodeMagnitudeTo(RoundingDirection direction, const FormatInfo &info,
                  const CodeFields &fields, Number magnitude) {
  uint32_t above = info.maxFiniteCode + 1u;
  auto decodeCode = [&](Bits<Number> code) {
    return fromBits(decodeMagnitude(fields, code));
  };
  Number limit = like(magnitude, fromBits(fields.getMagnitudeBits(above)));
  Bits<Number> nearest =
      encodeMagnitude(fields, minOrSecond(magnitude, limit)) & 0xFFu;
  Bits<Number> below =
      select(isLess(magnitude, decodeCode(nearest)), nearest - 1u, nearest);
  Bits<Number> next = minUnsigned(below + 1u, like(below, above));
  if (direction == RoundingDirection::NearestAway) {
    Number toBelow = magnitude - decodeCode(below);
    return select(isLess(toBelow, decodeCode(below + 1u) - magnitude), below,
                  next);
  }
  if (direction == RoundingDirection::TowardZero)
    return minUnsigned(below, like(below, uint32_t{info.maxFiniteCode}));
  return select(isEqual(decodeCode(below), magnitude), below, next);
}

/// The code of x that a cast gives, in the low bits; those above are undefined.
/// Beyond the largest number E5M2 has infinity and E4M3 NaN, if x is rounded
/// there. E2M1, E2M3 and E3M2 have neither: there infinity becomes the largest
/// number with its sign, and NaN the largest number.
template <typename Number>
constexpr Bits<Number>
encodePlainBits(ElementFormat format, Number x,
                RoundingDirection direction = RoundingDirection::Nearest) {
  if (direction == RoundingDirection::Nearest)
    return encodeBits(format, x, NegativeZero::Keep, Overflow::Propagate);
  const FormatInfo &info = getFormatInfo(format);
  CodeFields fields = getFields(format);
  Number magnitude = magnitudeOf(x);
  auto round = [&](RoundingDirection to) {
    return encodeMagnitudeTo(to, info, fields, magnitude);
  };
  // The direction `Up` of magnitudes is away from zero.
  Bits<Number> code = like(toBits(x), 0u);
  if (direction == RoundingDirection::Down ||
      direction == RoundingDirection::Up) {
    Bits<Number> away = round(RoundingDirection::Up);
    Bits<Number> toward = round(RoundingDirection::TowardZero);
    bool isUp = direction == RoundingDirection::Up;
    code = select(isLess(x, like(x, 0.0f)), isUp ? toward : away,
                  isUp ? away : toward);
  } else {
    code = round(direction);
  }
  uint32_t infinity =
      info.maxFiniteCode + (info.hasInfinity || info.hasNan ? 1u : 0u);
  code = minUnsigned(code, like(code, infinity));
  code = select(isEqual(toBits(magnitude), kFloatInfinityBits),
                like(code, infinity), code);
  code = code | getSign(x, info.bits - 1, NegativeZero::Keep);
  return select(isNan(x), like(code, uint32_t{info.nanCode}), code);
}

/// The byte of the power of two that x is rounded to; in the middle between two
/// the nearest is the larger one. A number from 0 to 2^-127, and -0, give
/// 2^-127. Negative numbers, NaN and infinity give NaN, and so does what is
/// rounded to 2^128.
///
/// Adding half of the mantissa's range carries into the exponent from 1.5 times
/// a power of two on. Between 2^-127 and 2^-126, which are subnormal, the
/// middle is a quarter of the range above 2^-127.
template <typename Number>
constexpr Bits<Number>
encodePlainE8M0(Number x,
                RoundingDirection direction = RoundingDirection::Nearest) {
  Bits<Number> magnitude = toBits(x) & kFloatMagnitudeMask;
  Bits<Number> byte = magnitude >> kFloatMantissaBits;
  if (direction == RoundingDirection::Up) {
    byte = encodeE8M0RoundUp(x, Overflow::Propagate);
  } else if (direction == RoundingDirection::Nearest ||
             direction == RoundingDirection::NearestAway) {
    Bits<Number> half = select(isBelow(magnitude, kFloatMantissaMask + 1),
                               like(magnitude, (kFloatMantissaMask + 1) / 4),
                               like(magnitude, (kFloatMantissaMask + 1) / 2));
    byte = (magnitude + half) >> kFloatMantissaBits;
  }
  byte = minUnsigned(byte, like(byte, uint32_t{kE8M0Nan}));
  return select(isLess(x, like(x, 0.0f)), like(byte, uint32_t{kE8M0Nan}), byte);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_PLAINCAST_H
