//===- E2M1Starts.h - E2M1 codes of bf16 by comparison ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All elements of a block have one factor, so that a code begins at one
// magnitude: the larger the element, the larger its code. CPUs compare integers
// of 16 bits in half the instructions that f32 takes, and need no division. So
// for elements of bf16 the magnitudes where codes begin are found once for a
// block, and elements are compared with them.
//
// Codes 3 to 7 begin at scaled elements of 1.25, 1.75, 2.5, 3.5 and 5: each at
// twice what the second before it does, and with the same rule for what lies
// just there. Doubling a bf16 adds 128 to its bits. So the places where codes 1
// to 4 begin say all.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_E2M1STARTS_H
#define BLOCKSCALE_NUMERICS_E2M1STARTS_H

#include "blockscale/Numerics/BlockScale.h"

namespace blockscale::numerics {

/// Where the E2M1 codes of a block of bf16 begin, by bits of magnitudes. A word
/// has 16 bits or more.
template <typename Word>
struct E2M1Starts {
  /// The largest magnitudes whose codes are below 1, 2 and 3.
  Word beforeFirst, beforeSecond, beforeThird;
  /// 127 less the distance from where code 3 begins to where code 4 does.
  Word toFourth;
};

inline constexpr int kBF16MantissaBits = 7;
/// How much the bits of a bf16 grow when its value is doubled.
inline constexpr uint32_t kBF16Octave = 1u << kBF16MantissaBits;

/// Factors for which the scaled elements around the starts are normal, and no
/// element but 0 becomes 0. Others have no E2M1Starts.
inline constexpr float kStartsLeastStep = 0x1p-100f, kStartsMostStep = 0x1p15f;

/// Whether the elements of a block with this factor have E2M1Starts.
template <typename Number>
constexpr auto hasE2M1Starts(Recipe recipe, Number factor) {
  bool divides = dividesElements(recipe);
  uint32_t least = toBits(divides ? kStartsLeastStep : 1 / kStartsMostStep);
  uint32_t most = toBits(divides ? kStartsMostStep : 1 / kStartsLeastStep);
  return isBelow(toBits(factor) - least, like(toBits(factor), most - least));
}

/// Whether x / d, rounded to f32, is below a tie of codes, or above it, for an
/// x that is within 1/256 of tie * d, relatively. The tie is a sum of 1, 1/2
/// and 1/4 whose last bit is 0 in f32, so that half of a last place more or
/// less is rounded to it. No division is needed: the rest is exact, since
/// numbers within a factor of two are subtracted from one another.
template <typename Number>
constexpr auto isQuotientBeside(Number x, Number d, float tie, bool isAbove) {
  Number rest = x;
  float left = tie;
  for (float part : {1.0f, 0.5f, 0.25f})
    if (left >= part) {
      rest = rest - d * part;
      left -= part;
    }
  float halfPlace = fromBits((toBits(tie) & kFloatInfinityBits) -
                             ((kFloatMantissaBits + 1) << kFloatMantissaBits));
  return isAbove ? isLess(d * halfPlace, rest) : isLess(rest, d * -halfPlace);
}

/// The largest bf16 magnitude whose scaled value is below `tie`, or not above
/// it where the tie goes down. `step` is what becomes about 1 when it is
/// scaled: the bf16 nearest to its product with the tie is the only one that is
/// close enough for the rounding of scaled values to matter.
template <typename Number>
constexpr Bits<Number> getLastBF16Below(Recipe recipe, Number factor,
                                        Number step, float tie, bool goesUp) {
  Bits<Number> nearest = (toBits(step * tie) + 0x8000u) >> 16;
  Number x = fromBits(nearest << 16);
  auto isBeside = [&] {
    if (dividesElements(recipe))
      return isQuotientBeside(x, factor, tie, /*isAbove=*/!goesUp);
    Number scaled = x * factor, limit = like(x, tie);
    return goesUp ? isLess(scaled, limit) : isLess(limit, scaled);
  }();
  Bits<Number> before = nearest - 1u;
  return goesUp ? select(isBeside, nearest, before)
                : select(isBeside, before, nearest);
}

/// The starts of a block whose factor has them. Ties go to the even code.
template <typename Number>
constexpr E2M1Starts<Bits<Number>> getE2M1Starts(Recipe recipe, Number factor) {
  Number step = dividesElements(recipe) ? factor : getReciprocal(factor);
  auto getLast = [&](float tie, bool goesUp) {
    return getLastBF16Below(recipe, factor, step, tie, goesUp);
  };
  Bits<Number> third = getLast(1.25f, false), fourth = getLast(1.75f, true);
  return {getLast(0.25f, false), getLast(0.75f, true), third,
          (third - fourth) + (kBF16Octave - 1)};
}

/// The E2M1 code of an element, from the bits of its bf16 magnitude, in words
/// that have 16 bits or more. NaN gives 7.
template <typename Word>
constexpr Word countE2M1Code(Word magnitude, const E2M1Starts<Word> &starts) {
  Word above = maxUnsigned(magnitude, starts.beforeThird) - starts.beforeThird;
  Word code = ((above + (kBF16Octave - 1)) >> kBF16MantissaBits) +
              ((above + starts.toFourth) >> kBF16MantissaBits);
  Word one = like(magnitude, 1u), zero = like(magnitude, 0u);
  code = code + select(isLessSigned(starts.beforeFirst, magnitude), one, zero);
  code = code + select(isLessSigned(starts.beforeSecond, magnitude), one, zero);
  return minUnsigned(code, like(code, 7u));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_E2M1STARTS_H
