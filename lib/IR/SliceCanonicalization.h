//===- SliceCanonicalization.h - Constants in slices of scales --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_SLICECANONICALIZATION_H
#define BLOCKSCALE_LIB_IR_SLICECANONICALIZATION_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Folds constant offsets, sizes and strides into slices of scales, whose
/// layout upstream's patterns would drop.
void populateSliceConstantPatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_SLICECANONICALIZATION_H
