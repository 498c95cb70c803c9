//===- ToTosa.h - Ops of the dialect in TOSA --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TOSA 1.1 knows MX formats in blocks of 32 elements of the last dimension, one
// recipe, and products of operands of one format. An op of the dialect becomes
// one of TOSA's, with the same bytes, if it meets these clauses:
//
//  - to_tosa_c1: the format is one of MX, in blocks [1, 32]; scales are linear
//    and data row-major; no dimension is 0.
//  - to_tosa_c2: `quantize` has recipe `tosa`, and x is f32 or bf16. It is
//    neither `transposed` nor has `scale_dim`, `block_amax`, `rng` or
//    `offsets`.
//  - to_tosa_c3: `dequantize` gives f32 or bf16. Its recipe does not matter:
//    all of MX decode alike.
//  - to_tosa_c4: both operands of `scaled_mm` have scales and data of one type.
//  - to_tosa_c5: the operands have rank 3; TOSA does not reshape MX data. If
//    they have another rank, `quantize` makes both data and scale, which meets
//    to_tosa_c2, so that x is reshaped before.
//  - to_tosa_c6: a shape that is computed has at most one dynamic size.
//
// MXINT8 data are `!tosa.mxint8` there. Where a function takes or gives them,
// its signature changes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_TOTOSA_H
#define BLOCKSCALE_TRANSFORMS_TOTOSA_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

#include "mlir/IR/Operation.h"

namespace blockscale {

/// The clause that an op of the dialect does not meet; nothing where
/// blockscale-to-tosa writes it in TOSA.
std::optional<FusionObstacle> findToTosaObstacle(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_TOTOSA_H
