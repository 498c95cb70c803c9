//===- DecodeProductOperands.h - Plain operands of products -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores that know no block scales multiply bf16. A product of two scaled
// operands becomes one of a scaled and a plain operand for them: one operand is
// decoded to bf16 before the product, and the kernel of the product decodes the
// other one. bf16 holds the values of all formats, but for the ends of the
// range of E8M0 scales (docs/Numerics.md, section 13).
//
// The operand that is decoded before is
//
//  - the one that a `quantize` of the function makes, if only one is: it has
//    the activations, and its quantizer can store their values at once;
//  - otherwise the one that is no constant, if only one is: constants are
//    weights, which stay small in memory;
//  - otherwise A, whose rows are tokens where B has weights.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_DECODEPRODUCTOPERANDS_H
#define BLOCKSCALE_TRANSFORMS_DECODEPRODUCTOPERANDS_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Give each `scaled_mm` and `scaled_grouped_mm` of two scaled operands a plain
/// one, by a `dequantize` before it.
void populateDecodeProductOperandPatterns(mlir::RewritePatternSet &patterns);

/// Decode MN-major operands with scales to the type of the plain operand beside
/// them: kernels of products read codes across K only with `hasWgmma`, and
/// those that `hasPackedMnMajorScales` says.
void populateDecodeMnMajorOperandPatterns(mlir::RewritePatternSet &patterns,
                                          bool hasWgmma);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_DECODEPRODUCTOPERANDS_H
