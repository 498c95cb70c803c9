//===- RowPrograms.h - Kernels of norms -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_KERNELS_ROWPROGRAMS_H
#define BLOCKSCALE_LIB_TRANSFORMS_KERNELS_ROWPROGRAMS_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale {

/// Wraps `ops`, which are in the order of their block, in a kernel that stores
/// `results` and takes the place of the last one. They are linalg ops that
/// reduce rows, those of their elements and rows around them and, it may be,
/// what quantizes the result:
///
///   %f = linalg.fill ins(%zero) outs(%e)
///   %sum = linalg.generic {.. reduction} ins(%x) outs(%f) {..}
///   %y = linalg.generic ins(%x, %sum, %w) outs(%d) {..}
///   %q, %s = blockscale.quantize %y block [1, 32] ..
/// becomes
///   %q, %s = blockscale.kernel ins(%x, %w) outs(%e0, %e1) {
///   ^bb0(%lx, %lw, %l0, %l1):
///     .. the same ..
///   }
///
/// What others use of it is a result, too.
KernelOp wrapRowProgram(llvm::ArrayRef<mlir::Operation *> ops,
                        mlir::ValueRange results);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_KERNELS_ROWPROGRAMS_H
