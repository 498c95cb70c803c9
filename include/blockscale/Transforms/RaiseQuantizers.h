//===- RaiseQuantizers.h - Quantizers that others write ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs without this dialect write its ops as arithmetic on tensors. What
// has the bytes of an op becomes the op. An op of arith means what its
// documentation says, with rounding to nearest even.
//
// A cast of scaled elements to f8, f6 or f4 is `quantize` in blocks [1, 32] if:
//
//  - quantizer_c1: scales come from the maximum of |x| over 32 neighbours, by
//    `arith.maximumf`, which keeps NaN, from a number that is not above 0.
//  - quantizer_c2: x is bf16 or f16, so that each amax can be tried, has rank 2
//    or more and a last dimension of a static multiple of 32; what is dynamic
//    is not reshaped.
//  - quantizer_c3: a tensor of f8E8M0FNU or i8 has, for each amax, the byte
//    that the same recipe has.
//  - quantizer_c4: an element is x times 2^(127 - byte), or x divided by
//    2^(byte - 127), and rounded once, to nearest even.
//  - quantizer_c5: elements beyond the largest value become the largest value,
//    or the recipe leaves none.
//
// Codes under a NaN scale have no meaning and are not compared.
//
// A product of elements and scales is `dequantize` if:
//
//  - decoder_c1: the scale of a block of 32 neighbours is f8E8M0FNU, or that of
//    16 f4E2M1FN neighbours f8E4M3FN. `arith.scaling_extf` takes of any other
//    scale the exponent alone, so that 3.0 is 2.0.
//  - decoder_c2: it is computed in f32, or rounds once to bf16, and the values
//    are f32, bf16 or f16. In f16, scales overflow.
//  - decoder_c3: the last dimension is a static multiple of the block, or one
//    block; what is dynamic is not reshaped.
//  - decoder_c4: a global scale multiplies the scale first (recipe torchao) or
//    the product last (recipe modelopt), in f32.
//
// A `linalg.generic` with the loops (batch.., m, n, k / 32, 32) that adds the
// product of two operands, scaled by `arith.scaling_extf` in f32, is a product
// of two `dequantize`, which blockscale-raise-products goes on with:
//
//  - contraction_c1: operands are [batch.., rows, k / 32, 32] and scales
//    [batch.., rows, k / 32] of f8E8M0FNU; the result is [batch.., m, n] in
//    f32.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_RAISEQUANTIZERS_H
#define BLOCKSCALE_TRANSFORMS_RAISEQUANTIZERS_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Make arithmetic that has the bytes of `quantize` and `dequantize` these ops.
/// What nearly has them is kept, with a remark.
void populateRaiseQuantizerPatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_RAISEQUANTIZERS_H
