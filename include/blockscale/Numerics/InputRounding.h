//===- InputRounding.h - Rounding to the types of x -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recipes that come from code for tensors of bf16 or f16 round numbers of a
// tensor or a block to that type, to nearest with ties to even. The numbers
// stay f32.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_INPUTROUNDING_H
#define BLOCKSCALE_NUMERICS_INPUTROUNDING_H

#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale::numerics {

template <typename Number>
constexpr Number roundToBF16(Number x) {
  return fromBits(encodeBF16Bits(x) << 16);
}

template <typename Number>
constexpr Number roundToF16(Number x) {
  return decodeF16Bits(Bits<Number>(encodeF16Bits(x) & 0xFFFFu));
}

/// x rounded to the type of the tensor, if the recipe does so.
template <typename Number>
constexpr Number roundToInput(Recipe recipe, Number x) {
  std::optional<InputFormat> input = getRecipeInfo(recipe).input;
  if (input == InputFormat::BF16)
    return roundToBF16(x);
  if (input == InputFormat::F16)
    return roundToF16(x);
  return x;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_INPUTROUNDING_H
