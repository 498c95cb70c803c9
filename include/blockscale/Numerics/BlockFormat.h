//===- BlockFormat.h - Which data and scales go together --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block-scaled format is a type of elements, a type of block scales, and the
// number of elements that share one. The rows of the table are NVFP4 and the
// formats of OCP Microscaling.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_BLOCKFORMAT_H
#define BLOCKSCALE_NUMERICS_BLOCKFORMAT_H

#include "blockscale/Numerics/Recipe.h"

namespace blockscale::numerics {

struct BlockFormat {
  ElementFormat element;
  ScaleFormat scale;
  /// The longer side of a block, whose other side is as long or 1.
  int blockSize;
  /// The recipe where none is named.
  Recipe recipe;
};

inline constexpr BlockFormat kBlockFormats[] = {
    // element, scale, block, recipe
    {ElementFormat::E2M1, ScaleFormat::E4M3, 16, Recipe::Torchao},
    {ElementFormat::E2M1, ScaleFormat::E8M0, 32, Recipe::Rceil},
    {ElementFormat::E2M3, ScaleFormat::E8M0, 32, Recipe::Rceil},
    {ElementFormat::E3M2, ScaleFormat::E8M0, 32, Recipe::Rceil},
    {ElementFormat::E4M3, ScaleFormat::E8M0, 32, Recipe::Rceil},
    {ElementFormat::E5M2, ScaleFormat::E8M0, 32, Recipe::Rceil},
    {ElementFormat::INT8, ScaleFormat::E8M0, 32, Recipe::Rceil},
};

/// The format of these elements and scales, or null.
constexpr const BlockFormat *findBlockFormat(ElementFormat element,
                                             ScaleFormat scale) {
  for (const BlockFormat &format : kBlockFormats)
    if (format.element == element && format.scale == scale)
      return &format;
  return nullptr;
}

/// The first format with these scales: all of them have the same blocks and the
/// same recipe.
constexpr const BlockFormat &getBlockFormat(ScaleFormat scale) {
  for (const BlockFormat &format : kBlockFormats)
    if (format.scale == scale)
      return format;
  return kBlockFormats[0];
}

/// Whether bf16 holds each code times each scale of a format, but for values of
/// 2^128 and more, which f32 does not hold either. The significands of all
/// formats are short enough, so the last bit of the smallest value decides: it
/// must not be below bf16's smallest subnormal, 2^-133.
constexpr bool isExactInBF16(ElementFormat element, ScaleFormat scale) {
  auto getLastBit = [](ElementFormat format) {
    const FormatInfo &info = getFormatInfo(format);
    int smallestExponent = isFixedPoint(format) ? 0 : 1 - info.bias;
    return smallestExponent - info.mantissaBits;
  };
  int smallestScale =
      scale == ScaleFormat::E4M3 ? getLastBit(ElementFormat::E4M3) : -127;
  return getLastBit(element) + smallestScale >= -133;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_BLOCKFORMAT_H
