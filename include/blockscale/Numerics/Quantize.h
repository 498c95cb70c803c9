//===- Quantize.h - Quantization of one block -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has one scale whatever its shape: 1x16, 1x32, 32x1, 16x16, 32x32. The
// quantization of x transposed with a block RxC is that of x with CxR, except
// for the order in which 4over6 adds its errors.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_QUANTIZE_H
#define BLOCKSCALE_NUMERICS_QUANTIZE_H

#include "blockscale/Numerics/FourOverSix.h"
#include "blockscale/Numerics/Philox.h"
#include "blockscale/Numerics/StochasticRounding.h"

namespace blockscale::numerics {

/// The scale byte of a tile.
constexpr uint8_t getTileScaleByte(Recipe recipe, ElementFormat format,
                                   const GlobalFactors &global, const float *x,
                                   const Tile &tile) {
  float amax = computeAmax(x, tile);
  if (isFourOverSix(recipe))
    return chooseFourOverSixScale(recipe, global, x, tile, amax);
  return getScaleByte(recipe, format, amax, global);
}

/// Encodes a tile under a scale byte, one code a byte, at the strides of `x`.
constexpr void encodeTile(Recipe recipe, ElementFormat format,
                          const GlobalFactors &global, const float *x,
                          const Tile &tile, uint8_t scaleByte, uint8_t *codes) {
  float factor = getElementFactor(recipe, scaleByte, global);
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t c = 0; c < tile.cols; ++c)
      codes[tile.getOffset(r, c)] =
          quantizeElement(recipe, format, x[tile.getOffset(r, c)], factor);
}

/// encodeTile of E2M1 data with stochastic rounding, for a tile whose first
/// element is (row, col) of a matrix of `matrixCols` columns.
constexpr void encodeTileStochastic(Recipe recipe, const GlobalFactors &global,
                                    const float *x, const Tile &tile,
                                    uint8_t scaleByte, const RngState &rng,
                                    int64_t row, int64_t col,
                                    int64_t matrixCols, uint8_t *codes) {
  float factor = getElementFactor(recipe, scaleByte, global);
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t c = 0; c < tile.cols; ++c)
      codes[tile.getOffset(r, c)] = quantizeElementStochastic(
          recipe, x[tile.getOffset(r, c)], factor,
          getRandomByte(rng, row + r, col + c, matrixCols));
}

/// Quantizes a tile to `codes` and returns the scale byte.
constexpr uint8_t quantizeTile(Recipe recipe, ElementFormat format,
                               const GlobalFactors &global, const float *x,
                               const Tile &tile, uint8_t *codes) {
  uint8_t scaleByte = getTileScaleByte(recipe, format, global, x, tile);
  encodeTile(recipe, format, global, x, tile, scaleByte, codes);
  return scaleByte;
}

/// Quantizes the elements x[0], x[stride], .. of a block, or of a tail of one,
/// to `codes` (one a byte, same stride), and returns the scale byte.
constexpr uint8_t quantizeBlock(Recipe recipe, ElementFormat format,
                                const GlobalFactors &global, const float *x,
                                int64_t count, uint8_t *codes,
                                int64_t stride = 1) {
  return quantizeTile(recipe, format, global, x, Tile{1, count, 0, stride},
                      codes);
}

/// quantizeBlock of an NVFP4 block whose amax is given.
constexpr uint8_t quantizeBlockOfGivenAmax(Recipe recipe,
                                           const GlobalFactors &global,
                                           const float *x, int64_t count,
                                           float amax, uint8_t *codes) {
  uint8_t scaleByte = getE4M3ScaleByteOfGivenAmax(recipe, amax, global);
  encodeTile(recipe, ElementFormat::E2M1, global, x, Tile{1, count, 0, 1},
             scaleByte, codes);
  return scaleByte;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_QUANTIZE_H
