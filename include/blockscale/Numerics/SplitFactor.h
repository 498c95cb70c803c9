//===- SplitFactor.h - A factor of E2M1 as two bf16 numbers -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product by kProductRecipe rounds each element times the factor f of its
// block, an f32, to f32 and then to bf16. The magnitudes of E2M1 are powers of
// two, and 1.5 times powers of two. So all that can come of them are two
// numbers, F = bf16(f) and G = bf16(f32(1.5 f)), times powers of two. With a
// number E that is much smaller than F,
//
//   bf16(c * F + c * E)
//
// is the rounded element for each of the magnitudes c, so that a pair of
// elements takes two instructions of bf16 without a number of f32. Let u be the
// last place of F. F + E must round to F, and 1.5 (F + E) to G. With
// D = G - 1.5 F, that holds where E has the sign of D and
//
//   |D| / u   0   1/2           1             3/2
//   |E| / u   0   above 0,      above 1/3,    above 1/3,
//                 below 1/3     at most 1/2   below 1/2
//
// No multiple of D is that. But if the last place of G is 2 u, what separates G
// from 1.5 F rounded to bf16 is a multiple of 2 u, and otherwise of u, so that
// the two together say which case it is: E is D / 2 less 5/32 of that
// difference. H = G / 2 takes the place of G below. The unit test compares all
// numbers of f32 of one power of two, which are all cases there are: the others
// are these times powers of two, as long as nothing is subnormal or infinite.
//
// The sign of a zero is not kept where E has another one than F. Sums are the
// same, as they begin with 0.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_SPLITFACTOR_H
#define BLOCKSCALE_NUMERICS_SPLITFACTOR_H

#include "blockscale/Numerics/Bits.h"

namespace blockscale::numerics {

/// F and E. `Plain` is a number of bf16, or several.
template <typename Plain>
struct SplitFactor {
  Plain main, rest;
};

/// What H is of a factor.
inline constexpr float kSplitPart = 0.75f;

/// Splits a factor that is `main` in bf16 and, times kSplitPart, is `part` in
/// f32 and then in bf16. `fma` is x * y + z, rounded once.
template <typename Plain, typename Fma>
constexpr SplitFactor<Plain> splitFactor(Plain main, Plain part, Fma fma) {
  Plain difference = fma(main, like(main, -kSplitPart), part);
  Plain rounded = part - main * like(main, kSplitPart);
  return {main, fma(rounded, like(main, -0.3125f), difference)};
}

/// An element of E2M1, or one times a power of two, times a factor.
template <typename Plain, typename Fma>
constexpr Plain multiplySplit(Plain element, const SplitFactor<Plain> &factor,
                              Fma fma) {
  return fma(element, factor.main, element * factor.rest);
}

//===----------------------------------------------------------------------===//
// Global scales
//===----------------------------------------------------------------------===//

/// The power of two by which the bits of a code in the lowest bits of bf16's
/// exponent and the highest one of its mantissa are smaller than the element.
inline constexpr int kSplitCodeExponent = 126;
/// The largest exponent of a global scale that, times 2^kSplitCodeExponent and
/// a block scale, which is below 2^9, is a number of bf16.
inline constexpr int kSplitLargest = -8;
/// The exponents of global scales whose factors are split. Nothing that is made
/// of smaller ones is subnormal, whatever the block scale is. Larger ones would
/// make sums smaller by more than 2^8.
inline constexpr int kSplitBegin = -100, kSplitEnd = kSplitLargest + 9;

/// Whether blocks with this global scale have factors that can be split.
template <typename Number>
constexpr auto canSplit(Number global) {
  uint32_t begin = toBits(powerOfTwo(kSplitBegin));
  uint32_t end = toBits(powerOfTwo(kSplitEnd));
  return isBelow(Bits<Number>((toBits(global) & kFloatMagnitudeMask) - begin),
                 end - begin);
}

/// A global scale with the factor of the bits of codes, and what sums of such
/// elements are then smaller by: a power of two, which is 1 for most scales.
template <typename Number>
struct SplitGlobal {
  Number scale, ofSums;
};

template <typename Number>
constexpr SplitGlobal<Number> splitGlobal(Number global) {
  constexpr uint32_t kLargestField = kFloatBias + kSplitLargest;
  Bits<Number> field =
      (toBits(global) & kFloatMagnitudeMask) >> kFloatMantissaBits;
  Bits<Number> above =
      maxUnsigned(field, like(field, kLargestField)) - kLargestField;
  auto getPower = [](Bits<Number> field) {
    return fromBits(Bits<Number>(field << kFloatMantissaBits));
  };
  Bits<Number> ofCodes =
      like(field, uint32_t{kFloatBias + kSplitCodeExponent}) - above;
  return {global * getPower(ofCodes), getPower(above + uint32_t{kFloatBias})};
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_SPLITFACTOR_H
