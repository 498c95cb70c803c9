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
constexpr float dequantizeElement(Recipe recipe, ElementFormat format,
                                  uint8_t code, uint8_t scaleByte,
                                  float decodeGlobal = 1.0f) {
  float value = decode(format, code);
  float scale = decodeScale(getScaleFormat(recipe), scaleByte);
  if (!isNvfp4(recipe))
    return value * scale;
  if (recipe == Recipe::Modelopt)
    return (value * scale) * decodeGlobal;
  return value * (decodeGlobal * scale);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_DEQUANTIZE_H
