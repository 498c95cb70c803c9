//===- BlockQuantizer.h - Code that quantizes blocks ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKQUANTIZER_H

#include "RecipeEmitter.h"

namespace blockscale::cpu {

/// What decides the arithmetic of a block.
struct BlockFormat {
  numerics::Recipe recipe;
  numerics::ElementFormat format;

  int64_t getBlockSize() const { return numerics::getBlockSize(recipe); }
  /// 1 where a byte holds one code, 2 for packed E2M1.
  int64_t getCodesPerByte() const {
    return 8 / numerics::getFormatInfo(format).storageBits;
  }
};

/// i8 lanes: data as memory holds it, and one scale byte a block.
struct QuantizedBlocks {
  Lanes data;
  Lanes scales;
};

/// Quantizes whole blocks, neighbours in a row. `x` has their elements, as i16
/// lanes of bf16 bits or i32 lanes of f32 bits.
QuantizedBlocks emitQuantizeBlocks(const BlockFormat &format,
                                   const GlobalFactors &global, Lanes x);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKQUANTIZER_H
