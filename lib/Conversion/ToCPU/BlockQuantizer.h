//===- BlockQuantizer.h - Code that quantizes blocks ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a quantization, for any order of walking over a matrix: amaxes,
// scales from amaxes, codes of elements under factors, bytes of codes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKQUANTIZER_H

#include "Emission/GlobalFactors.h"

#include <optional>

namespace blockscale::cpu {

using namespace emit;

/// The properties of a block that decide its arithmetic.
struct BlockFormat {
  numerics::Recipe recipe;
  numerics::ElementFormat format;
  int64_t blockSize;

  int64_t getBlockSize() const { return blockSize; }
  /// The number of codes in a byte: 1, or 2 for packed E2M1.
  int64_t getCodesPerByte() const {
    return 8 / numerics::getFormatInfo(format).storageBits;
  }
};

/// The type whose bits quantizers compute with: bf16 where x has it, else f32.
mlir::Type getWorkingType(mlir::Type element);

/// `count` elements of x along the last dimension, as bits of the working type.
Lanes loadElements(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                   mlir::ValueRange indices, int64_t count);

/// The f32 bits, or the codes, of the even and of the odd elements. Two
/// neighbours end up in one byte or half word, so they travel in two vectors;
/// bf16 pairs come apart without moving lanes.
struct ElementPairs {
  Lanes even;
  Lanes odd;
};

/// The even and the odd elements of `x`: i16 lanes of bf16 bits or i32 lanes of
/// f32 bits.
ElementPairs splitPairs(Lanes x);

/// The amax of each of `blocks` runs of neighbours, f32.
Lanes emitBlockAmax(const ElementPairs &x, int64_t blocks);

/// Scale bytes (i32) and factors of elements, a lane for each block.
struct BlockScales {
  Lanes bytes;
  Lanes factor;
};

/// The scales of blocks with the given amaxes.
BlockScales emitBlockScales(const BlockFormat &format,
                            const GlobalFactors &global, Lanes amax);

/// The scales of blocks whose amaxes are an operand.
BlockScales emitGivenBlockScales(const BlockFormat &format,
                                 const GlobalFactors &global, Lanes amax);

/// Codes of elements (f32 bits), in the low byte of i32 lanes, each under its
/// own factor and, where they are rounded stochastically, random byte (i8).
Lanes emitEncodeElements(const BlockFormat &format, Lanes bits, Lanes factor,
                         const std::optional<Lanes> &randomBytes = {});

/// Codes, which fill bytes, of the magnitudes of elements (f32 bits), in the
/// low 16 bits of i32 lanes. They are undefined where the factor is NaN.
Lanes emitEncodeMagnitudes(const BlockFormat &format, Lanes bits, Lanes factor);

/// The codes of emitEncodeMagnitudes, as i8, with the signs of the elements
/// whose bits are `x`.
Lanes addSigns(const BlockFormat &format, Lanes codes, Lanes x);

/// Codes as memory holds them, i8 lanes.
Lanes packPairs(const BlockFormat &format, Lanes even, Lanes odd);

/// E2M1 codes that are neighbours in a column, as memory holds them: a byte has
/// a code of the upper row and, in its high bits, the code of the lower row.
Lanes packRows(const ElementPairs &upper, const ElementPairs &lower);

/// i8 lanes: data as memory holds it, and one scale byte a block.
struct QuantizedBlocks {
  Lanes data;
  Lanes scales;
};

/// The values of blocks and of elements that come from operands, where the op
/// has them.
struct BlockOperands {
  /// The amaxes of blocks, f32, which replace those of the elements.
  std::optional<Lanes> amax;
  /// The random bytes, i8, one for each element.
  std::optional<Lanes> randomBytes;
};

/// Quantizes whole blocks, neighbours in a row. `x` has their elements, as
/// splitPairs takes them.
QuantizedBlocks emitQuantizeBlocks(const BlockFormat &format,
                                   const GlobalFactors &global, Lanes x,
                                   const BlockOperands &operands = {});

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKQUANTIZER_H
