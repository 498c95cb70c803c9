//===- GlobalScale.h - Absent and explicit global scales --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_GLOBALSCALE_H
#define BLOCKSCALE_TRANSFORMS_GLOBALSCALE_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Give each NVFP4 op outside kernels the constant 1.0 for an absent global
/// scale: the inverse of the canonicalization that drops it.
void populateMaterializeGlobalScalePatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_GLOBALSCALE_H
