//===- Bits.h - Floats as bit patterns --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that the rest of Numerics is made of. Each one here and in the
// other headers of Numerics is a single f32 operation, a comparison, or integer
// arithmetic. A product that is added to is a `roundedProduct`, which Clang's
// default does not fuse with the sum; -ffp-contract=fast would. The caller's
// thread must not flush subnormals (FTZ, DAZ).
//
// The formulas of recipes and codecs are templates over the type of a number:
// float here, and in code generators a value that emits each operation. What
// they call is declared here for float and for its bits, uint32_t; such a value
// brings the same by argument-dependent lookup. A formula has no branch that
// depends on a number: `select` takes both sides.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_BITS_H
#define BLOCKSCALE_NUMERICS_BITS_H

#include "blockscale/Numerics/Index.h"

#include <cfloat>

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

/// The type of the bits of a number, and that of the number of some bits: a
/// value that emits operations is both.
template <typename Number>
struct BitsOf {
  using Type = Number;
};
template <>
struct BitsOf<float> {
  using Type = uint32_t;
};
template <typename Number>
using Bits = typename BitsOf<Number>::Type;

template <typename Word>
struct NumberOf {
  using Type = Word;
};
template <>
struct NumberOf<uint32_t> {
  using Type = float;
};
template <typename Word>
using Number = typename NumberOf<Word>::Type;

constexpr bool isLess(float x, float y) { return x < y; }
constexpr bool isEqual(float x, float y) { return x == y; }
/// Comparisons and limits of bits, as numbers without sign unless they say so.
constexpr bool isEqual(uint32_t x, uint32_t y) { return x == y; }
constexpr bool isBelow(uint32_t x, uint32_t y) { return x < y; }
constexpr uint32_t minUnsigned(uint32_t x, uint32_t y) { return x < y ? x : y; }
constexpr uint32_t maxUnsigned(uint32_t x, uint32_t y) { return x > y ? x : y; }
constexpr bool isLessSigned(uint32_t x, uint32_t y) {
  return static_cast<int32_t>(x) < static_cast<int32_t>(y);
}
constexpr uint32_t maxSigned(uint32_t x, uint32_t y) {
  return isLessSigned(x, y) ? y : x;
}

/// A small number as f32, and the whole part of an f32 that 31 bits hold.
constexpr float convertToF32(uint32_t x) { return static_cast<float>(x); }
constexpr uint32_t truncateToI32(float x) { return static_cast<uint32_t>(x); }

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

/// a * b + c where a * b is exact, so that it may be fused.
constexpr float addExactProduct(float a, float b, float c) { return a * b + c; }

/// |x|; of NaN too.
template <typename Number>
constexpr Number magnitudeOf(Number x) {
  return fromBits(toBits(x) & kFloatMagnitudeMask);
}

/// The smaller of a and b; b where one is NaN.
template <typename Number>
constexpr Number minOrSecond(Number a, Number b) {
  return select(isLess(a, b), a, b);
}

/// The larger of `amax` (not negative) and |x|. NaN propagates.
constexpr float maxMagnitude(float amax, float x) {
  uint32_t left = magnitudeBits(amax), right = magnitudeBits(x);
  return fromBits(left > right ? left : right);
}

/// The smaller of `x` and `upper`. NaN stays NaN.
constexpr float minKeepNan(float x, float upper) {
  return x > upper ? upper : x;
}

/// The larger of `x` and `lower`. NaN stays NaN.
constexpr float maxKeepNan(float x, float lower) {
  return x < lower ? lower : x;
}

/// 1 / x.
template <typename Number>
constexpr Number getReciprocal(Number x) {
  return like(x, 1.0f) / x;
}

/// `value`, or 1 where `isOne` holds.
template <typename Condition, typename Number>
constexpr Number oneWhere(Condition isOne, Number value) {
  return select(isOne, like(value, 1.0f), value);
}
template <typename Number>
constexpr Number oneWhereZero(Number value) {
  return oneWhere(isEqual(value, like(value, 0.0f)), value);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_BITS_H
