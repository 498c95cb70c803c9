//===- FromTosa.h - Block-scaled ops of TOSA --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TOSA 1.1 has block-scaled tensors in the MX formats, with blocks of 32
// elements of the last dimension. Its ops become ops of the dialect:
//
//   cast_to_block_scaled     quantize with recipe tosa
//   cast_from_block_scaled   dequantize
//   matmul_t_block_scaled    scaled_mm
//
// if they meet these clauses, which TOSA's verifiers do not check:
//
//  - from_tosa_c1: tensors are ranked and have no encoding.
//  - from_tosa_c2: values and results are f32, bf16 or f16.
//  - from_tosa_c3: values and data of a cast have one shape, whose last
//    dimension is a multiple of the block, and there is a scale for each block.
//    Each pair of types may leave open what the third one contradicts.
//
// Sizes that are known only at run time are checked then.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_FROMTOSA_H
#define BLOCKSCALE_TRANSFORMS_FROMTOSA_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// The recipe of TOSA's casts to block-scaled tensors.
inline constexpr Recipe kTosaRecipe = Recipe::Tosa;

/// Replaces TOSA's element type `mxint8` by i8, which the dialect has for
/// MXINT8. Emits an error at each op that does more with such elements than to
/// move them and is none of the block-scaled ops, as i8 would be other numbers
/// to it; nothing is replaced then.
llvm::LogicalResult replaceMxInt8(mlir::ModuleOp module);

/// Make TOSA's block-scaled ops ops of the dialect. MXINT8 data are i8 already.
/// An op that does not meet a clause is kept.
void populateFromTosaPatterns(mlir::RewritePatternSet &patterns);

/// Emits an error that names the clause at each block-scaled op of TOSA below
/// `root` that the patterns keep.
llvm::LogicalResult verifyNoBlockScaledTosa(mlir::Operation *root);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_FROMTOSA_H
