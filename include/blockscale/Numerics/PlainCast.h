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

/// The code nearest to x, ties to even, in the low bits; those above are
/// undefined. Beyond the largest number E5M2 has infinity and E4M3 NaN. E2M1,
/// E2M3 and E3M2 have neither: there infinity becomes the largest number with
/// its sign, and NaN the largest number.
template <typename Number>
constexpr Bits<Number> encodePlainBits(ElementFormat format, Number x) {
  return encodeBits(format, x, NegativeZero::Keep, Overflow::Propagate);
}

/// The byte of the power of two nearest to x; in the middle between two it is
/// the larger one. A number from 0 to 2^-127, and -0, give 2^-127. Negative
/// numbers, NaN, and what is nearer to 2^128 than to 2^127 give NaN.
///
/// Adding half of the mantissa's range carries into the exponent from 1.5 times
/// a power of two on. Between 2^-127 and 2^-126, which are subnormal, the
/// middle is a quarter of the range above 2^-127.
template <typename Number>
constexpr Bits<Number> encodeE8M0Nearest(Number x) {
  Bits<Number> magnitude = toBits(x) & kFloatMagnitudeMask;
  Bits<Number> half = select(isBelow(magnitude, kFloatMantissaMask + 1),
                             like(magnitude, (kFloatMantissaMask + 1) / 4),
                             like(magnitude, (kFloatMantissaMask + 1) / 2));
  Bits<Number> byte = (magnitude + half) >> kFloatMantissaBits;
  byte = minUnsigned(byte, like(byte, uint32_t{kE8M0Nan}));
  return select(isLess(x, like(x, 0.0f)), like(byte, uint32_t{kE8M0Nan}), byte);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_PLAINCAST_H
