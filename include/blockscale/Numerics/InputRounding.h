//===- InputRounding.h - Rounding to the types of x -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recipes that come from code for tensors of bf16 or f16 round numbers of a
// tensor or a block to that type, to nearest with ties to even. The numbers are
// magnitudes, and stay f32.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_INPUTROUNDING_H
#define BLOCKSCALE_NUMERICS_INPUTROUNDING_H

#include "blockscale/Numerics/Bits.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale::numerics {

/// A magnitude rounded to bf16, the upper half of f32. The bits of magnitudes
/// are in their order, so that the sum carries into the exponent, up to
/// infinity.
template <typename Number>
constexpr Number roundToBF16(Number magnitude) {
  Bits<Number> bits = toBits(magnitude);
  Bits<Number> rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
  // The sum of a NaN may leave the range of NaN.
  return fromBits(select(isBelow(bits, kFloatInfinityBits), rounded, bits));
}

/// The least magnitude that f16 has no finite number for, and the least normal
/// number of f16.
inline constexpr float kF16Overflow = 65520.0f;
inline constexpr float kF16MinNormal = 0x1p-14f;

/// A magnitude rounded to f16: adding and subtracting 2^13 times the power of
/// two at or below it rounds to a multiple of 2^-10 times that power.
template <typename Number>
constexpr Number roundToF16(Number magnitude) {
  // Powers of two are ordered as their bits.
  Bits<Number> power = maxUnsigned(toBits(magnitude) & kFloatInfinityBits,
                                   toBits(like(magnitude, kF16MinNormal)));
  Number shift = fromBits(power) * 0x1p13f;
  Number rounded = (magnitude + shift) - shift;
  Number infinity = fromBits(like(power, kFloatInfinityBits));
  return select(isLess(magnitude, like(magnitude, kF16Overflow)), rounded,
                magnitude + infinity);
}

/// A magnitude rounded to the type of x, if the recipe does so.
template <typename Number>
constexpr Number roundToInput(Recipe recipe, Number magnitude) {
  std::optional<InputFormat> input = getRecipeInfo(recipe).input;
  if (input == InputFormat::BF16)
    return roundToBF16(magnitude);
  if (input == InputFormat::F16)
    return roundToF16(magnitude);
  return magnitude;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_INPUTROUNDING_H
