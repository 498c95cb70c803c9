//===- ExpandSine.h - Sine and cosine as arithmetic -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_EXPANDSINE_H
#define BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_EXPANDSINE_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Adds patterns that write math.sin and math.cos of f32 as arithmetic of the
/// same value on every target, within 0.5001 ulp for all numbers; NaN for
/// infinities and NaN.
void populateExpandSinePatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_EXPANDSINE_H
