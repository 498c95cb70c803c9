//===- OriginRules.h - Operands that belong together ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_ORIGINRULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_ORIGINRULES_H

#include "mlir/IR/Operation.h"

namespace blockscale {

/// Checks where the operands of an op of the dialect come from, emitting an
/// error:
/// - a per-row global operand and a 4over6 recipe exclude an x that `hadamard`
///   makes;
/// - the amax behind a global operand is that of x, not of x before or after
///   `hadamard`;
/// - the rows of scales are those of the data that were quantized with them,
///   which shapes do not tell for a square matrix;
/// - a grouped layout is read with the offsets that it was made with.
llvm::LogicalResult verifyOrigins(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_ORIGINRULES_H
