//===- RaiseProducts.h - Products of dequantized operands -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that know no products of block-scaled tensors dequantize an operand
// and multiply it by `linalg`. Such a product is a `scaled_mm`, which reads the
// data and their scales, if both multiply the same numbers:
//
//  - raise_c1: the sum is one of f32 and begins with the zeros of a
//    `linalg.fill`; no tensor has an encoding.
//  - raise_c2: an operand is a matrix, or one for each matrix of the result.
//    The rows of the result are those of A, and its columns the rows of B. Data
//    run along K, as they are or through a `linalg.transpose`.
//  - raise_c3: data are dequantized in blocks of one row, without a global
//    scale or amax.
//  - raise_c4: K is a multiple of the block. A dynamic K needs a recipe that
//    refuses tails.
//  - raise_c5: the other operand is plain: bf16, or f16 beside NVFP4, which may
//    be extended to f32. Or both operands are dequantized from NVFP4: MX values
//    exceed the range of f32, where `dequantize` gives infinity or rounds, and
//    a `scaled_mm` of two MX operands does not.
//  - raise_c6: what `dequantize` gives is exact, or rounded to the type of the
//    plain operand as `scaled_mm` rounds it. This is true of NVFP4 in any type,
//    of MX in bf16, and of MX in f32 if bf16 holds all values of the format.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_RAISEPRODUCTS_H
#define BLOCKSCALE_TRANSFORMS_RAISEPRODUCTS_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Make `linalg.matmul` and `linalg.batch_matmul` of dequantized operands a
/// `scaled_mm`; of one such operand and a plain one only if `allowPlain`, of
/// two only if `allowScaled`. A product that does not meet a clause is kept,
/// with a remark.
void populateRaiseProductPatterns(mlir::RewritePatternSet &patterns,
                                  bool allowPlain = true,
                                  bool allowScaled = true);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_RAISEPRODUCTS_H
