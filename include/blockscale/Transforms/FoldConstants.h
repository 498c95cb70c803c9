//===- FoldConstants.h - Evaluation of constant operands --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_FOLDCONSTANTS_H
#define BLOCKSCALE_TRANSFORMS_FOLDCONSTANTS_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Default limit: a weight of 8192 x 8192.
inline constexpr int64_t kMaxConstantElements = int64_t(1) << 26;

/// Evaluates amax, global_scale, hadamard, scale_sweep, quantize, expand_scale,
/// swizzle and prepack of constants, and before them reshapes, transpositions,
/// slices and conversions among f32, bf16 and f16. An op whose largest operand
/// has more than `maxElements` elements is kept, with a remark.
void populateFoldConstantPatterns(mlir::RewritePatternSet &patterns,
                                  int64_t maxElements);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_FOLDCONSTANTS_H
