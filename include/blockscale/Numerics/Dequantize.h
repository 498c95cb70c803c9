//===- Dequantize.h - Values of codes and scales ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_DEQUANTIZE_H
#define BLOCKSCALE_NUMERICS_DEQUANTIZE_H

#include "blockscale/Numerics/BlockScale.h"

namespace blockscale::numerics {

/// The value of a code, from that of the code alone and the block's factor.
template <typename Number>
constexpr Number dequantizeValue(Recipe recipe, Number value, Number factor,
                                 Number decodeGlobal) {
  Number product = value * factor;
  return decodesInSteps(recipe) ? product * decodeGlobal : product;
}

/// The recipe by which a product dequantizes elements that its global scale
/// multiplies (`global_scaling in_elements`).
inline constexpr Recipe kProductRecipe = Recipe::Torchao;

/// Whether an NVFP4 recipe has the values of `kProductRecipe`.
constexpr bool dequantizesAsProducts(Recipe recipe) {
  return isNvfp4(recipe) && !decodesInSteps(recipe) &&
         !decodesByReciprocal(recipe);
}

constexpr float dequantizeElement(Recipe recipe, ElementFormat format,
                                  uint8_t code, uint8_t scaleByte,
                                  float decodeGlobal = 1.0f) {
  float scale = decodeScale(getScaleFormat(recipe), scaleByte);
  return dequantizeValue(recipe, decode(format, code),
                         getBlockFactor(recipe, scale, decodeGlobal),
                         decodeGlobal);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_DEQUANTIZE_H
