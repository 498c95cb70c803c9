//===- ConstantRules.h - Constants that have a meaning ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_CONSTANTRULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_CONSTANTRULES_H

#include "mlir/IR/Operation.h"

namespace blockscale {

/// Checks the constant operands of an op of the dialect, emitting an error:
/// - a global scale is positive and finite, an amax not negative, a block amax
///   not NaN either;
/// - a scale byte of f8E4M3FN has no sign;
/// - group offsets do not descend, stay in the extent and are multiples of the
///   block along the dimension that they bound.
llvm::LogicalResult verifyConstantOperands(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_CONSTANTRULES_H
