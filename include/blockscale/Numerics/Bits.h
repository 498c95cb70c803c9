//===- Bits.h - Floats as bit patterns --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rest of Numerics stands on: every operation here and in the headers
// above is a single f32 operation, a comparison, or integer arithmetic. A
// product that is added to is a `roundedProduct`, which Clang's default does
// not fuse with the sum; -ffp-contract=fast would. The caller's thread must not
// flush subnormals (FTZ, DAZ).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_BITS_H
#define BLOCKSCALE_NUMERICS_BITS_H

#include <cfloat>
#include <cstdint>

#ifdef __FAST_MATH__
#error "blockscale/Numerics needs IEEE arithmetic: build without -ffast-math"
#endif

// Where the target has fused operations, GCC contracts across statements by
// default, and cannot be told otherwise from here.
#if defined(__GNUC__) && !defined(__clang__) && defined(__FP_FAST_FMAF) &&     \
    !defined(BLOCKSCALE_NO_FP_CONTRACT)
#error                                                                         \
    "blockscale/Numerics: build with -ffp-contract=off -DBLOCKSCALE_NO_FP_CONTRACT"
#endif

namespace blockscale::numerics {

static_assert(FLT_EVAL_METHOD == 0, "f32 operations must round to f32");

inline constexpr uint32_t kFloatSignMask = 0x80000000u;
inline constexpr uint32_t kFloatMagnitudeMask = 0x7FFFFFFFu;
inline constexpr uint32_t kFloatInfinityBits = 0x7F800000u;
inline constexpr uint32_t kFloatNanBits = 0x7FC00000u;
inline constexpr uint32_t kFloatMantissaMask = 0x007FFFFFu;
inline constexpr int kFloatMantissaBits = 23;
inline constexpr int kFloatBias = 127;
inline constexpr float kFloatMax = FLT_MAX;

constexpr uint32_t toBits(float x) { return __builtin_bit_cast(uint32_t, x); }
constexpr float fromBits(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

/// The bits of |x|. As integers they are ordered as the magnitudes are, with
/// NaN above infinity.
constexpr uint32_t magnitudeBits(float x) {
  return toBits(x) & kFloatMagnitudeMask;
}

constexpr bool isNan(float x) { return magnitudeBits(x) > kFloatInfinityBits; }
constexpr bool isInfinity(float x) {
  return magnitudeBits(x) == kFloatInfinityBits;
}
constexpr bool isNegativeZero(float x) { return toBits(x) == kFloatSignMask; }

/// 2^exponent, for the exponents of normal f32 numbers: -126 .. 127.
constexpr float powerOfTwo(int exponent) {
  return fromBits(static_cast<uint32_t>(exponent + kFloatBias)
                  << kFloatMantissaBits);
}

/// a * b, rounded to f32 also where the caller adds to it.
constexpr float roundedProduct(float a, float b) {
#ifdef __clang__
#pragma clang fp contract(off)
#endif
  return a * b;
}

/// |x|; of NaN too.
constexpr float magnitudeOf(float x) { return fromBits(magnitudeBits(x)); }

/// The larger of `amax` (not negative) and |x|. NaN propagates.
constexpr float maxMagnitude(float amax, float x) {
  uint32_t left = magnitudeBits(amax), right = magnitudeBits(x);
  return fromBits(left > right ? left : right);
}

/// `x` limited to [lower, upper]. NaN stays NaN.
constexpr float clampKeepNan(float x, float lower, float upper) {
  return x < lower ? lower : x > upper ? upper : x;
}

/// The smaller of `x` and `upper`. NaN stays NaN.
constexpr float minKeepNan(float x, float upper) {
  return x > upper ? upper : x;
}

/// The larger of `x` and `lower`. NaN stays NaN.
constexpr float maxKeepNan(float x, float lower) {
  return x < lower ? lower : x;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_BITS_H
