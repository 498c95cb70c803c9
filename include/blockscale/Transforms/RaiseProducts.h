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
//    run along K, as they are or through a transposition. B may be one matrix
//    for all of a batch, broadcast by an op or by its map: the matrices of A,
//    rows along K, with linear scales and one global scale if any, are then
//    flattened into one, of which one size at most is dynamic.
//  - raise_c3: data are dequantized in blocks of one row, without a global
//    amax. A global scale is a constant from 2^-40 to 2^40 with which the value
//    of each code and scale is exact in the type of the values, and the other
//    operand is f16 or dequantized from NVFP4: sums of bf16 may overflow
//    without a scale that is below 1, and not overflow without one above.
//    Others multiply elements (raise_c8).
//  - raise_c4: K is a multiple of the block. A dynamic K needs a recipe that
//    refuses tails.
//  - raise_c5: the other operand is plain: bf16, or f16 beside NVFP4, which may
//    be extended to f32. Or both operands are dequantized from NVFP4: MX values
//    exceed the range of f32, where `dequantize` gives infinity or rounds, and
//    a `scaled_mm` of two MX operands does not.
//  - raise_c6: what `dequantize` gives is exact, or rounded to the type of the
//    plain operand as `scaled_mm` rounds it. This is true of NVFP4 in any type,
//    of MX in bf16, and of MX in f32 if bf16 holds all values of the format.
//  - raise_c7: where no operand is dequantized, which GPUs alone have kernels
//    for, both are bf16 or both f16, which may be extended to f32, and K is not
//    known to be below 16. Rows that are not known to have whole blocks of 16
//    get zeros behind them.
//  - raise_c8: a global scale that does not meet raise_c3 multiplies elements
//    (`global_scaling in_elements`), which are rounded as `dequantize` rounds
//    them. The values have the type of the other operand, bf16 or f16; the
//    recipe multiplies the scale of a block by the global one first; a matrix
//    has one global scale; and products alone take the values, as those that
//    another kernel stores for others need no decoding again.
//
// Where a result may be another one within the bound of the product, `exact` is
// turned off, and
//
//  - raise_c3 accepts any global scale of values in f32, which are then rounded
//    to f32 at most twice less: by 2^-23 of each value;
//  - raise_c3 accepts a plain bf16 operand beside a global scale, whose sums
//    may overflow where they did not, and the reverse;
//  - raise_c5 accepts two MX operands of one format in f32 or bf16, and
//    raise_c6 MX in f32: numbers below 2^-126 and of 2^128 and more may be
//    others.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_RAISEPRODUCTS_H
#define BLOCKSCALE_TRANSFORMS_RAISEPRODUCTS_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

struct RaiseProductRules {
  /// Whether the numbers that are multiplied stay the same.
  bool exact = true;
  /// Whether products of plain operands become a `scaled_mm` without scales.
  bool plain = false;
};

/// Make products by linalg of dequantized operands a `scaled_mm`, and move
/// reshapes of dequantized operands before their `dequantize`. A product that
/// does not meet a clause is kept, with a remark.
void populateRaiseProductPatterns(mlir::RewritePatternSet &patterns,
                                  const RaiseProductRules &rules = {});

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_RAISEPRODUCTS_H
