//===- RowPrograms.h - Kernels of norms -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_ROWPROGRAMS_H
#define BLOCKSCALE_LIB_TRANSFORMS_ROWPROGRAMS_H

#include "blockscale/Analysis/FusionModel.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace blockscale {

/// Wraps linalg ops that reduce rows, those of their elements and rows around
/// them and, where it can be and there is a `model`, what quantizes the result:
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
/// What others use of it is a result, too. Kernels with a quantization say what
/// they take by `model`.
void formRowPrograms(mlir::FunctionOpInterface function,
                     const FusionModel *model);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_ROWPROGRAMS_H
