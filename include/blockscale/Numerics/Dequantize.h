//===- Dequantize.h - Values of codes and scales ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_DEQUANTIZE_H
#define BLOCKSCALE_NUMERICS_DEQUANTIZE_H

#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/GlobalScale.h"

namespace blockscale::numerics {

/// The value of one code, with one rounding to f32 a product.
///
///   torchao, mslk, te  code * (g * s)     torchao NVFP4Tensor.dequantize
///   modelopt           (code * s) * g     ModelOpt's kernel, left to right
///   MX                 code * 2^(byte - 127)
///
/// A NaN scale gives NaN. `decodeGlobal` is GlobalFactors::decode, 1 where the
/// global scale is absent.
///
/// The factor of a block is its scale, times the global one where the recipe
/// multiplies these two first.
template <typename Number>
constexpr Number getBlockFactor(Recipe recipe, Number scale,
                                Number decodeGlobal) {
  return isNvfp4(recipe) && !dividesElements(recipe) ? decodeGlobal * scale
                                                     : scale;
}

/// The value of a code, from that of the code alone and the block's factor.
template <typename Number>
constexpr Number dequantizeValue(Recipe recipe, Number value, Number factor,
                                 Number decodeGlobal) {
  Number product = value * factor;
  return dividesElements(recipe) ? product * decodeGlobal : product;
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
